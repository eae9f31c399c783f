#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ergometer::spec {

enum class AttentionKind { kHeads /* MHA, GQA, MQA */, kLatent /* MLA */ };
enum class Activation { kGelu, kRelu, kSquaredRelu, kSilu };
/// How transformers makes queries, keys and values: by matrices of their own, or by one, whose
/// product is split or of which each is a slice.
enum class QkvMatrix : uint8_t { kApart, kSplit, kSliced };
enum class NormKind { kLayerNorm, kRmsNorm };
enum class PositionKind { kLearned, kRotary, kAlibi, kNone };
/// What mixes tokens in a layer; kNone: a layer that is a feed-forward part alone.
enum class Mixer { kAttention, kStateSpace, kNone };

/// DeepSeek's multi-head latent attention: ranks of the compressed projections and the head
/// dimensions.
struct LatentAttention {
  int64_t q_rank = 0;  ///< 0: queries are projected directly
  int64_t kv_rank = 0;
  int64_t qk_nope_dim = 0;
  int64_t qk_rope_dim = 0;
  int64_t v_dim = 0;
};

/// The state-space mixer of hybrid models: Mamba-2, or gated DeltaNet, which differs in having two
/// scalars a head instead of one and a scan with more products.
struct StateSpace {
  int64_t heads = 0;  ///< 0: a model without
  int64_t head_dim = 0;
  int64_t groups = 1;  ///< heads of one group share B and C (DeltaNet: query and key)
  int64_t state = 0;   ///< width of the state of one channel (DeltaNet: width of a key)
  int64_t conv_width = 4;
  int64_t chunk = 128;  ///< tokens that the scan handles as one matrix
  bool conv_bias = true;
  bool delta_rule = false;

  int64_t inner() const { return heads * head_dim; }
  /// Channels of the causal convolution: the values and both of the groups' vectors.
  int64_t conv_channels() const { return inner() + 2 * groups * state; }
  int64_t scalars() const { return (delta_rule ? 2 : 1) * heads; }
  /// Output width of the input projection: gate, values, the groups' vectors, scalars.
  int64_t in_width() const { return inner() + conv_channels() + scalars(); }
};

/// The mixture-of-experts part of the layers that have one.
struct Experts {
  int64_t count = 0;  ///< 0: a dense model
  int64_t top_k = 0;
  /// Experts stand in `groups` equal groups and a token takes its top-k from `group_top_k` of them
  /// (DeepSeek-V3: 4 of 8).
  int64_t groups = 1, group_top_k = 1;
  int64_t ffn = 0;           ///< one expert's intermediate width (one branch)
  int64_t shared_ffn = 0;    ///< sum of the shared experts' widths; 0 without
  int64_t latent = 0;        ///< tokens go to experts in this width (LatentMoE); 0: in `hidden`
  bool shared_gate = false;  ///< a learned scalar gate on the shared expert (Qwen2-MoE)
  bool router_bias = false;  ///< one number an expert (DeepSeek-V3, GLM-4-MoE, GPT-OSS)
  bool expert_bias = false;  ///< biases in the expert matrices (GPT-OSS)
};

/// What differs from layer to layer.
struct Layer {
  bool moe = false;
  int64_t window = 0;  ///< sliding-window length in tokens; 0: full attention
  int64_t chunk = 0;   ///< attention stays inside chunks of so many tokens (Llama 4); 0: no chunks
  Mixer mixer = Mixer::kAttention;
  bool feed_forward = true;  ///< false: a mixer alone
  bool adapters = true;      ///< LoRA: its own are among the job's
  /// false: nothing up to its output is trained, gradients end above (`Job::settle_backward`)
  bool backward = true;

  bool operator==(const Layer&) const = default;
};

struct Vision;

/// A decoder-only transformer, as its config.json describes it. Sizes are the model's own,
/// unpadded.
struct Model {
  std::string name;          ///< catalog name or the file it came from
  std::string architecture;  ///< config.json `model_type`: "llama", "deepseek_v3", ...
  std::string source;        ///< where the configuration was published

  int64_t hidden = 0;
  int64_t ffn = 0;  ///< dense layers' intermediate width (one branch)
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  ///< `heads * head_dim` need not equal `hidden`
  int64_t vocab = 0;
  int64_t max_positions = 0;
  int64_t embedding_dim = 0;  ///< equals `hidden` except with an embedding projection (OPT-350M)
  int64_t position_rows = 0;  ///< rows of the learned position table; 0 without one

