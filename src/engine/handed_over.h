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
/// smaller of what the first writes and the second reads, whether or not something else needs it
/// later. Nothing is handed over between micro batches, into or out of gradients of weights, and in
/// the optimizer's part of the step.
///
/// Of a product [m,k] x [k,n] that is m k and m n elements a group; of attention its queries and
/// its outputs; of a collective its buffer, on the side where members have only their part of it
/// that part; of other kernels, whose bytes are known but not which of them are read, half of them.
std::vector<HandedOver> handed_over(const plan::Plan& plan, size_t role);

/// Both sides of `op` in a group of `members`, bytes: what can be handed to it, and by it.
HandedOver tensors_of(const workload::Operator& op, double members);

}  // namespace ergometer::engine
