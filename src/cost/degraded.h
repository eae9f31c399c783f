#pragma once

#include "base/result.h"
#include "cost/cost.h"

namespace ergometer::cost {

/// Prices anew, in a table of `price_plan`, the collectives and transfers of every role that has a
/// rank on a GPU whose links are degraded (the job's overrides of kind kLink and kNic). A
/// collective goes at the pace of its slowest link, so all of that kind and role are priced with
/// it: a step waits for the slowest group anyway.
Result<void> degrade_links(const spec::Job& job, const plan::Plan& plan, CostTable& table);

}  // namespace ergometer::cost