  AttentionKind attention = AttentionKind::kHeads;
  LatentAttention latent;
  StateSpace state_space;
  Activation activation = Activation::kSilu;
  bool gated = true;  ///< SwiGLU, GeGLU: two branches and a product
  bool written_gelu =
      false;  ///< GELU by operators of their own where no kernel fuses it: "gelu_new"
  QkvMatrix qkv_matrix = QkvMatrix::kApart;
  bool joined_gate = false;  ///< transformers keeps gate and up in one matrix
  NormKind norm = NormKind::kRmsNorm;
  PositionKind positions = PositionKind::kRotary;
  double rotary_share = 1;  ///< of a head's width that rotary positions turn (GPT-NeoX: 0.25)
  int norms_per_layer =
      2;  ///< `hidden`-wide norms: 2, 1 (shared by parallel branches), 4 (Gemma 2, Grok)
  bool norm_weight = true;  ///< without, a norm has no parameters at all (OLMo)
  bool norm_bias = false;
  bool embedding_norm = false;  ///< a norm right after the embedding (BLOOM)
  bool final_norm = true;
  bool parallel_branches = false;  ///< attention and MLP read the same input (GPT-NeoX, Phi)
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool head_bias = false;
  bool qk_norm = false;          ///< a norm of `head_dim` on queries and on keys
  bool wide_qk_norm = false;     ///< that norm is over all heads at once (InternViT-6B)
  bool qk_norm_by_head = false;  ///< that norm has weights of its own for every head (Command R+)
  bool layer_scale = false;      ///< each half's output times a vector of `hidden` (InternViT)
  bool bidirectional = false;    ///< every token attends to every other one (encoders)
  bool attention_gate = false;   ///< the output is gated by as many values again (Qwen3-Next)
  bool attention_sinks = false;  ///< one learned logit a head (GPT-OSS)
  bool zero_sinks = false;       ///< that logit is zero, not learned ("off by one")
  bool capped_scores = false;    ///< attention's scores go through c tanh(x / c) (Gemma 2)
  bool capped_logits = false;    ///< the head's as well
  bool tied_embeddings = false;  ///< the output head is the embedding
  double dropout = 0;

  Experts experts;
  int64_t mtp_layers = 0;  ///< multi-token-prediction modules behind the last layer (DeepSeek-V3)
  std::vector<Layer> layers;  ///< one entry a decoder layer, MTP modules not among them

  std::shared_ptr<const Vision> vision;  ///< null: text alone

  std::vector<std::string> unknown_keys;  ///< keys of config.json that mean nothing to us

  /// The layer inside a multi-token-prediction module: like the last; in models whose layers are
  /// mixers or feed-forward parts alone, attention and what the model has most of. A list of the
  /// decoder's layers that have adapters does not name it.
  Layer mtp_layer() const {
    Layer layer = layers.empty() ? Layer{} : layers.back();
    layer.backward = true;
    layer.adapters =
        std::all_of(layers.begin(), layers.end(), [](const Layer& one) { return one.adapters; });
    const bool whole = layer.mixer != Mixer::kNone && layer.feed_forward;
    if (whole) return layer;
    return {.moe = experts.count > 0, .adapters = layer.adapters};
  }
  /// Weights of a norm of `hidden` width.
  double norm_parameters() const {
    return static_cast<double>(hidden) * ((norm_weight ? 1 : 0) + (norm_bias ? 1 : 0));
  }
  /// Weights of the norms of so many heads' queries and keys.
  int64_t qk_norm_parameters(int64_t query_heads, int64_t key_heads) const {
    const bool of_every_head = wide_qk_norm || qk_norm_by_head;
    return qk_norm ? head_dim * (of_every_head ? query_heads + key_heads : 2) : 0;
  }
  int64_t sink_parameters(int64_t query_heads) const {
    return attention_sinks && !zero_sinks ? query_heads : 0;
  }
  /// Norms of `hidden` width in one layer.
  int norms(const Layer& layer) const {
    return layer.mixer != Mixer::kNone && layer.feed_forward ? norms_per_layer
                                                             : norms_per_layer / 2;
  }
  /// The sliding window whose queries meet as many keys as the layer's do. 0: all of them. Chunks
  /// of c in a causal sequence of L make c^2 / 2 pairs each, a window of w makes w L - w^2 / 2 of
  /// it: w = L - sqrt(L^2 - sum of c^2). Where nothing is causal a token meets its whole chunk.
  static int64_t window(const Layer& layer, int64_t length, bool causal) {
    if (layer.chunk <= 0 || layer.chunk >= length) return layer.window;
    if (!causal) return layer.chunk;
    const auto whole = static_cast<double>(length), chunk = static_cast<double>(layer.chunk);
    const auto rest = static_cast<double>(length % layer.chunk);
    const double squares = (whole - rest) * chunk + rest * rest;
    return std::max<int64_t>(1, std::llround(whole - std::sqrt(whole * whole - squares)));
  }
  /// Width in which tokens travel to experts.
  int64_t expert_hidden() const { return experts.latent > 0 ? experts.latent : hidden; }
  int64_t layer_count() const { return static_cast<int64_t>(layers.size()); }
  int64_t vision_layers() const;
  /// What a pipeline divides: the vision tower's layers, then the decoder's.
  int64_t pipeline_layers() const { return vision_layers() + layer_count(); }
};

/// What turns images into tokens of the decoder: an encoder over the patches of every tile of an
/// image, each tile by itself, and a projector of its outputs.
struct Vision {
  Model tower;               ///< without vocabulary or head
  int64_t patch_values = 0;  ///< what a patch's matrix reads: channels x frames x height x width
  bool patch_bias = false;
  bool class_token = false;     ///< one token a tile that no patch stands for
  int64_t tile_tokens = 0;      ///< of one tile in the tower, the class token included
  int64_t tiles_per_image = 1;  ///< the most that an image is cut into, a thumbnail included
  bool any_size = false;        ///< an image is one tile of its own size (Qwen-VL)
  int64_t merged = 1;           ///< patches that become one token of the decoder
  int64_t norm_width = 0;       ///< of the projector's norm; 0: none
  bool norm_bias = false;
  /// Widths of the projector's two matrices: merged patches, between the two, the decoder's hidden.
  int64_t projector_in = 0, projector_inner = 0;

  /// Of one tile, in the decoder.
  int64_t tokens() const { return (tile_tokens - (class_token ? 1 : 0)) / merged; }
};

inline int64_t Model::vision_layers() const { return vision ? vision->tower.layer_count() : 0; }

}  // namespace ergometer::spec
