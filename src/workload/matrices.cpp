#include "workload/matrices.h"

#include <algorithm>

#include "base/collection.h"

namespace ergometer::workload {

std::vector<Matrix> mixer_matrices(const spec::Model& model, const spec::Layer& layer) {
  const int64_t h = model.hidden;
  const spec::StateSpace& ssm = model.state_space;
  if (layer.mixer == spec::Mixer::kNone) return {};
  if (layer.mixer == spec::Mixer::kStateSpace)
    return {{"in_proj", h, ssm.in_width()}, {"out_proj", ssm.inner(), h}};
  const int64_t gate = model.attention_gate ? model.heads : 0;
  if (model.attention == spec::AttentionKind::kHeads)
    return {{"qkv", h, (model.heads + gate + 2 * model.kv_heads) * model.head_dim},
            {"proj", model.heads * model.head_dim, h}};
  const spec::LatentAttention& mla = model.latent;
  const int64_t queries = model.heads * (mla.qk_nope_dim + mla.qk_rope_dim);
  std::vector<Matrix> matrices;
  if (mla.q_rank > 0) {
    matrices.push_back({"q_down", h, mla.q_rank});
    matrices.push_back({"q_up", mla.q_rank, queries});
  } else {
    matrices.push_back({"q", h, queries});
  }
  matrices.push_back({"kv_down", h, mla.kv_rank + mla.qk_rope_dim});
  matrices.push_back({"kv_up", mla.kv_rank, model.heads * (mla.qk_nope_dim + mla.v_dim)});
  matrices.push_back({"proj", model.heads * mla.v_dim, h});
  return matrices;
}

std::vector<Matrix> mlp_matrices(const spec::Model& model, const spec::Layer& layer) {
  const int64_t h = model.hidden, branches = model.gated ? 2 : 1, he = model.expert_hidden();
  if (!layer.feed_forward) return {};
  if (!layer.moe) return {{"fc1", h, branches * model.ffn}, {"fc2", model.ffn, h}};
  const spec::Experts& experts = model.experts;
  std::vector<Matrix> matrices = {{"expert_fc1", he, branches * experts.ffn, experts.top_k},
                                  {"expert_fc2", experts.ffn, he, experts.top_k}};
  if (experts.latent > 0) {
    matrices.push_back({"expert_latent_down", h, experts.latent});
    matrices.push_back({"expert_latent_up", experts.latent, h});
  }
  if (experts.shared_ffn > 0) {
    matrices.push_back({"shared_fc1", h, branches * experts.shared_ffn});
    matrices.push_back({"shared_fc2", experts.shared_ffn, h});
  }
  return matrices;
}

namespace {

/// Queries, keys and values of one matrix of ours that have adapters of their own.
struct HeadTargets {
  bool q = false, k = false, v = false;
};
HeadTargets head_targets(const spec::Job& job) {
  const auto& targets = job.training.lora_targets;
  const bool all = targets.empty() || base::contains(targets, "qkv");
  return {all || base::contains(targets, "q"), all || base::contains(targets, "k"),
          all || base::contains(targets, "v")};
}

bool kept_apart(const spec::Job& job) {
  return job.software.parameters.value_or("modules.eager", 0) > 0;
}

}  // namespace

bool lora_adapts(const spec::Job& job, bool adapters, std::string_view matrix) {
  if (job.training.mode != spec::Mode::kLora || !adapters) return false;
  const HeadTargets heads = head_targets(job);
  if (matrix == "qkv") return heads.q || heads.k || heads.v;
  if (matrix.starts_with("kv")) return heads.k || heads.v;
  if (matrix.starts_with("q")) return heads.q;
  const std::string_view target = matrix.ends_with("fc1")   ? "fc1"
                                  : matrix.ends_with("fc2") ? "fc2"
                                                            : matrix;
  const auto& targets = job.training.lora_targets;
  const bool adaptable = target == "proj" || target == "fc1" || target == "fc2";
  return adaptable && (targets.empty() || base::contains(targets, target));
}

int module_parts(const spec::Model& model, std::string_view matrix) {
  if (matrix == "qkv") return model.qkv_matrix == spec::QkvMatrix::kApart ? 3 : 1;
  return matrix.ends_with("fc1") && model.gated && !model.joined_gate ? 2 : 1;
}

Adapters adapters_of(const spec::Job& job, std::string_view matrix, int64_t out, int64_t keys) {
  const HeadTargets heads = head_targets(job);
  const bool whole = matrix != "qkv" || (heads.q && heads.k && heads.v);
  if (whole || (kept_apart(job) && job.model.qkv_matrix != spec::QkvMatrix::kApart))
    return {kept_apart(job) ? module_parts(job.model, matrix) : 1, out};
  return {int{heads.q} + int{heads.k} + int{heads.v},
          (heads.q ? out - 2 * keys : 0) + (int{heads.k} + int{heads.v}) * keys};
}

int adapters_in_layer(const spec::Job& job) {
  int count = 0;
  for (const char* matrix : {"qkv", "proj", "fc1", "fc2"})
    if (lora_adapts(job, true, matrix)) count += adapters_of(job, matrix, 0, 0).count;
  return count;
}

int64_t adapters_in(const spec::Job& job) {
  return adapters_in_layer(job) *
         std::ranges::count(job.model.layers, true, &spec::Layer::adapters);
}

}  // namespace ergometer::workload
