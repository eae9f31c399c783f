#pragma once

#include <optional>
#include <vector>

#include "run/gpu_trace.h"
#include "run/run.h"

namespace ergometer::analysis {

/// A step's time and where it goes, mean over the ranks of which GPU events were recorded, from
/// those of all marked steps; nothing when such a rank marks none. Only `step_time_s` (its interval
/// without width) and `breakdown_s` are set. A step is as long as its marks on the CPU, or as the
/// GPU's work for it where that is longer; a step's work is what was launched within it. Where the
/// GPU was still busy with what was launched before the recording, it is what the GPU did between
/// the marks. Time is given to the first of compute, optimizer, all-reduce, all-gather,
/// reduce-scatter, all-to-all, send/recv (and what communicates otherwise) that has it; copies that
/// none of them hides are compute; idle is the rest of the step.
std::optional<run::Performance> step_breakdown(const std::vector<run::RankTrace>& ranks);

/// A stretch of a trace in which the GPU does whole steps, in nanoseconds of its clock.
struct StepStretch {
  int64_t start_ns = 0, end_ns = 0;
  int64_t steps = 1;
};
/// Every marked step; or, where the CPU runs so far ahead that the GPU's work for the steps takes
/// longer than the marks by a tenth or more, that work from its first start to its last end, as
/// often as steps follow each other. What the GPU does between such marks is no step's.
std::vector<StepStretch> step_stretches(const run::RankTrace& trace);

}  // namespace ergometer::analysis
