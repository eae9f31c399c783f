#include "workload/parameters.h"

#include "workload/vision.h"

namespace ergometer::workload {
namespace {

/// Weights of one linear branch pair or triple: in and out matrices of an MLP, biases apart.
int64_t mlp_weights(const spec::Model& model, int64_t width) {
  return (model.gated ? 3 : 2) * model.hidden * width;
}

int64_t latent_attention(const spec::Model& model) {
  const spec::LatentAttention& mla = model.latent;
  const int64_t queries = model.heads * (mla.qk_nope_dim + mla.qk_rope_dim);
  const int64_t query =
      mla.q_rank > 0 ? model.hidden * mla.q_rank + mla.q_rank /* norm */ + mla.q_rank * queries
                     : model.hidden * queries;
  const int64_t key_value = model.hidden * (mla.kv_rank + mla.qk_rope_dim) +
                            mla.kv_rank /* norm */ +
                            mla.kv_rank * model.heads * (mla.qk_nope_dim + mla.v_dim);
  return query + key_value + model.heads * mla.v_dim * model.hidden;
}

int64_t head_attention(const spec::Model& model) {
  const int64_t gate = model.attention_gate ? model.heads : 0;
  const int64_t qkv = (model.heads + gate + 2 * model.kv_heads) * model.head_dim;
  return model.hidden * qkv + model.heads * model.head_dim * model.hidden +
         (model.qkv_bias ? qkv : 0) + (model.out_bias ? model.hidden : 0) +
         model.qk_norm_parameters(model.heads, model.kv_heads) + model.sink_parameters(model.heads);
}

/// Projections, convolution, a decay and a step (Mamba-2: and a skip) a head, the gated norm.
int64_t state_space_mixer(const spec::Model& model) {
  const spec::StateSpace& ssm = model.state_space;
  const int64_t convolution = ssm.conv_channels() * (ssm.conv_width + (ssm.conv_bias ? 1 : 0));
  const int64_t vectors =
      ssm.delta_rule ? 2 * ssm.heads + ssm.head_dim : 3 * ssm.heads + ssm.inner();
  return model.hidden * ssm.in_width() + convolution + vectors + ssm.inner() * model.hidden;
}

int64_t mixer(const spec::Model& model, const spec::Layer& layer) {
  switch (layer.mixer) {
    case spec::Mixer::kNone: return 0;
    case spec::Mixer::kStateSpace: return state_space_mixer(model);
    case spec::Mixer::kAttention: break;
  }
  return model.attention == spec::AttentionKind::kLatent ? latent_attention(model)
                                                         : head_attention(model);
}

int64_t one_norm(const spec::Model& model) { return static_cast<int64_t>(model.norm_parameters()); }

int64_t one_expert(const spec::Model& model) {
  const spec::Experts& experts = model.experts;
  return (model.gated ? 3 : 2) * model.expert_hidden() * experts.ffn +
         (experts.expert_bias ? mlp_biases(model, experts.ffn) : 0);
}

/// Everything of a MoE layer's MLP but the routed experts.
int64_t moe_common(const spec::Model& model) {
  const spec::Experts& experts = model.experts;
  return model.hidden * experts.count + (experts.router_bias ? experts.count : 0) +
         2 * model.hidden * experts.latent + mlp_weights(model, experts.shared_ffn) +
         (experts.shared_gate ? model.hidden : 0);
}

struct LayerCount {
  int64_t total = 0, active = 0;
};

LayerCount count_layer(const spec::Model& model, const spec::Layer& layer) {
  const int64_t common = mixer(model, layer) + model.norms(layer) * one_norm(model) +
                         (model.layer_scale ? 2 * model.hidden : 0);
  if (!layer.feed_forward) return {common, common};
  if (!layer.moe) {
    const int64_t mlp =
        mlp_weights(model, model.ffn) + (model.mlp_bias ? mlp_biases(model, model.ffn) : 0);
    return {common + mlp, common + mlp};
  }
  const int64_t outside = common + moe_common(model);
  return {outside + model.experts.count * one_expert(model),
          outside + model.experts.top_k * one_expert(model)};
}

int64_t vision_parameters(const spec::Model& model) {
  if (model.vision == nullptr) return 0;
  return patch_parameters(*model.vision) + count_parameters(model.vision->tower).total +
         projector_parameters(*model.vision, model.hidden);
}

}  // namespace

ParameterCount count_parameters(const spec::Model& model) {
  ParameterCount count;
  const int64_t width = model.embedding_dim > 0 ? model.embedding_dim : model.hidden;
  count.embedding = model.vocab * width + model.position_rows * model.hidden +
                    (width != model.hidden ? width * model.hidden : 0) +
                    (model.embedding_norm ? one_norm(model) : 0);
  count.head =
      (model.tied_embeddings ? 0 : model.vocab * width) + (model.head_bias ? model.vocab : 0);
  const int64_t outside = count.embedding + count.head + (model.final_norm ? one_norm(model) : 0) +
                          (width != model.hidden ? model.hidden * width : 0);
  count.vision = vision_parameters(model);
  count.total = count.active = outside + count.vision;
  for (const spec::Layer& layer : model.layers) {
    const LayerCount here = count_layer(model, layer);
    count.total += here.total;
    count.active += here.active;
  }
  if (model.mtp_layers > 0 && !model.layers.empty()) {
    // Two input norms, the 2h -> h projection, a layer like the last one, and a norm before the
    // shared head.
    const int64_t module = 3 * one_norm(model) + 2 * model.hidden * model.hidden +
                           count_layer(model, model.mtp_layer()).total;
    count.mtp = model.mtp_layers * module;
  }
  return count;
}

}  // namespace ergometer::workload
