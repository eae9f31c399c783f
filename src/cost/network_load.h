#pragma once

#include <string_view>

#include "plan/network/fabric_load.h"
#include "plan/placement.h"
#include "workload/operator.h"

namespace ergometer::cost {

/// Who sends to whom in a collective.
plan::Pattern pattern_of(const workload::Operator& op);

/// What a collective puts on the links between switches for each byte that every node sends while
/// all groups of its kind communicate; nothing where its group stays inside a domain.
plan::FabricLoad network_load(const spec::Job& job, const workload::Operator& op,
                              const plan::GroupPlacement& where);

/// Of a link between nodes, which directions a collective's messages take. In a tree of switches
/// these are the ends' own, up for what is sent and down for what is received; elsewhere those of
/// the stages, forth and back. Circuits that are a single ring have one: all that goes takes it.
struct Directions {
  bool forth = true, back = true;
  bool both() const { return forth && back; }
};
Directions directions_on(const spec::Job& job, const plan::GroupPlacement& where,
                         std::string_view link);

}  // namespace ergometer::cost
