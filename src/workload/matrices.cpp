#include "workload/matrices.h"

#include <algorithm>

namespace ergometer::workload {

std::vector<Matrix> attention_matrices(const spec::Model& model) {
  const int64_t h = model.hidden;
  if (model.attention == spec::AttentionKind::kHeads)
    return {{"qkv", h, (model.heads + 2 * model.kv_heads) * model.head_dim},
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

std::vector<Matrix> mlp_matrices(const spec::Model& model, bool moe) {
  const int64_t h = model.hidden, branches = model.gated ? 2 : 1;
  if (!moe) return {{"fc1", h, branches * model.ffn}, {"fc2", model.ffn, h}};
  const spec::Experts& experts = model.experts;
  std::vector<Matrix> matrices = {{"expert_fc1", h, branches * experts.ffn, experts.top_k},
                                  {"expert_fc2", experts.ffn, h, experts.top_k}};
  if (experts.shared_ffn > 0) {
    matrices.push_back({"shared_fc1", h, branches * experts.shared_ffn});
    matrices.push_back({"shared_fc2", experts.shared_ffn, h});
  }
  return matrices;
}

bool lora_adapts(const spec::Job& job, std::string_view matrix) {
  if (job.training.mode != spec::Mode::kLora) return false;
  std::string_view target = matrix;
  if (matrix.starts_with("q") || matrix.starts_with("kv")) target = "qkv";
  if (matrix.ends_with("fc1")) target = "fc1";
  if (matrix.ends_with("fc2")) target = "fc2";
  const auto& targets = job.training.lora_targets;
  const bool adaptable = target == "qkv" || target == "proj" || target == "fc1" || target == "fc2";
  return adaptable &&
         (targets.empty() || std::find(targets.begin(), targets.end(), target) != targets.end());
}

}  // namespace ergometer::workload
