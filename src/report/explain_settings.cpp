#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/explain.h"
#include "report/job_json.h"
#include "spec/settings.h"

// The resolved value of every setting, beside where it came from. Settings that say the same in
// another way
// (--bf16 for --precision, a layout for layer counts) have no value of their own and are shown
// under the one they set.

namespace ergometer::report {
namespace {

using spec::Job;

std::string text_of(int64_t number) { return std::to_string(number); }
std::string text_of(double number) { return fmt::format("{:g}", number); }
std::string text_of(bool truth) { return truth ? "on" : "off"; }
std::string text_of(const std::string& text) { return text; }
std::string text_of(std::string_view text) { return std::string(text); }
std::string text_of(const std::vector<std::string>& texts) {
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ","));
}
std::string text_of(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? "even" : fmt::format("{}", fmt::join(numbers, ","));
}

std::string set(double value, std::string_view unit) {
  return value == 0 ? "not set" : fmt::format("{:g}{}", value, unit);
}
std::string smoothing(const spec::Conditions& c) {
  if (c.smoothing_floor == 0) return "none";
  return fmt::format("floor {:g}, up {}, down {}, hysteresis {:g} s", c.smoothing_floor,
                     set(c.smoothing_up_w_per_s, " W/s"), set(c.smoothing_down_w_per_s, " W/s"),
                     c.smoothing_hysteresis_s);
}
std::vector<std::string> overrides(const spec::Conditions& c) {
  std::vector<std::string> texts;
  for (const spec::Override& o : c.overrides) texts.push_back(o.text);
  return texts;
}

struct Entry {
  std::string_view name;
  std::string (*value)(const Job&);
};

#define ERGOMETER_ENTRY(name, expression)                    \
  Entry {                                                    \
    name, [](const Job& job) { return text_of(expression); } \
  }

