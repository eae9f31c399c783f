#pragma once

#include <functional>

#include "base/result.h"
#include "cost/cost.h"
#include "engine/time/timeline.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::engine {

/// A job on the way to its step: lowered, planned, priced, and with what runs side by side settled.
/// Nothing in it follows the clocks, power or heat that its conditions lead to.
struct Planned {
  workload::Workload workload;
  plan::Plan plan;  ///< folded where that is enough (plan/folded.h)
  plan::MemoryReport memory;
  cost::CostTable costs;
  Stretch stretch;
};

/// Plans a job and has it played, with only a few of its steady periods where that is enough and
/// `may_fold`. `play` says whether the plan told it all (`Timeline::steady`); if not, or if it has
/// an error, it is called again with a longer plan, at last with the whole one, whose error counts.
/// Returns the plan that was played last.
Result<Planned> play_planned(const spec::Job& job, bool may_fold,
                             const std::function<Result<bool>(const Planned&)>& play);

/// Writes every micro batch of a folded plan.
void unfold(const spec::Job& job, Planned& planned);

}  // namespace ergometer::engine
