#include "engine/planned.h"

#include <optional>
#include <utility>

#include "cost/degraded.h"
#include "plan/folded.h"

namespace ergometer::engine {
namespace {

/// Where the least are not alike: what takes longer to become so than this is played whole.
constexpr int64_t kMorePeriods = 4 * plan::kLeastPeriods;

/// False: what a folded plan leaves out is not like what it has.
Result<bool> price(const spec::Job& job, Planned& planned) {
  ERGOMETER_ASSIGN(const std::vector<cost::CostModel> models, cost::models_of_groups(job));
  planned.costs = cost::price_plan(models, planned.plan, job);
  ERGOMETER_TRY(cost::degrade_links(job, planned.plan, planned.costs));
  std::optional<Stretch> stretch = settle_folded(job, planned.plan, models, planned.costs);
  if (!stretch) return false;
  planned.stretch = std::move(*stretch);
  return true;
}

}  // namespace

Result<Planned> play_planned(const spec::Job& job, bool may_fold,
                             const std::function<Result<bool>(const Planned&)>& play) {
  Planned planned;
  planned.workload = workload::lower(job);
  planned.memory = plan::memory(job, planned.workload, plan::divide(job, planned.workload));
  for (const int64_t periods : {plan::kLeastPeriods, kMorePeriods}) {
    if (!may_fold) break;
    std::optional<plan::Plan> folded = plan::make_folded_plan(job, planned.workload, periods);
    if (!folded) break;
    // A longer one is worth its play where it leaves out about as much as it writes.
    if (periods > plan::kLeastPeriods && folded->periods_left_out < periods) break;
    planned.plan = std::move(*folded);
    ERGOMETER_ASSIGN(const bool priced, price(job, planned));
    if (!priced) continue;
    ERGOMETER_ASSIGN(const bool whole, play(planned));
    if (whole) return planned;
  }
  planned.plan = plan::make_plan(job, planned.workload);
  ERGOMETER_TRY(price(job, planned));
  ERGOMETER_TRY(play(planned));
  return planned;
}

void unfold(const spec::Job& job, Planned& planned) {
  if (planned.plan.periods_left_out == 0) return;
  for (size_t role = 0; role < planned.stretch.size(); ++role)
    planned.stretch[role] =
        plan::unfolded(planned.plan, planned.plan.roles[role], planned.stretch[role]);
  planned.plan = plan::make_plan(job, planned.workload);
}

}  // namespace ergometer::engine
