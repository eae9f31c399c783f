#pragma once

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

}  // namespace ergometer::cost
