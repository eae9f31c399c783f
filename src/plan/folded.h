#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// Least number of steady periods that a folded plan writes: whoever plays it compares three of
/// their ends, and before and behind these the pipeline fills and empties.
inline constexpr int64_t kLeastPeriods = 5;

/// The plan of a step of many micro batches with only so many `periods` of the pipeline's steady
/// phase written, those that fill and empty it, and three marks around two neighbouring ones of
/// them (`Role::periods`), the second of which stands for all that are left out
/// (`Plan::periods_left_out`). Behind the warm-up the program of every role
/// repeats itself: 1F1B after a micro batch, interleaving after a group of them through all chunks.
/// A period is as many micro batches as the pipeline has stages, for what goes once forth and back
/// through it may set the pace.
///
/// The marks of the roles belong together: what is received before a role's mark was sent before
/// its sender's, so that all roles can be played up to their marks.
///
/// Nothing where that many periods are not fewer micro batches than the job has, and where there is
/// no steady phase: inference, GPipe, documents of unlike length; nor of schedules in the form of a
/// V, of ZB-H2, of a file's and with a vocabulary divided over the stages, whose steps are written
/// whole.
std::optional<Plan> make_folded_plan(const spec::Job& job, const workload::Workload& workload,
                                     int64_t periods);

/// What stands beside the instructions of a folded plan's role, beside those of the whole plan's.
template <class Value>
std::vector<Value> unfolded(const Plan& plan, const Role& role, const std::vector<Value>& values) {
  const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<Value> result(values.begin(), at(role.periods[2]));
  for (int64_t i = 0; i < plan.periods_left_out; ++i)
    result.insert(result.end(), at(role.periods[1]), at(role.periods[2]));
  result.insert(result.end(), at(role.periods[2]), values.end());
  return result;
}

}  // namespace ergometer::plan