constexpr std::array kEntries = std::to_array<Entry>({
    ERGOMETER_ENTRY("model", job.model.name),
    ERGOMETER_ENTRY("cluster", job.cluster.name),
    ERGOMETER_ENTRY("gpus", job.gpus),
    ERGOMETER_ENTRY("num_layers", job.model.layer_count()),
    ERGOMETER_ENTRY("tensor_model_parallel_size", job.parallelism.tp),
    ERGOMETER_ENTRY("pipeline_model_parallel_size", job.parallelism.pp),
    ERGOMETER_ENTRY("virtual_pipeline_model_parallel_size", job.parallelism.vpp),
    ERGOMETER_ENTRY("context_parallel_size", job.parallelism.cp),
    ERGOMETER_ENTRY("expert_model_parallel_size", job.parallelism.ep),
    ERGOMETER_ENTRY("expert_tensor_parallel_size", job.parallelism.etp),
    ERGOMETER_ENTRY("data_parallel_size", job.parallelism.dp),
    ERGOMETER_ENTRY("sequence_parallel", job.parallelism.sequence_parallel),
    ERGOMETER_ENTRY("cp_comm_type", to_word(job.parallelism.cp_comm)),
    ERGOMETER_ENTRY("schedule", to_word(job.parallelism.schedule)),
    ERGOMETER_ENTRY("microbatch_group_size_per_virtual_pipeline_stage",
                    job.parallelism.microbatch_group),
    ERGOMETER_ENTRY("decoder_first_pipeline_num_layers", job.parallelism.first_stage_layers),
    ERGOMETER_ENTRY("decoder_last_pipeline_num_layers", job.parallelism.last_stage_layers),
    ERGOMETER_ENTRY("account_for_embedding_in_pipeline_split",
                    job.parallelism.embedding_counts_as_layer),
    ERGOMETER_ENTRY("account_for_loss_in_pipeline_split", job.parallelism.loss_counts_as_layer),
    ERGOMETER_ENTRY("stage_layers", job.parallelism.stage_layers),
    ERGOMETER_ENTRY("rank_map", job.parallelism.rank_map),
    ERGOMETER_ENTRY("zero", static_cast<int64_t>(job.parallelism.zero_stage)),
    ERGOMETER_ENTRY("fsdp", job.parallelism.fsdp),
    ERGOMETER_ENTRY("fsdp_shard_size", job.parallelism.fsdp_shard_size),
    ERGOMETER_ENTRY("micro_batch_size", job.training.micro_batch),
    ERGOMETER_ENTRY("global_batch_size", job.training.global_batch),
    ERGOMETER_ENTRY("seq_length", job.training.seq_length),
    ERGOMETER_ENTRY("make_vocab_size_divisible_by", job.training.vocab_multiple),
    ERGOMETER_ENTRY("dropout", job.model.dropout),
    ERGOMETER_ENTRY("flops",
                    std::string_view(job.training.attention_flops_full ? "full" : "causal")),
    ERGOMETER_ENTRY("framework", to_word(job.training.framework)),
    ERGOMETER_ENTRY("software", job.software.name),
    ERGOMETER_ENTRY("recompute_granularity", to_word(job.training.recompute)),
    ERGOMETER_ENTRY("recompute_method", to_word(job.training.recompute_method)),
    ERGOMETER_ENTRY("recompute_num_layers", job.training.recompute_layers),
    ERGOMETER_ENTRY("recompute_stage_layers", job.training.recompute_stage_layers),
    ERGOMETER_ENTRY("recompute_modules", job.training.recompute_modules),
    ERGOMETER_ENTRY("overlap_grad_reduce", job.training.overlap_grad_reduce),
    ERGOMETER_ENTRY("overlap_param_gather", job.training.overlap_param_gather),
    ERGOMETER_ENTRY("tp_comm_overlap", job.training.overlap_tp),
    ERGOMETER_ENTRY("overlap_p2p", job.training.overlap_p2p),
    ERGOMETER_ENTRY("batch_p2p_sync", job.training.batch_p2p_sync),
    ERGOMETER_ENTRY("scatter_gather_tensors_in_pipeline", job.training.scatter_gather_p2p),
    ERGOMETER_ENTRY("ddp_bucket_size", job.training.bucket_elements),
    ERGOMETER_ENTRY("precision", to_word(job.training.precision)),
    ERGOMETER_ENTRY("fp8_recipe", to_word(job.training.fp8_recipe)),
    ERGOMETER_ENTRY("fp8_param_gather", job.training.fp8_parameters),
    ERGOMETER_ENTRY("fp8_attention", job.training.fp8_attention),
    ERGOMETER_ENTRY("grad_reduce_in_bf16", !job.training.gradients_fp32),
    ERGOMETER_ENTRY("moe_token_dispatcher_type", to_word(job.training.moe_dispatcher)),
    ERGOMETER_ENTRY("moe_flex_dispatcher_backend", flex_backend(job.training.moe_dispatcher)),
    ERGOMETER_ENTRY("overlap_moe_expert_parallel_comm", job.training.overlap_expert_parallel),
    ERGOMETER_ENTRY("moe_grouped_gemm", job.training.moe_grouped_gemm),
    ERGOMETER_ENTRY("moe_expert_capacity_factor", job.training.moe_capacity_factor),
    ERGOMETER_ENTRY("moe_shared_expert_overlap", job.training.moe_shared_overlap),
    ERGOMETER_ENTRY("attention_backend", to_word(job.training.attention)),
    ERGOMETER_ENTRY("cross_entropy_loss_fusion", job.training.fused_cross_entropy),
    ERGOMETER_ENTRY("gradient_accumulation_fusion", job.training.grad_accumulation_fusion),
    ERGOMETER_ENTRY("apply_rope_fusion", job.training.fused_rope),
    ERGOMETER_ENTRY("cuda_graphs", job.training.cuda_graphs),
    ERGOMETER_ENTRY("cuda_graph_scope", job.training.cuda_graph_scope),
    ERGOMETER_ENTRY("mode", to_word(job.training.mode)),
    ERGOMETER_ENTRY("lora", job.training.lora_rank),
    ERGOMETER_ENTRY("lora_targets", job.training.lora_targets),
    ERGOMETER_ENTRY("generate_tokens", job.training.generate_tokens),
    ERGOMETER_ENTRY("power_cap", set(job.conditions.power_cap_w, " W")),
    ERGOMETER_ENTRY("lock_clock", set(job.conditions.lock_clock_hz / 1e6, " MHz")),
    ERGOMETER_ENTRY("clocks",
                    std::string_view(job.conditions.constant_clocks ? "constant" : "governed")),
    ERGOMETER_ENTRY("inlet_c", job.conditions.has_inlet
                                   ? fmt::format("{:g} C", job.conditions.inlet_c)
                                   : std::string("not set")),
    ERGOMETER_ENTRY("cooling", to_word(job.conditions.cooling)),
    ERGOMETER_ENTRY("fan", set(100 * job.conditions.fan, " %")),
    ERGOMETER_ENTRY("seed", static_cast<int64_t>(job.conditions.seed)),
    ERGOMETER_ENTRY("operand_activity", job.conditions.operand_activity),
    ERGOMETER_ENTRY("duration", set(job.conditions.duration_s, " s")),
    ERGOMETER_ENTRY("steady", job.conditions.duration_s == 0),
    ERGOMETER_ENTRY("start_c", set(job.conditions.start_c, " C")),
    ERGOMETER_ENTRY("cluster_cap", set(job.conditions.cluster_cap_w, " W")),
    ERGOMETER_ENTRY("pue", job.conditions.pue),
    ERGOMETER_ENTRY("power_smoothing", smoothing(job.conditions)),
    ERGOMETER_ENTRY("override", overrides(job.conditions)),
});

#undef ERGOMETER_ENTRY

}  // namespace

Explanation explain_setting(const Job& job, std::string_view name) {
  Explanation setting{.name = std::string(name),
                      .text = {},
                      .number = {},
                      .formula = {},
                      .source = {},
                      .inputs = {}};
  const auto entry = std::find_if(kEntries.begin(), kEntries.end(),
                                  [&](const Entry& e) { return e.name == name; });
  if (entry != kEntries.end()) setting.text = entry->value(job);
  if (const auto origin = job.origins.find(setting.name); origin != job.origins.end())
    setting.source = origin->second.text;
  return setting;
}

Explanation explain_settings(const Job& job) {
  Explanation root{
      .name = "settings", .text = {}, .number = {}, .formula = {}, .source = {}, .inputs = {}};
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    const auto entry = std::find_if(kEntries.begin(), kEntries.end(),
                                    [&](const Entry& e) { return e.name == setting.name; });
    // What nobody asked for and no rule set has no part in this job.
    if (entry == kEntries.end() || job.origins.find(std::string(setting.name)) == job.origins.end())
      continue;
    if (root.inputs.empty() || root.inputs.back().name != setting.group)
      root.inputs.push_back({std::string(setting.group), {}, {}, {}, {}, {}});
    root.inputs.back().inputs.push_back(explain_setting(job, setting.name));
  }
  return root;
}

}  // namespace ergometer::report
