#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

// How a pipeline of p stages spends its steps, from the tasks of its ranks (`RankTrace::tasks`).
//
// A step lasts from the first start to the last end of a forward or a backward on any stage. A rank
// is busy where one of its own runs; the rest of the step is its bubble. The bubble falls into
// warm-up, before the rank's first backward starts; drain, after its last forward has ended; and
// steady, between them. Sends, receives, optimizer and the rest lie beside or within the bubble.

enum class PipelineSchedule : uint8_t {
  kGpipe,        ///< every stage ends its forwards before its first backward
  k1F1B,         ///< forwards and backwards take turns
  kInterleaved,  ///< the same, with several chunks of the model on a stage
  kZeroBubble,   ///< gradients of weights are tasks of their own
};
std::string_view to_word(PipelineSchedule schedule);

/// Nanoseconds of one rank in one step.
struct PipelineTime {
  int64_t forward_ns = 0, backward_ns = 0;              ///< lengths of unions; backward: every kind
  int64_t warm_up_ns = 0, steady_ns = 0, drain_ns = 0;  ///< parts of the bubble
  int64_t wait_ns = 0;   ///< in receives, with neither forward nor backward beside them
  int64_t other_ns = 0;  ///< the same for sends, optimizer and other tasks, within the step
  int64_t bubble_ns() const { return warm_up_ns + steady_ns + drain_ns; }
};

/// A stage of the pipeline. Seconds are means over its ranks and over the steps looked at.
struct PipelineStage {
  int64_t stage = 0, ranks = 0;
  double forward_s = 0, backward_s = 0, warm_up_s = 0, steady_s = 0, drain_s = 0;
  double wait_s = 0, other_s = 0;
  double bubble_fraction = 0;                      ///< of the step
  double forward_task_s = 0, backward_task_s = 0;  ///< one task: a micro batch on a chunk
  int64_t slowest = 0;  ///< micro batches for which this stage needed the longest, over the steps
};

struct PipelineStep {
  int64_t number = -1, span_ns = 0;
  double bubble_fraction = 0;  ///< of ranks' time in the step
  bool counted = true;  ///< false: longer than 1.5 times the median, so left out of the means
};

/// One micro batch, its forward and backward on all chunks of a stage; means over the steps.
struct PipelineMicroBatch {
  int64_t micro_batch = 0, slowest_stage = 0;
  double slowest_s = 0, mean_s = 0;  ///< over stages
};

struct PipelineReport {
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  int64_t stages = 0, ranks = 0;
  int64_t micro_batches = 0, chunks = 1;
  double step_s = 0;                 ///< mean over the steps counted
  double bubble_fraction = 0;        ///< of ranks' time, mean over the steps counted
  double ideal_bubble_fraction = 0;  ///< of the schedule, with equal stages and no waiting
  double imbalance = 0;  ///< by how much the slowest stage needs longer than the mean, micro batch
                         ///< by micro batch, mean; 0 when all are equal
  std::vector<PipelineStep> steps;
  std::vector<PipelineStage> rows;  ///< in order of stage
  std::vector<PipelineMicroBatch> micro_batch_rows;
};

/// Bubble of the schedule itself, as a fraction of the step, with equal stages and no waiting.
/// `forwards` is the number of forward tasks of a stage in a step: m micro batches times v chunks.
///   1F1B, GPipe, interleaved   (p-1) / (m v + p-1)         Narayanan et al., SC'21, section 2.2
///   zero bubble (ZB-H1)        (p-1)(F+B-W) / (m (F+B+W) + (p-1)(F+B-W))   Qi et al., ICLR'24,
///   tab. 1
/// with F, B, W the seconds of one forward, backward of inputs and backward of weights.
double ideal_bubble_fraction(PipelineSchedule schedule, int64_t stages, int64_t forwards,
                             double forward_s = 0, double backward_input_s = 0,
                             double backward_weight_s = 0);

/// Nothing where no two stages have forwards and backwards. A rank's stage is what it says; of
/// ranks that do not say, the position among those that have tasks. Ranks' clocks must agree.
std::optional<PipelineReport> pipeline_report(std::span<const run::RankTrace> ranks);

}  // namespace ergometer::analysis
