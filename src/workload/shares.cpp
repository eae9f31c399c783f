#include "workload/shares.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/collection.h"
#include "workload/parameters.h"
#include "workload/reached_experts.h"
#include "workload/storage.h"

namespace ergometer::workload {
namespace {

bool is_adapter(const Operator& op) { return op.name.find("_lora_") != std::string::npos; }
bool is_latent_projection(const Operator& op) { return op.name.starts_with("expert_latent"); }
bool is_expert(const Operator& op) {
  return op.name.starts_with("expert_") && !is_latent_projection(op);
}
bool is_matrix(const Operator& op) {
  return op.kind == OperatorKind::kGemm || op.kind == OperatorKind::kGroupedGemm;
}

bool is_narrow(const Operator& op) {
  return op.precision == spec::Precision::kFp8 || op.precision == spec::Precision::kNvfp4;
}

/// Modules of Transformer Engine, which keep a dummy weight gradient; adapters and the router are
/// plain PyTorch.
bool is_engine_module(const Operator& op) { return !is_adapter(op) && op.name != "router"; }

double attention_vectors(const spec::Model& model, const Shapes& shapes) {
  if (model.attention == spec::AttentionKind::kLatent)
    return static_cast<double>(model.latent.q_rank + model.latent.kv_rank);
  const int64_t gate = model.attention_gate ? shapes.heads : 0;
  const int64_t qkv = (shapes.heads + gate + 2 * shapes.kv_heads) * model.head_dim;
  return static_cast<double>((model.qkv_bias ? qkv : 0) + (model.out_bias ? model.hidden : 0) +
                             model.qk_norm_parameters(shapes.heads, shapes.kv_heads) +
                             model.sink_parameters(shapes.heads));
}

/// A state-space mixer's convolution, scalars and gated norm on one rank.
double state_space_vectors(const spec::Model& model, const Shapes& shapes) {
  const spec::StateSpace& ssm = model.state_space;
  const int64_t heads = ssm.heads / shapes.tp;
  const int64_t groups = std::max<int64_t>(1, ssm.groups / shapes.tp);
  const int64_t channels = heads * ssm.head_dim + 2 * groups * ssm.state;
  const int64_t convolution = channels * (ssm.conv_width + (ssm.conv_bias ? 1 : 0));
  return static_cast<double>(
      convolution + (ssm.delta_rule ? 2 * heads + ssm.head_dim : 3 * heads + heads * ssm.head_dim));
}

double mixer_vectors(const spec::Model& model, const Shapes& shapes, const spec::Layer& layer) {
  switch (layer.mixer) {
    case spec::Mixer::kNone: return 0;
    case spec::Mixer::kStateSpace: return state_space_vectors(model, shapes);
    case spec::Mixer::kAttention: break;
  }
  return attention_vectors(model, shapes);
}

/// A layer's parameters outside its matrices; the biases of experts go to `expert`.
ParameterShare layer_vectors(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer) {
  const spec::Model& model = job.model;
  ParameterShare share;
  share.dense = mixer_vectors(model, shapes, layer) + model.norms(layer) * model.norm_parameters();
  if (model.layer_scale) share.dense += 2 * static_cast<double>(model.hidden);
  const spec::Experts& experts = model.experts;
  if (layer.moe) {
    share.dense += static_cast<double>((experts.router_bias ? experts.count : 0) +
                                       (experts.shared_gate ? model.hidden : 0));
    if (experts.expert_bias)
      share.expert = static_cast<double>(job.expert_slots()) *
                     static_cast<double>(mlp_biases(model, experts.ffn / shapes.etp));
  } else if (layer.feed_forward && model.mlp_bias) {
    share.dense += static_cast<double>(mlp_biases(model, model.ffn / shapes.tp));
  }
  return share;
}

double embedding_table(const spec::Model& model, const Shapes& shapes) {
  return static_cast<double>(shapes.vocab) *
         static_cast<double>(model.embedding_dim > 0 ? model.embedding_dim : model.hidden);
}

/// Whether the model's first and last parts lie on different stages.
bool ends_apart(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  return p.stage_of(p.parts() - 1) != 0;
}

ParameterShare vectors(const spec::Job& job, const Shapes& shapes, BlockKind kind,
                       const spec::Layer& layer) {
  const spec::Model& model = job.model;
  const bool divided = job.parallelism.divides_vocabulary();
  const auto head_bias = static_cast<double>(model.head_bias ? shapes.vocab : 0);
  ParameterShare share;
  switch (kind) {
    case BlockKind::kEmbedding:
      share.dense = (divided ? 0 : embedding_table(model, shapes)) +
                    static_cast<double>(model.position_rows) * static_cast<double>(model.hidden) +
                    (model.embedding_norm ? model.norm_parameters() : 0);
      break;
    case BlockKind::kLayer: share = layer_vectors(job, shapes, layer); break;
    case BlockKind::kMtp:
      share = layer_vectors(job, shapes, layer);
      share.dense += 3 * model.norm_parameters();
      // The module embeds its own tokens: away from the first stage it needs a copy of the table.
      if (ends_apart(job)) share.dense += embedding_table(model, shapes);
      break;
    case BlockKind::kVision: break;  // counted where its matrices are known
    case BlockKind::kHead:
      share.dense = (model.final_norm ? model.norm_parameters() : 0) + (divided ? 0 : head_bias);
      break;
    case BlockKind::kVocabulary: share.dense = embedding_table(model, shapes) + head_bias; break;
  }
  return share;
}

/// The output matrix is someone else's: of the embedding on the same stage, or of the head beside
/// an MTP module.
bool borrows_head(const spec::Job& job, BlockKind kind) {
  return kind == BlockKind::kMtp ||
         (job.model.tied_embeddings && (kind == BlockKind::kVocabulary || !ends_apart(job)));
}

void add_matrix(const spec::Job& job, const Shapes& shapes, const Operator& op, Block& block) {
  const double elements = static_cast<double>(op.n) * static_cast<double>(op.k);
  const double all = elements * held_matrices(job, shapes, op);
  const bool adapter = is_adapter(op), expert = is_expert(op);
  const bool trained = shapes.training && (!shapes.lora || adapter);
  ParameterShare& share = block.parameters;
  (expert ? share.expert : share.dense) += all;
  if (keeps_quantized(job.training, op.name))
    (expert ? share.quantized_expert : share.quantized_dense) += all;
  if (trained) (expert ? share.trainable_expert : share.trainable_dense) += all;
  if (is_narrow(op)) {
    (expert ? share.narrow_expert : share.narrow_dense) += all;
    if (trained) (expert ? share.trainable_narrow_expert : share.trainable_narrow_dense) += all;
  }
  if (trained && is_engine_module(op)) {
    std::vector<double>& sizes = block.weight_shapes;
    if (!base::contains(sizes, elements)) sizes.push_back(elements);
  }
}

}  // namespace

void set_parameters(const spec::Job& job, const Shapes& shapes, const Workload& workload,
                    const spec::Layer& layer, Block& block) {
  block.parameters = vectors(job, shapes, block.kind, layer);
  if (shapes.training && !shapes.lora) {
    block.parameters.trainable_dense = block.parameters.dense;
    block.parameters.trainable_expert = block.parameters.expert;
  }
  for (const Item& item : block.forward) {
    if (item.kind != Item::Kind::kOperator) continue;
    const Operator& op = workload.operators[static_cast<size_t>(item.op)];
    // A pass over a divided vocabulary may make gradients of the same matrix.
    const bool own = op.pass == Pass::kForward && is_matrix(op);
    if (own && !(op.name == "head" && borrows_head(job, block.kind)))
      add_matrix(job, shapes, op, block);
  }
}

}  // namespace ergometer::workload
