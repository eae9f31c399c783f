// Settings that make no difference to the job that they are said of: a format's scaling where
// nothing is in that format, an optimizer's place where nothing is trained.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "spec/job/matrix_peak.h"
#include "spec/job/node_groups.h"
#include "spec/resolve/resolve.h"

namespace ergometer::spec {
namespace {

bool any_gpu_has_tf32(const Job& job) {
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    if (has_tf32(node_of_group(job.cluster, group).gpu)) return true;
  return false;
}

bool is_narrow(const Job& job) {
  return job.training.precision == Precision::kFp8 || job.training.precision == Precision::kNvfp4;
}

/// Why a setting makes no difference to the job; empty where it may.
using WhyUnused = std::string (*)(const Job&);

std::string without_narrow(const Job& job) {
  return is_narrow(job) ? "" : "nothing is in FP8 or FP4";
}
std::string without_tf32(const Job& job) {
  if (job.training.precision != Precision::kFp32) return "products are not in FP32";
  return any_gpu_has_tf32(job) ? "" : gpus_text(job.cluster) + " has no TF32";
}
std::string without_training(const Job& job) {
  return job.is_inference() ? "inference has no backward and no optimizer" : "";
}
std::string without_remainders(const Job& job) {
  return job.training.master_remainders
             ? ""
             : "only Megatron-LM's bf16 training keeps FP32 master weights without the halves "
               "that its parameters are";
}
std::string without_context(const Job& job) {
  return job.parallelism.cp > 1 ? "" : "no sequence is shared (--cp 1)";
}
std::string without_stages(const Job& job) {
  return job.parallelism.pp > 1 ? "" : "there is one stage (--pp 1)";
}
std::string without_replicas(const Job& job) {
  return job.parallelism.dp * job.parallelism.cp > 1 ? "" : "there is one replica (--dp 1)";
}
std::string without_experts(const Job& job) {
  return job.model.experts.count > 0 ? "" : job.model.name + " has no experts";
}
std::string without_capacity(const Job& job) {
  if (job.training.moe_capacity_factor > 0) return without_experts(job);
  return "experts have no capacity (--moe-expert-capacity-factor)";
}
std::string without_shared_experts(const Job& job) {
  if (job.model.experts.count == 0) return without_experts(job);
  return job.parallelism.ep > 1 ? "" : "every rank holds all experts (--ep 1)";
}

struct Unused {
  std::string_view name;
  WhyUnused why;
};
constexpr std::array kUnused = std::to_array<Unused>({
    {"fp8_recipe", without_narrow},
    {"tf32", without_tf32},
    {"optimizer_cpu_offload", without_training},
    {"cpu_offloading_num_layers", without_training},
    {"optimizer_moments", without_training},
    {"overlap_grad_reduce", without_training},
    {"overlap_param_gather", without_training},
    {"ddp_bucket_size", without_training},
    {"use_precision_aware_optimizer", without_remainders},
    {"cp_comm_type", without_context},
    {"compress_activations", without_stages},
    {"compress_gradients", without_replicas},
    {"overlap_p2p", without_stages},
    {"batch_p2p_sync", without_stages},
    {"moe_token_dispatcher_type", without_experts},  // alone, tokens are still put in order
    {"moe_flex_dispatcher_backend", without_experts},
    {"overlap_moe_expert_parallel_comm", without_shared_experts},
    {"moe_expert_placement", without_shared_experts},
    {"moe_grouped_gemm", without_experts},
    {"moe_expert_capacity_factor", without_experts},
    {"moe_pad_expert_input_to_capacity", without_capacity},
});

/// Whether a job of which nothing is said has the same word: it says nothing new.
bool is_default(std::string_view name, const Job& job) {
  const SettingInfo* info = find_setting(name);
  return info->kind == SettingKind::kChoice && info->text != nullptr &&
         info->text(*info, job) == info->text(*info, Job{});
}

}  // namespace

void note_unused(SettingReader& read, const Job& job) {
  for (const auto& [name, why] : kUnused) {
    // What a framework does by itself nobody asked for.
    if (!read.asks_for(name) || base::contains(read.where(name), "'s default: ")) continue;
    if (is_default(name, job)) continue;
    if (const std::string reason = why(job); !reason.empty())
      read.adjust(name, fmt::format("{} has no effect: {}", read.said(name), reason));
  }
}

}  // namespace ergometer::spec
