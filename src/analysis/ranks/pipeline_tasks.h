#pragma once

#include <vector>

#include "analysis/ranks/parallelism.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Finds the tasks of a pipeline's stages in recorded traces and sets `RankTrace::tasks`, `stage`
/// and `stages` where the file does not say them. By the first of these that tells:
///
///  1. Ranges that the program named: "forward_step", "forward-compute", "_exec_forward_pass",
///     "Forward 3" and the same of backward; those on a GPU's stream as they are, those of the CPU
///     by the GPU events that were launched within them.
///  2. Messages on a pipeline group cut compute kernels into phases. Operators tell a backward by
///     the thread of its forward; a phase that holds both is cut where it turns.
///  3. Without operators, the order of 1F1B: stage s of p begins with p-1-s forwards, then forwards
///     and backwards take turns, and it ends with p-1-s backwards. It is taken for that when all
///     stages have as many phases as one number of micro batches makes. The first stage receives
///     nothing between a backward and the next forward, the last sends nothing between a forward
///     and its backward: such a phase is cut so that its forward takes what forwards take
///     elsewhere.
///
/// A stage is the rank's position in the ranks of its pipeline group whose traces are there. Micro
/// batches are counted in order, step by step, where no name has their number.
void find_pipeline_tasks(std::vector<run::RankTrace>& ranks, const GroupLabels& labels);

}  // namespace ergometer::analysis
