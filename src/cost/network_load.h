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

/// Whether `link` names circuits that are a single ring meanwhile: what goes back takes the same
/// links as what goes forth.
bool is_one_ring(const spec::Job& job, const plan::GroupPlacement& where, std::string_view link);

}  // namespace ergometer::cost
