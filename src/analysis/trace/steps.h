#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Training steps by the number PyTorch's profiler gave them, both ends among them.
struct StepRange {
  int64_t first = 0, last = 0;
};

/// "3" or "3..5".
Result<StepRange> parse_steps(std::string_view text);

/// The trace with only the GPU events of these steps: those that were launched within them, for the
/// GPU runs behind the CPU; an event whose launch is not recorded counts where it started, unless
/// it comes before the first whose launch is: that was launched before the recording began. Input
/// error when the trace marks none of these steps.
Result<run::RankTrace> select_steps(const run::RankTrace& trace, const StepRange& range);

/// Which of the steps that were asked for traces do not mark, in a sentence; empty: all are there.
std::string note_of_missing_steps(const std::vector<run::RankTrace>& ranks, const StepRange& range);

/// The marks of a trace taken together.
struct StepTimes {
  int64_t count = 0, first = 0, last = 0;
  double mean_s = 0;  ///< from a step's start to the next one's, of the last to its end
};
StepTimes step_times(const run::RankTrace& trace);

}  // namespace ergometer::analysis
