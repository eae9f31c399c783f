#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::plan {

using spec::ScheduleSlot;
using spec::SlotKind;

/// The order in which stage `stage` of `job` runs its micro batches and chunks
/// (spec/job/stage_order.h); forward only for inference jobs. With `micro_batches`: as if the step
/// had so many, which a schedule file's has not.
std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage);
std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage, int64_t micro_batches);

/// Forwards that stage runs before its first forward-backward pair: all of them for GPipe and for
/// inference, and where the step is too short for a pair.
int64_t warm_up_forwards(const spec::Job& job, int64_t stage, int64_t micro_batches);

/// Micro batches that a stage with several chunks takes through one before it goes to the next.
int64_t group_size(const spec::Job& job, int64_t micro_batches);

/// Whether the job only runs forward: inference.
bool forward_only(const spec::Job& job);

}  // namespace ergometer::plan
