#include <algorithm>

#include "workload/block/mamba.h"
#include "workload/shares.h"

// What inference keeps of a sequence on a rank, in the precision of activations. Layer by layer:
//
//   attention      keys and values of every token, of the rank's heads; latent attention: what keys
//                  and values of all heads are made of, whole on every rank. With a window or
//                  chunks only what is looked back at (vLLM's hybrid cache; Transformers' hybrid
//                  cache)
//   state space    the state, inner channels times states, and the convolution's last inputs;
//                  context parallelism divides its heads
//   neither        nothing
//
// Worked: Mamba-2 2.7B, 80 heads of 64 channels, states of 128, one group, convolution of 4: 5,120
// * 128 * 2 bytes + (5,120 + 2 * 128) * 4 * 2 bytes = 1,353,728 bytes a layer and sequence.
namespace ergometer::workload {

CacheShare layer_cache(const spec::Model& model, const Shapes& shapes, const spec::Layer& layer) {
  CacheShare cache;
  if (layer.mixer == spec::Mixer::kStateSpace) {
    const StateSpaceShapes rank = state_space_shapes(model, shapes);
    cache.state_bytes = shapes.element *
                        static_cast<double>(rank.inner * model.state_space.state +
                                            rank.channels * model.state_space.conv_width) /
                        static_cast<double>(shapes.cp);
  }
  if (layer.mixer != spec::Mixer::kAttention) return cache;
  const bool latent = model.attention == spec::AttentionKind::kLatent;
  const int64_t width = latent ? model.latent.kv_rank + model.latent.qk_rope_dim
                               : shapes.kv_heads * (shapes.qk_dim + shapes.v_dim);
  cache.token_bytes = shapes.element * static_cast<double>(width);
  cache.most_tokens = layer.window > 0 && layer.chunk > 0 ? std::min(layer.window, layer.chunk)
                                                          : std::max(layer.window, layer.chunk);
  return cache;
}

}  // namespace ergometer::workload
