#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// The order in which a stage runs its micro batches and chunks in a training step. With p stages,
/// m micro batches, and peaks of activations counted in those of a whole stage:
///
///   1f1b, gpipe            one forward and one backward in turn; all forwards first
///   interleaved            1F1B over chunks, Megatron-Core's table of groups
///   looped-bfs             all micro batches through a chunk before the next (arXiv 2211.05953)
///   zb-h1                  1F1B with weight gradients put off, peak p (arXiv 2401.10241)
///   zb-h2                  the same with twice the forwards in advance, peak 2p - 1
///   zb-v                   two chunks in the form of a V, peak p (arXiv 2401.10241, section 6)
///   v-half, v-min          the same, peaks ceil((p + 1) / 2) and ceil((p + 2) / 3) (arXiv
///                          2405.15362)
///   dualpipe-v             DualPipe's order cut in half along the V, peak p + 1/2 (DeepSeek's
///                          DualPipe; arXiv 2412.19437); takes m >= 2p
///   1f1b, with a vocabulary divided over the stages: as `vocabulary_order.h` says, peak p + 1, p +
///   2 or about 1.5 p
///   1f1b, with stages trained apart: a forward and its backward in turn, peak 1
///   file                   as `Parallelism::order` says, whose number of micro batches it needs
std::vector<ScheduleSlot> stage_order(const Parallelism& parallel, int64_t stage,
                                      int64_t micro_batches);

/// Forward passes alone, as the stage order has them without backward ones: group by group.
std::vector<ScheduleSlot> forward_order(const Parallelism& parallel, int64_t micro_batches);

/// Forwards before the first forward-backward pair: all of them where all come first, and where the
/// step is too short for a pair.
int64_t warm_up_forwards(const Parallelism& parallel, int64_t stage, int64_t micro_batches);

/// Micro batches that a stage with several chunks takes through one before it goes to the next.
int64_t group_size(const Parallelism& parallel, int64_t micro_batches);

/// Whether all forwards of a stage come before its backwards.
inline bool forwards_first(Schedule schedule) {
  return schedule == Schedule::kGpipe || schedule == Schedule::kLoopedBfs;
}

/// Whether stages of so many chunks can run it.
inline bool suits(Schedule schedule, int64_t chunks) {
  switch (schedule) {
    case Schedule::kOneFOneB:
    case Schedule::kGpipe:
    case Schedule::kZbH1:
    case Schedule::kZbH2: return chunks == 1;
    case Schedule::kInterleaved:
    case Schedule::kLoopedBfs: return chunks > 1;
    case Schedule::kZbV:
    case Schedule::kVHalf:
    case Schedule::kVMin:
    case Schedule::kDualPipeV: return chunks == 2;
    case Schedule::kFile: break;
  }
  return true;
}

/// The fewest micro batches of a step that it takes.
inline int64_t least_micro_batches(Schedule schedule, int64_t stages) {
  return schedule == Schedule::kDualPipeV ? 2 * stages : 1;
}

}  // namespace ergometer::spec
