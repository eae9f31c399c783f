#include "spec/setting_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/json_writer.h"
#include "spec/settings.h"

namespace ergometer::spec {
namespace {

/// The word of the setting's choices at this position, which is the enumerator's.
std::string choice_at(std::string_view name, size_t index) {
  const SettingInfo* info = find_setting(name);
  std::string_view rest = info == nullptr ? std::string_view() : info->choices;
  for (; index > 0 && !rest.empty(); --index)
    rest.remove_prefix(std::min(rest.find('|'), rest.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find('|')));
}

template <class T>
std::string text_of(std::string_view name, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "on" : "off";
  else if constexpr (std::is_enum_v<T>)
    return choice_at(name, static_cast<size_t>(value));
  else if constexpr (std::is_floating_point_v<T>)
    return base::shortest(value);
  else if constexpr (std::is_integral_v<T>)
    return fmt::format("{}", value);
  else
    return value.empty() ? "none" : fmt::format("{}", fmt::join(value, ","));
}

struct Row {
  std::string_view name;
  std::string (*value)(std::string_view name, const Job& job);
};

#define ERGOMETER_SETTING(name, path)                                                          \
  Row {                                                                                        \
    #name, [](std::string_view setting, const Job& job) { return text_of(setting, job.path); } \
  }

constexpr std::array kRows = std::to_array<Row>({
    ERGOMETER_SETTING(gpus, gpus),
    ERGOMETER_SETTING(mtp_num_layers, model.mtp_layers),
    ERGOMETER_SETTING(num_layers, model.layer_count()),
    ERGOMETER_SETTING(dropout, model.dropout),
    ERGOMETER_SETTING(tensor_model_parallel_size, parallelism.tp),
    ERGOMETER_SETTING(expert_tensor_parallel_size, parallelism.etp),
    ERGOMETER_SETTING(sequence_parallel, parallelism.sequence_parallel),
    ERGOMETER_SETTING(pipeline_model_parallel_size, parallelism.pp),
    ERGOMETER_SETTING(virtual_pipeline_model_parallel_size, parallelism.vpp),
    ERGOMETER_SETTING(schedule, parallelism.schedule),
    ERGOMETER_SETTING(microbatch_group_size_per_virtual_pipeline_stage,
                      parallelism.microbatch_group),
    ERGOMETER_SETTING(decoder_first_pipeline_num_layers, parallelism.first_stage_layers),
    ERGOMETER_SETTING(decoder_last_pipeline_num_layers, parallelism.last_stage_layers),
    ERGOMETER_SETTING(account_for_embedding_in_pipeline_split,
                      parallelism.embedding_counts_as_layer),
    ERGOMETER_SETTING(account_for_loss_in_pipeline_split, parallelism.loss_counts_as_layer),
    ERGOMETER_SETTING(stage_layers, parallelism.stage_layers),
    ERGOMETER_SETTING(rank_map, parallelism.rank_map),
    ERGOMETER_SETTING(context_parallel_size, parallelism.cp),
    ERGOMETER_SETTING(cp_comm_type, parallelism.cp_comm),
    ERGOMETER_SETTING(expert_model_parallel_size, parallelism.ep),
    ERGOMETER_SETTING(data_parallel_size, parallelism.dp),
    ERGOMETER_SETTING(zero, parallelism.zero_stage),
    ERGOMETER_SETTING(fsdp, parallelism.fsdp),
    ERGOMETER_SETTING(fsdp_shard_size, parallelism.fsdp_shard_size),
    ERGOMETER_SETTING(micro_batch_size, training.micro_batch),
    ERGOMETER_SETTING(global_batch_size, training.global_batch),
    ERGOMETER_SETTING(gradient_accumulation_steps, micro_batches()),
    ERGOMETER_SETTING(seq_length, training.seq_length),
    ERGOMETER_SETTING(packed_mean_length, training.packed_mean_length),
    ERGOMETER_SETTING(make_vocab_size_divisible_by, training.vocab_multiple),
    ERGOMETER_SETTING(framework, training.framework),
    ERGOMETER_SETTING(recompute_granularity, training.recompute),
    ERGOMETER_SETTING(recompute_method, training.recompute_method),
    ERGOMETER_SETTING(recompute_num_layers, training.recompute_layers),
    ERGOMETER_SETTING(recompute_stage_layers, training.recompute_stage_layers),
    ERGOMETER_SETTING(recompute_modules, training.recompute_modules),
    ERGOMETER_SETTING(overlap_grad_reduce, training.overlap_grad_reduce),
    ERGOMETER_SETTING(overlap_param_gather, training.overlap_param_gather),
    ERGOMETER_SETTING(tp_comm_overlap, training.overlap_tp),
    ERGOMETER_SETTING(overlap_p2p, training.overlap_p2p),
    ERGOMETER_SETTING(batch_p2p_sync, training.batch_p2p_sync),
    ERGOMETER_SETTING(scatter_gather_tensors_in_pipeline, training.scatter_gather_p2p),
    ERGOMETER_SETTING(ddp_bucket_size, training.bucket_elements),
    ERGOMETER_SETTING(precision, training.precision),
    ERGOMETER_SETTING(fp8_recipe, training.fp8_recipe),
    ERGOMETER_SETTING(fp8_param_gather, training.fp8_parameters),
    ERGOMETER_SETTING(fp8_attention, training.fp8_attention),
    ERGOMETER_SETTING(overlap_moe_expert_parallel_comm, training.overlap_expert_parallel),
    ERGOMETER_SETTING(moe_grouped_gemm, training.moe_grouped_gemm),
    ERGOMETER_SETTING(moe_expert_capacity_factor, training.moe_capacity_factor),
    ERGOMETER_SETTING(moe_shared_expert_overlap, training.moe_shared_overlap),
    ERGOMETER_SETTING(attention_backend, training.attention),
    ERGOMETER_SETTING(cross_entropy_loss_fusion, training.fused_cross_entropy),
    ERGOMETER_SETTING(linear_cross_entropy_fusion, training.linear_cross_entropy),
    ERGOMETER_SETTING(optimizer_cpu_offload, training.optimizer_offload),
    ERGOMETER_SETTING(cpu_offloading_num_layers, training.offloaded_layers),
    ERGOMETER_SETTING(gradient_accumulation_fusion, training.grad_accumulation_fusion),
    ERGOMETER_SETTING(apply_rope_fusion, training.fused_rope),
    ERGOMETER_SETTING(cuda_graphs, training.cuda_graphs),
    ERGOMETER_SETTING(cuda_graph_scope, training.cuda_graph_scope),
    ERGOMETER_SETTING(mode, training.mode),
    ERGOMETER_SETTING(lora, training.lora_rank),
    ERGOMETER_SETTING(lora_targets, training.lora_targets),
    ERGOMETER_SETTING(generate_tokens, training.generate_tokens),
    ERGOMETER_SETTING(power_cap, conditions.power_cap_w),
    ERGOMETER_SETTING(lock_clock, conditions.lock_clock_hz),
    ERGOMETER_SETTING(cooling, conditions.cooling),
    ERGOMETER_SETTING(fan, conditions.fan),
    ERGOMETER_SETTING(seed, conditions.seed),
    ERGOMETER_SETTING(operand_activity, conditions.operand_activity),
    ERGOMETER_SETTING(duration, conditions.duration_s),
    ERGOMETER_SETTING(start_c, conditions.start_c),
    ERGOMETER_SETTING(sensor, conditions.sensor),
    ERGOMETER_SETTING(cluster_cap, conditions.cluster_cap_w),
    ERGOMETER_SETTING(pue, conditions.pue),
});
#undef ERGOMETER_SETTING

/// Profiles of one name need not say the same: a file may stand in for the catalog's.
std::string software_text(const Software& software) {
  std::string text = software.name;
  for (const auto& [name, parameter] : software.parameters.all())
    text += fmt::format(" {}={}", name, base::shortest(parameter.value));
  return text;
}

}  // namespace

std::string setting_value(std::string_view name, const Job& job) {
  if (name == "software") return software_text(job.software);
  if (name == "inlet_c")
    return job.conditions.has_inlet ? text_of(name, job.conditions.inlet_c) : "";
  if (name == "grad_reduce_in_bf16") return text_of(name, !job.training.gradients_fp32);
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& it) { return it.name == name; });
  return row == kRows.end() ? "" : row->value(name, job);
}

}  // namespace ergometer::spec
