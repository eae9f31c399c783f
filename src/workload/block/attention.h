#pragma once

#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// Latent attention's core where a token is decoded: queries take the keys' part of the up
/// projection into themselves, so that all heads read the cache as it is, compressed, one key of
/// `kv_rank` and the rotary part whose first `kv_rank` are the value (DeepSeek-V2, 2405.04434,
/// section 2.1.2). What that costs beside is what the up projection would.
void absorbed_core(BlockWriter& writer, int64_t window);
/// The attention core and its context-parallel communication. `window` 0: full attention.
void attention_core_forward(BlockWriter& writer, int64_t window);
void attention_core_backward(BlockWriter& writer, int64_t window);

/// Everything of a layer between its first norm and the first residual add: projections, norms and
/// rotary embedding on queries and keys, the core. `gather` and `reduce` are false where parallel
/// branches share the tensor-parallel collectives.
struct AttentionEdges {
  bool gather = true;  ///< gather the input over TP (backward: gather it again for wgrad)
  bool reduce = true;  ///< reduce the output over TP (backward: gather its gradient)
  bool add_to_gradient =
      false;  ///< backward: another branch's partial input gradient is there already
};
void attention_forward(BlockWriter& writer, int64_t window, AttentionEdges edges);
void attention_backward(BlockWriter& writer, int64_t window, AttentionEdges edges);

}  // namespace ergometer::workload
