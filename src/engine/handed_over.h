#pragma once

#include <cstddef>
#include <vector>

#include "plan/plan.h"

namespace ergometer::engine {

/// What of a launch's memory traffic is a tensor that its neighbour on the stream has or needs.
struct HandedOver {
  double read_bytes = 0;     ///< written by the launch before it
  double written_bytes = 0;  ///< read by the one behind it
};

/// Tensors that one launch of a role writes to memory and the next one on the compute stream reads,
/// where a fused kernel would keep them on the chip: [instruction]. An upper bound, by sizes: the
/// smaller of what the first writes and the second reads (workload/tensors.h), whether or not
/// something else needs it later. Nothing is handed over between micro batches, into or out of
/// gradients of weights, and in the optimizer's part of the step.
std::vector<HandedOver> handed_over(const plan::Plan& plan, size_t role);

}  // namespace ergometer::engine
