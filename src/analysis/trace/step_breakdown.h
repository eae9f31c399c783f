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

}  // namespace ergometer::analysis
