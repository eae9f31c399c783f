#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// A pipeline schedule as a text:
///
///     # 2 stages, 2 micro batches
///     schedule zb-v
///     placement v
///     F0 F1 F0.1 I0.1 W0.1 ...
///     F0 F0.1 ...
///
/// A line a stage, in order: F forward, B backward, I and W its two halves, the gradients of inputs
/// and of weights; then the micro batch, and behind a point the chunk where it is not 0. `placement
/// v`: odd chunks lie in reverse order (`Parallelism::turns`), else `placement loop`. `schedule`
/// names which one it is, for the results, as long as the lines are that schedule's. `#` begins a
/// comment.
struct ScheduleFile {
  PipelineOrder order;
  std::string name;  ///< behind `schedule`, else empty
  int64_t chunks = 1, micro_batches = 0;
};

/// Reads one. Every stage has every micro batch once per chunk in each pass, and no slot waits for
/// ever: an input error names the line and the slot, `line 4: F2.1 stands twice`.
Result<ScheduleFile> parse_schedule(std::string_view text);

/// The text of a --schedule-file: what is behind a path, or itself where it has several lines.
Result<std::string> schedule_file_text(const std::string& value);

/// The orders of work of all stages of a training job's schedule.
PipelineOrder pipeline_order(const Parallelism& parallel, int64_t micro_batches);

/// As `parse_schedule` reads it.
std::string schedule_text(const PipelineOrder& order, std::string_view name);

/// Micro batches of a whole order, and chunks of each stage; 0: there is none.
int64_t micro_batches_of(const PipelineOrder& order);
int64_t chunks_of(const PipelineOrder& order);

/// Gives the job a file's schedule: the one it is called by where the order is that one's, else
/// Schedule::kFile; the order stays beside it.
void take_schedule(const ScheduleFile& file, Parallelism& parallel);

}  // namespace ergometer::spec
