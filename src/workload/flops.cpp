#include "workload/flops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "workload/by_operator.h"
#include "workload/chunk_layers.h"
#include "workload/expert_loads.h"
#include "workload/matrices.h"
#include "workload/sequence_loads.h"
#include "workload/shapes.h"
#include "workload/vision.h"

// FLOPs of one training step, as Megatron-Core counts them since 0.12:
//
//   3 * 2 * tokens * [ sum over layers ( h (a + 2g) d + a d h + 3 h f  [2 h f without gate]
//                                        + a d s / 2 * 2                [causal attention at half]
//                                        )
//                      + h V ]
//
// h hidden, a query heads, g key-value heads, d head dimension, f FFN width of one branch, s
// sequence, V padded vocabulary. MoE layers put k * fe + fs for f; latent attention its own
// matrices and (d_qk + d_v) / 2 for d; a multi-token-prediction module one more layer, its 2h x h
// projection and one more head. Norms, softmax, router, biases and the embedding lookup count
// nothing. The 3 is one forward and two backward products; inference has the forward one only, LoRA
// forward and input gradient (2), all three for its adapters and the attention core. What a
// capacity of experts drops is not counted (Megatron-Core counts it); hardware FLOPs have the rows
// that are computed, padding among them.
//
// Worked: Llama-3-8B, 8192 tokens: per token and layer 4096*6144 + 4096*4096 + 3*4096*14336 =
// 218,103,808 weights and 32*128*8192/2*2 = 33,554,432 attention products; times 32 layers, plus
// 4096*128256: 8,578,400,256 products, 51.47 GFLOP.
namespace ergometer::workload {
namespace {

// Steps of large jobs exceed 2^53 FLOPs; the sum stays exact in 128 bits and is rounded once.
__extension__ typedef __int128 Int128;

/// How often each kind of product is executed in one step.
struct Passes {
  Int128 base = 3, attention = 3, adapter = 0;
  double experts = 1;  ///< rows of routed experts, for each that tokens choose
  /// Attention as its kernels compute it, not by the job's convention.
  bool executed = false;
};

Passes passes_of_mode(const spec::Job& job) {
  switch (job.training.mode) {
    case spec::Mode::kPretrain: return {trained_parts(job.training).decoder ? 3 : 2, 3, 0};
    case spec::Mode::kLora: return {2, 3, 3};
    case spec::Mode::kPrefill:
    case spec::Mode::kDecode: return {1, 1, 0};
  }
  return {};
}

/// Experts that a rank's tokens of a micro batch choose.
double expert_choices(const spec::Job& job) {
  const Shapes shapes = shapes_of(job);
  return static_cast<double>(shapes.tokens) / static_cast<double>(shapes.tp) *
         static_cast<double>(job.model.experts.top_k);
}

/// What the model asks for: a capacity drops some of it.
Passes model_passes(const spec::Job& job) {
  Passes passes = passes_of_mode(job);
  if (job.model.experts.count > 0) passes.experts = kept_share(job, expert_choices(job));
  return passes;
}

/// What is executed: a capacity pads every expert to as many rows.
double executed_expert_rows(const spec::Job& job) {
  const double choices = job.model.experts.count > 0 ? expert_choices(job) : 0;
  return choices > 0 ? expert_rows(job, choices) / choices : 1;
}

Passes executed_passes(const spec::Job& job) {
  Passes passes = passes_of_mode(job);
  passes.experts = executed_expert_rows(job);
  passes.executed = true;
  return passes;
}

Passes forward_again(const spec::Job& job) { return {1, 1, 1, executed_expert_rows(job), true}; }

/// Rows of experts that no capacity touches stay an integer.
Int128 scaled(Int128 flops, double by) {
  return by == 1 ? flops : static_cast<Int128>(static_cast<double>(flops) * by);
}

/// Twice the (query, key) pairs of one sequence, an integer also for the causal half. Executed are
/// those on one side of the diagonal, whatever the convention, but for kernels that skip nothing:
/// unfused ones, and those to which a window is a mask. Tiles on the diagonal are left out.
Int128 twice_pairs(const spec::Job& job, int64_t window, bool executed) {
  const Shapes shapes = shapes_of(job);
  if (job.model.bidirectional) {
    const Int128 length = job.training.seq_length;
    return 2 * length * (window > 0 ? std::min<Int128>(window, length) : length);
  }
  if (!shapes.causal) {
    const Int128 reach = window > 0 ? std::min(window, shapes.key_length) : shapes.key_length;
    return 2 * reach * shapes.cp;
  }
  const Int128 length = job.training.seq_length;
  const int64_t packed = job.training.packed_mean_length;
  const Int128 document = packed > 0 ? packed : length;
  const Int128 reach = window > 0 ? std::min<Int128>(window, document) : document;
  if (executed && !spec::is_fused(job.training.attention)) return 2 * length * length;
  if (executed && masked_window(shapes, window)) return 2 * length * document;
  const Int128 sides = job.training.attention_flops_full && !executed ? 2 : 1;  // of the diagonal
  return sides * (2 * document * reach - reach * reach) * length / document;
}

/// Tokens of one sequence that pass through the matrices in one step.
Int128 sequence_tokens(const spec::Job& job) {
  return job.training.mode == spec::Mode::kDecode ? 1 : job.training.seq_length;
}

Int128 attention_core(const spec::Job& job, int64_t window, bool executed) {
  const spec::Model& model = job.model;
  const bool latent = model.attention == spec::AttentionKind::kLatent;
  const spec::LatentAttention& mla = model.latent;
  Int128 dims = 2 * model.head_dim;
  if (latent) dims = mla.qk_nope_dim + mla.qk_rope_dim + mla.v_dim;
  // A token that is decoded reads the cache as it is, compressed.
  if (latent && job.training.mode == spec::Mode::kDecode) dims = 2 * mla.kv_rank + mla.qk_rope_dim;
  return dims * model.heads * twice_pairs(job, window, executed);
}

/// Attention's two products; of a state-space layer the scan at 7 FLOPs a token, channel and state
/// (Megatron-LM training.py, mamba_layer_flops).
Int128 mixer_core(const spec::Job& job, const spec::Layer& layer, bool executed) {
  const spec::StateSpace& ssm = job.model.state_space;
  switch (layer.mixer) {
    case spec::Mixer::kNone: return 0;
    case spec::Mixer::kStateSpace:
      return Int128{7} * sequence_tokens(job) * ssm.inner() * ssm.state;
    case spec::Mixer::kAttention: break;
  }
  return attention_core(job, layer_window(shapes_of(job), layer), executed);
}

Int128 matrix_flops(const spec::Job& job, const spec::Layer& layer,
                    const std::vector<Matrix>& matrices, Int128 tokens, const Passes& passes) {
  Int128 flops = 0;
  for (const Matrix& matrix : matrices) {
    Int128 products = passes.base * matrix.in * matrix.out;
    if (lora_adapts(job, layer.adapters, matrix.name)) {
      const Adapters adapters =
          adapters_of(job, matrix.name, matrix.out, job.model.kv_heads * job.model.head_dim);
      products +=
          passes.adapter * job.training.lora_rank * (adapters.count * matrix.in + adapters.out);
    }
    const bool routed = matrix.name.starts_with("expert_fc");
    flops += scaled(2 * tokens * matrix.copies * products, routed ? passes.experts : 1);
  }
  return flops;
}

Int128 layer_flops(const spec::Job& job, const spec::Layer& layer, const Passes& of_others) {
  const Int128 tokens = sequence_tokens(job);
  const Passes passes =
      layer.backward ? of_others : Passes{1, 1, 0, of_others.experts, of_others.executed};
  return matrix_flops(job, layer, mixer_matrices(job.model, layer), tokens, passes) +
         matrix_flops(job, layer, mlp_matrices(job.model, layer), tokens, passes) +
         passes.attention * mixer_core(job, layer, passes.executed);
}

/// What recomputation by operator repeats of a layer; experts' products all.
Int128 by_operator_flops(const spec::Job& job, const spec::Layer& layer) {
  const Int128 tokens = sequence_tokens(job);
  Int128 flops = 0;
  int products = 0;
  const auto add = [&](const std::vector<Matrix>& matrices) {
    for (const Matrix& matrix : matrices) {
      const Int128 whole = matrix_flops(job, layer, {matrix}, tokens, forward_again(job));
      if (matrix.name.starts_with("expert_")) {
        flops += whole;
        continue;
      }
      const Repeated again = repeated(job.model, matrix.name, products);
      products += again.products;
      flops += static_cast<Int128>(static_cast<double>(whole) * again.share);
    }
  };
  add(mixer_matrices(job.model, layer));
  add(mlp_matrices(job.model, layer));
  return flops;
}

/// What selective recomputation repeats of a layer.
Int128 selective_flops(const spec::Job& job, const spec::Layer& layer) {
  if (recomputes_by_operator(job)) return by_operator_flops(job, layer);
  const Int128 tokens = sequence_tokens(job);
  Int128 flops = 0;
  if (recomputes(job, "core_attn") && layer.mixer == spec::Mixer::kAttention)
    flops += mixer_core(job, layer, true);
  if (recomputes(job, "mla_up_proj"))
    for (const Matrix& matrix : mixer_matrices(job.model, layer))
      if (matrix.name.ends_with("_up"))
        flops += matrix_flops(job, layer, {matrix}, tokens, forward_again(job));
  const bool whole = recomputes(job, layer.moe ? "moe" : "mlp");
  for (const Matrix& matrix : mlp_matrices(job.model, layer))
    if (whole || (recomputes(job, "shared_experts") && matrix.name.starts_with("shared")))
      flops += matrix_flops(job, layer, {matrix}, tokens, forward_again(job));
  return flops;
}

Int128 head_flops(const spec::Job& job, const Passes& passes) {
  const spec::Model& model = job.model;
  const int64_t width = model.embedding_dim > 0 ? model.embedding_dim : model.hidden;
  return passes.base * 2 * sequence_tokens(job) * width * job.padded_vocab();
}

/// OPT-350M's projections between a narrow embedding and the hidden size, in and out.
Int128 embedding_projection_flops(const spec::Job& job, const Passes& passes) {
  const spec::Model& model = job.model;
  if (model.embedding_dim <= 0 || model.embedding_dim == model.hidden) return 0;
  // Nothing is trained before the one behind the embedding when the base is frozen: no gradient
  // goes through it.
  const Int128 in = job.training.mode == spec::Mode::kLora ? 1 : passes.base;
  return (in + passes.base) * 2 * sequence_tokens(job) * model.embedding_dim * model.hidden;
}

Int128 mtp_flops(const spec::Job& job, const Passes& passes) {
  const spec::Model& model = job.model;
  if (model.mtp_layers == 0 || model.layers.empty() || !shapes_of(job).training) return 0;
  const Int128 projection =
      passes.base * 2 * sequence_tokens(job) * 2 * model.hidden * model.hidden;
  return model.mtp_layers *
         (layer_flops(job, model.mtp_layer(), passes) + projection + head_flops(job, passes));
}

/// Of one tile of an image: patches, the tower's layers, the projector. Nothing is trained before
/// the patches' matrix.
Int128 tile_flops(const spec::Job& job) {
  const spec::Vision& vision = *job.model.vision;
  const TrainedParts trained = trained_parts(job.training);
  const bool backward = shapes_of(job).training;
  const Int128 patches = vision.tile_tokens - (vision.class_token ? 1 : 0);
  const Int128 patch_passes = backward && trained.tower ? 2 : 1;
  Int128 flops = patch_passes * 2 * patches * vision.patch_values * vision.tower.hidden;
  const Passes passes = backward && trained.tower ? Passes{3, 3, 0} : Passes{1, 1, 0};
  const spec::Job tower = tower_job(job);
  for (const spec::Layer& layer : tower.model.layers) flops += layer_flops(tower, layer, passes);
  const Int128 projector_passes = !backward || !trained.through_projector() ? 1
                                  : trained.projector                       ? 3
                                                                            : 2;
  const Int128 matrices = vision.projector_inner * (Int128{vision.projector_in} + job.model.hidden);
  return flops + projector_passes * 2 * vision.tokens() * matrices;
}

Int128 vision_flops(const spec::Job& job) {
  if (job.model.vision == nullptr) return 0;
  return job.training.images_per_sample * job.training.tiles_per_image * tile_flops(job);
}

Int128 flops_per_sequence(const spec::Job& job, const Passes& passes) {
  Int128 flops = head_flops(job, passes) + embedding_projection_flops(job, passes) +
                 mtp_flops(job, passes) + vision_flops(job);
  for (const spec::Layer& layer : job.model.layers) flops += layer_flops(job, layer, passes);
  return flops;
}

/// What a pass over a layer of the pipeline takes, the tower's first: of the tiles of a sequence,
/// or of its tokens. A frozen tower has nothing to compute again.
class LayerFlops {
 public:
  explicit LayerFlops(const spec::Job& job) : job_(job), tower_(job) {
    if (job.model.vision == nullptr) return;
    tower_ = tower_job(job);
    towers_ = job.model.vision_layers();
    tiles_ = trained_parts(job.training).tower
                 ? job.training.images_per_sample * job.training.tiles_per_image
                 : 0;
  }
  int64_t count() const { return job_.model.pipeline_layers(); }
  Int128 operator()(int64_t number, Int128 (*flops)(const spec::Job&, const spec::Layer&)) const {
    if (number < towers_) return tiles_ * flops(tower_, at(tower_, number));
    return flops(job_, at(job_, number - towers_));
  }

