#include "intake/programs/accelerate_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::intake {
namespace {

struct Switch {
  std::string_view name, key, value;  ///< `key` and `value` of the file; empty: says nothing of it
};
constexpr std::array kSwitches = std::to_array<Switch>({
    {"use_deepspeed", "distributed_type", "DEEPSPEED"},
    {"use_fsdp", "distributed_type", "FSDP"},
    {"use_megatron_lm", "distributed_type", "MEGATRON_LM"},
    {"multi_gpu", "distributed_type", "MULTI_GPU"},
    {"cpu", "use_cpu", "true"},
    {"use_parallelism_config", "", ""},
    {"tpu", "distributed_type", "TPU"},
    {"same_network", "", ""},
    {"quiet", "", ""},
    {"debug", "", ""},
    {"no_python", "", ""},
    {"dynamo_use_dynamic", "", ""},
    {"dynamo_use_fullgraph", "", ""},
    {"enable_cpu_affinity", "", ""},
});
const Switch* find_switch(std::string_view name) {
  const auto it = std::ranges::find(kSwitches, name, &Switch::name);
  return it == kSwitches.end() ? nullptr : it;
}

/// Words of DeepSpeed's section, which have no prefix as the others' have.
constexpr std::array kOfDeepSpeed = std::to_array<std::string_view>(
    {"zero_stage", "offload_optimizer_device", "offload_param_device", "gradient_clipping",
     "offload_optimizer_nvme_path", "offload_param_nvme_path", "zero3_init_flag",
     "zero3_save_16bit_model", "deepspeed_config_file", "deepspeed_hostfile",
     "deepspeed_exclusion_filter", "deepspeed_inclusion_filter", "deepspeed_multinode_launcher",
     "deepspeed_moe_layer_cls_names"});

struct Variable {
  std::string_view name, key;
};
constexpr std::array kVariables = std::to_array<Variable>({
    {"ACCELERATE_MIXED_PRECISION", "mixed_precision"},
    {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "gradient_accumulation_steps"},
    {"ACCELERATE_DEEPSPEED_ZERO_STAGE", "deepspeed_config.zero_stage"},
    {"ACCELERATE_DEEPSPEED_CONFIG_FILE", "deepspeed_config.deepspeed_config_file"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "deepspeed_config.offload_optimizer_device"},
    {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "deepspeed_config.offload_param_device"},
    {"FSDP_VERSION", "fsdp_config.fsdp_version"},
    {"FSDP_SHARDING_STRATEGY", "fsdp_config.fsdp_sharding_strategy"},
    {"FSDP_RESHARD_AFTER_FORWARD", "fsdp_config.fsdp_reshard_after_forward"},
    {"FSDP_OFFLOAD_PARAMS", "fsdp_config.fsdp_offload_params"},
    {"FSDP_ACTIVATION_CHECKPOINTING", "fsdp_config.fsdp_activation_checkpointing"},
    {"FSDP_BACKWARD_PREFETCH", "fsdp_config.fsdp_backward_prefetch"},
});

}  // namespace

bool is_accelerate_switch(std::string_view name) { return find_switch(name) != nullptr; }

std::pair<std::string, std::string> accelerate_value(const std::string& name,
                                                     const std::string& value) {
  if (const Switch* known = find_switch(name))
    return {std::string(known->key), std::string(known->value)};
  if (base::contains(kOfDeepSpeed, name)) return {"deepspeed_config." + name, value};
  for (const char* section : {"fsdp", "megatron_lm", "parallelism_config", "fp8"})
    if (name.starts_with(fmt::format("{}_", section)))
      return {
          fmt::format("{}{}.{}", section, base::contains(section, "config") ? "" : "_config", name),
          value};
  return {name, value};
}

spec::FlatYaml accelerate_environment(
    const std::map<std::string, std::string, std::less<>>& environment, const std::string& script) {
  const auto on = [&](std::string_view name) {
    const auto it = environment.find(name);
    const std::string word = it == environment.end() ? "" : base::lower(it->second);
    return word == "true" || word == "1" || word == "yes" || word == "on";
  };
  const bool sharded = on("ACCELERATE_USE_FSDP"), deepspeed = on("ACCELERATE_USE_DEEPSPEED");
  spec::FlatYaml values;
  for (const Variable& variable : kVariables) {
    const auto it = environment.find(variable.name);
    // A section's variables say nothing while the section is off.
    if (it == environment.end() || (variable.key.starts_with("fsdp") && !sharded) ||
        (variable.key.starts_with("deepspeed") && !deepspeed))
      continue;
    values[std::string(variable.key)] = {it->second, 0,
                                         fmt::format("{}: {}", script, variable.name)};
  }
  if (sharded || deepspeed)
    values["distributed_type"] = {
        sharded ? "FSDP" : "DEEPSPEED", 0,
        fmt::format("{}: ACCELERATE_USE_{}", script, sharded ? "FSDP" : "DEEPSPEED")};
  return values;
}

std::optional<spec::FlatYaml> accelerate_file_of_trl(const std::string& name) {
  struct File {
    std::string_view name, type, key, value;
  };
  constexpr std::array kFiles = std::to_array<File>({
      {"single_gpu", "NO", "", ""},
      {"multi_gpu", "MULTI_GPU", "", ""},
      {"fsdp1", "FSDP", "fsdp_config.fsdp_sharding_strategy", "FULL_SHARD"},
      {"fsdp2", "FSDP", "fsdp_config.fsdp_reshard_after_forward", "true"},
      {"zero1", "DEEPSPEED", "deepspeed_config.zero_stage", "1"},
      {"zero2", "DEEPSPEED", "deepspeed_config.zero_stage", "2"},
      {"zero3", "DEEPSPEED", "deepspeed_config.zero_stage", "3"},
  });
  for (const File& file : kFiles) {
    if (file.name != name) continue;
    const std::string from = fmt::format("TRL's own {}.yaml", name);
    spec::FlatYaml values;
    values["distributed_type"] = {std::string(file.type), 0, from};
    values["mixed_precision"] = {"bf16", 0, from};
    values["num_machines"] = {"1", 0, from};
    values["num_processes"] = {file.type == "NO" ? "1" : "8", 0, from};
    if (!file.key.empty()) values[std::string(file.key)] = {std::string(file.value), 0, from};
    return values;
  }
  return std::nullopt;
}

}  // namespace ergometer::intake
