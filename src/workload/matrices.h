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

/// Whether the job's LoRA adapts this matrix. Targets are qkv, proj, fc1 and fc2; qkv stands for
/// all input projections of latent attention, fc1 and fc2 for those of experts and shared experts
/// too.
bool lora_adapts(const spec::Job& job, std::string_view matrix);
/// Matrices that transformers keeps apart of one of ours: queries, keys and values, gate and up.
/// Models without a gate are taken for those that have one matrix as we do (GPT-2, GPT-NeoX).
int module_parts(const spec::Model& model, std::string_view matrix);
/// Adapters beside it: PEFT has one for each matrix that transformers keeps apart.
int adapters_of(const spec::Job& job, std::string_view matrix);

}  // namespace ergometer::workload
