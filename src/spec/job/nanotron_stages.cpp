#include "spec/job/nanotron_stages.h"

namespace ergometer::spec {

// nanotron's get_block_compute_costs counts the weights a token meets: 4 a d h (here with the real
// number of key-value heads) + 3 h f for a layer, V h for the head, nothing for embedding and
// norms.
std::vector<int64_t> nanotron_stage_layers(const Job& job, bool before_fix) {
  const Model& model = job.model;
  const int64_t layer = 2 * model.hidden * model.head_dim * (model.heads + model.kv_heads) +
                        (model.gated ? 3 : 2) * model.hidden * model.ffn;
  const int64_t layers = model.layer_count(), stages = job.parallelism.pp;
  const int64_t total = layers * layer + model.hidden * model.vocab;
  std::vector<int64_t> result(static_cast<size_t>(stages), 0);
  int64_t stage = 0;
  for (int64_t i = 1; i <= layers; ++i) {
    ++result[static_cast<size_t>(stage)];
    const int64_t done = i * layer * stages, share = total * (stage + 1);
    const bool used_up = before_fix ? done > share : done >= share;
    if (used_up && stage + 1 < stages) ++stage;
  }
  return result;
}

}  // namespace ergometer::spec
