#pragma once

#include "cost/cost.h"
#include "plan/placement.h"
#include "report/explain/explanation.h"
#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::report {

/// What one operator costs on a rank: seconds by a formula whose every symbol is among the inputs,
/// so that a reader can work it out again. With `with_parameters` the catalog's numbers are among
/// them, each with its source and grade; a second operator of the same kind need not repeat them.
Explanation explain_price(const spec::Job& job, const workload::Operator& op,
                          const plan::GroupPlacement& where, const cost::CostModel& model,
                          bool with_parameters);

}  // namespace ergometer::report