 private:
  static const spec::Layer& at(const spec::Job& job, int64_t number) {
    return job.model.layers[static_cast<size_t>(number)];
  }
  const spec::Job& job_;
  spec::Job tower_;
  int64_t towers_ = 0;
  Int128 tiles_ = 0;
};

Int128 forward_flops(const spec::Job& job, const spec::Layer& layer) {
  return layer_flops(job, layer, forward_again(job));
}

Int128 full_recompute_flops(const spec::Job& job) {
  const spec::Training& training = job.training;
  const bool block = training.recompute_method == spec::RecomputeMethod::kBlock &&
                     (training.recompute_layers > 0 || !training.recompute_stage_layers.empty());
  Int128 flops = 0;
  int64_t layer = 0;
  const LayerFlops layers(job);
  const std::vector<int64_t> sizes = chunk_layers(job);
  for (size_t chunk = 0; chunk < sizes.size(); ++chunk) {
    const int64_t recomputed = training.recompute_stage_layers.empty()
                                   ? training.recompute_layers
                                   : training.recompute_stage_layers[chunk];
    for (int64_t i = 0; i < sizes[chunk] && layer < layers.count(); ++i, ++layer)
      if (!block || i < recomputed) flops += layers(layer, forward_flops);
  }
  // The block method stops at decoder layers, the uniform one covers the layer inside MTP modules
  // too.
  const Passes again = forward_again(job);
  if (!block) flops += mtp_flops(job, again) - job.model.mtp_layers * head_flops(job, again);
  return flops;
}

Int128 recompute_flops_per_sequence(const spec::Job& job) {
  if (!shapes_of(job).training) return 0;
  if (job.training.recompute == spec::Recompute::kFull) return full_recompute_flops(job);
  Int128 flops = 0;
  if (job.training.recompute == spec::Recompute::kSelective) {
    const LayerFlops layers(job);
    for (int64_t layer = 0; layer < layers.count(); ++layer)
      flops += layers(layer, selective_flops);
    if (!job.model.layers.empty())
      flops += job.model.mtp_layers * selective_flops(job, job.model.mtp_layer());
  }
  return flops;
}

/// Of a whole step of samples that have images, by their tiles. Recomputation repeats the forward
/// pass of a trained tower's layers.
double image_flops(const spec::Job& job, double tiles, bool with_repeated) {
  if (tiles <= 0) return 0;
  Int128 of_tile = tile_flops(job);
  spec::Job one = job, none = job;
  one.training.images_per_sample = one.training.tiles_per_image = 1;
  none.training.images_per_sample = 0;
  if (with_repeated)
    of_tile += recompute_flops_per_sequence(one) - recompute_flops_per_sequence(none);
  return tiles * static_cast<double>(of_tile);
}

double model_flops(const spec::Job& job) {
  return static_cast<double>(flops_per_sequence(job, model_passes(job)) *
                             job.training.global_batch);
}

double hardware_flops(const spec::Job& job) {
  const Int128 flops =
      flops_per_sequence(job, executed_passes(job)) + recompute_flops_per_sequence(job);
  return static_cast<double>(flops * job.training.global_batch);
}

/// Of so many tokens in sequences as long as a token's is on average.
double flops_of(const spec::Job& job, double tokens, double pairs,
                double (*flops)(const spec::Job&)) {
  spec::Job even = job;
  even.training.sequence_lengths = {};
  even.training.seq_length = std::llround(2 * pairs / tokens);
  const auto counted = static_cast<double>(even.training.seq_length * even.training.global_batch);
  return flops(even) * tokens / counted;
}

/// Samples are documents, not whole sequences.
bool holds_documents(const spec::Job& job) { return !job.training.sequence_lengths.is_even(); }

}  // namespace

base::Flops model_flops_per_step(const spec::Job& job) {
  if (!holds_documents(job)) return base::Flops(model_flops(job));
  const StepTotals mean = mean_step_totals(job);
  return base::Flops(flops_of(job, mean.real_tokens, mean.real_pairs, model_flops) +
                     image_flops(job, mean.tiles, false));
}

base::Flops hardware_flops_per_step(const spec::Job& job) {
  if (!holds_documents(job)) return base::Flops(hardware_flops(job));
  const StepTotals mean = mean_step_totals(job);
  return base::Flops(flops_of(job, mean.tokens, mean.pairs, hardware_flops) +
                     image_flops(job, mean.tiles, true));
}

}  // namespace ergometer::workload
