#include "engine/prepared.h"

#include <span>

#include "cost/cost.h"
#include "engine/summary.h"
#include "engine/timeline.h"
#include "workload/workload.h"

namespace ergometer::engine {

Prepared::Prepared(const spec::Job& job) : plan_(plan::make_plan(job, workload::lower(job))) {}

base::Result<double> Prepared::step_time_s(const spec::Job& priced) const {
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(priced));
  const cost::CostTable costs = cost::price_plan(model, plan_, priced);
  const Stretch stretch = settle_contention(priced, plan_, model, costs);
  const Timeline timeline = sweep({.job = priced,
                                   .plan = plan_,
                                   .costs = costs,
                                   .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                                   .sampled_ranks = {},
                                   .stretch = stretch});
  return performance(priced, timeline).step_time_s;
}

}  // namespace ergometer::engine
