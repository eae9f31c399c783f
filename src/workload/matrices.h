#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::workload {

/// A weight matrix of a layer, undivided, as the FLOP formula and LoRA see it.
struct Matrix {
  std::string_view name;  ///< "qkv", "proj", "q_up", "fc1", "fc2", "shared_fc1", "expert_fc1", ...
  int64_t in = 0, out = 0;
  int64_t copies = 1;  ///< of which a token meets so many: top-k for experts
};

std::vector<Matrix> mixer_matrices(const spec::Model& model, const spec::Layer& layer);
std::vector<Matrix> mlp_matrices(const spec::Model& model, const spec::Layer& layer);

/// Whether the job's LoRA adapts this matrix, or a part of it. Targets are qkv, proj, fc1 and fc2;
/// q, k and v are parts of qkv. For latent attention q stands for all projections of queries, k and
/// v for those of keys and values; fc1 and fc2 for those of experts and shared experts too.
/// `adapters`: whether the matrix's layer has any (spec::Layer).
bool lora_adapts(const spec::Job& job, bool adapters, std::string_view matrix);
/// Matrices that transformers keeps apart of one of ours: queries, keys and values, gate and up.
int module_parts(const spec::Model& model, std::string_view matrix);

/// What LoRA puts beside one of our matrices.
struct Adapters {
  int count = 0;    ///< PEFT has one for each matrix that transformers keeps apart
  int64_t out = 0;  ///< columns that they add to, together
};
/// Of a matrix of so many columns, `keys` of them keys and as many values (of "qkv"; else unused).
/// What transformers keeps in one matrix is adapted whole, as PEFT does there by default.
Adapters adapters_of(const spec::Job& job, std::string_view matrix, int64_t out, int64_t keys);
/// Beside a layer's attention and dense MLP; of all layers.
int adapters_in_layer(const spec::Job& job);
int64_t adapters_in(const spec::Job& job);

}  // namespace ergometer::workload
