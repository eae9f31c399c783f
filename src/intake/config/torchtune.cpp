#include "intake/config/torchtune.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/model/model_names.h"

namespace ergometer::intake {
namespace {

/// "torchtune.models.llama3_1.lora_llama3_1_8b" is llama3.1-8b.
std::string model_of(std::string_view component) {
  std::string name(base::last_part(component, '.'));
  for (const std::string_view prefix : {"qlora_", "lora_", "dora_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  for (const std::string_view suffix : {"_instruct", "_base"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  // llama3_1_8b and qwen2_5_7b: a release, then a size.
  for (const std::string_view family : {"llama3_", "qwen2_"})
    if (name.starts_with(family) && std::ranges::count(name, '_') > 1)
      name[family.size() - 1] = '.';
  return base::dashed(name);
}

/// `optimizer=torch.optim.SGD` names the component of a part.
void apply_words(spec::FlatYaml& values, const spec::FlatYaml& words) {
  for (const auto& [word, value] : words) {
    const auto part = values.find(word + "._component_");
    if (part == values.end()) continue;
    part->second = value;
    values.erase(word);
  }
}

class TorchtuneReader {
 public:
  TorchtuneReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "torchtune") {}

  Result<Reading> read() {
    read_model();
    read_layout();
    read_batch();
    read_rest();
    return read_.finish("a torchtune configuration");
  }

 private:
  void read_model() {
    constexpr const char* kModel = "model._component_";
    const std::string component = read_.text(kModel);
    const std::string name = model_of(component);
    const auto* entry = spec::find_hub_model(name);
    if (component.empty() || entry == nullptr)
      return read_.refuse(kModel,
                          "a model of the catalog (looked for: {}); --model "
                          "names another one",
                          name);
    read_.set("model", entry->name, kModel);
    if (!base::contains(component, "lora")) return;
    const auto rank = read_.integer("model.lora_rank", 1);
    if (!rank) return read_.refuse("model.lora_rank", "a whole number");
    read_.set("mode", "lora", kModel);
    read_.set_count("lora", *rank, "model.lora_rank");
    constexpr const char* kModules = "model.lora_attn_modules";
    std::string modules = read_.text(kModules), unknown;
    if (read_.flag("model.apply_lora_to_mlp", false)) modules += ",w1,w2,w3";
    const auto targets = spec::lora_targets(modules, unknown);
    if (!targets) return read_.refuse(kModules, "q_proj, k_proj, v_proj, output_proj");
    read_.set("lora_targets", *targets, kModules);
    if (base::contains(component, "dora") || read_.flag("model.use_dora", false))
      read_.not_modelled(kModel, kMagnitudes);
    if (base::contains(component, "qlora") || read_.flag("model.quantize_base", false))
      read_.set("quantize", "nf4-dq", kModel);  // torchao's NF4Tensor quantizes its scales
  }

  void read_layout() {
    read_.copy_count("tensor_parallel_dim", "tensor_model_parallel_size");
    read_.copy_count("context_parallel_dim", "context_parallel_size");
    const int64_t copies = read_.integer("data_parallel_replicate_dim", 1).value_or(1);
    const int64_t shards = read_.integer("data_parallel_shard_dim", -1).value_or(-1);
    if (shards == 0) return read_.refuse("data_parallel_shard_dim", "-1, or a number of ranks");
    read_.set("fsdp", "true", "data_parallel_shard_dim");
    if (copies > 1 && shards > 1) read_hybrid_shards(read_, shards, "data_parallel_shard_dim");
    if (shards > 0)
      set_ranks(read_, "data_parallel_size", copies, shards, "data_parallel_shard_dim");
    if (!read_.flag("fsdp_reshard_after_forward", true))
      read_.not_modelled("fsdp_reshard_after_forward",
                         "memory and time: parameters stay gathered; predicted as gathered again");
    if (read_.flag("fsdp_cpu_offload", false)) {
      set_fsdp_on_host(read_, "fsdp_cpu_offload");
    }
  }

  void read_batch() {
    if (!read_.copy_count("batch_size", "micro_batch_size"))
      read_.refuse("batch_size", "a whole number");
    read_.copy_count_or("gradient_accumulation_steps", "gradient_accumulation_steps", 1);
    const bool packed = read_.flag("dataset.packed", false);
    constexpr const char* kLength = "tokenizer.max_seq_len";
    if (!read_.copy_count(kLength, "seq_length"))
      read_.reading().open["seq_length"] =
          fmt::format("{}: {}: says nothing, the data decide how long sequences are; give --seq",
                      read_.file(), kLength);
    else if (packed)
      read_.not_modelled("dataset.packed", kPackedDocuments);
    else
      read_.not_modelled("dataset.packed", kLengthsOfData);
  }

  void read_rest() {
    const std::string type = read_.text("dtype", "bf16");
    if (type != "bf16" && type != "fp32") return read_.refuse("dtype", "bf16, fp32");
    read_.set("precision", type, "dtype");
    const bool again = read_.flag("enable_activation_checkpointing", false);
    set_recomputation(read_, again, "enable_activation_checkpointing");
    read_.find("ac_option");
    if (read_.text("ac_mode") == "selective" && again)
      read_.not_modelled("ac_mode",
                         "memory and time: some layers alone are computed again; predicted as all");
    // In 16 bit everything is: parameters have no second copy.
    if (type == "bf16") read_.set("master_weights", "false", "dtype");
    constexpr const char* kOptimizer = "optimizer._component_";
    const std::string optimizer = base::lower(read_.text(kOptimizer, "torch.optim.AdamW"));
    if (base::contains(optimizer, "adam") && base::contains(optimizer, "8bit"))
      read_.set("optimizer_moments", "8-bit", kOptimizer);
    else if (!optimizer.ends_with("adamw") && !optimizer.ends_with(".adam"))
      read_.not_modelled(kOptimizer, kOtherOptimizer);
    if (read_.flag("optimizer_in_bwd", false))
      read_.not_modelled("optimizer_in_bwd",
                         "memory: gradients are gone as soon as they are applied; predicted as "
                         "kept to the end of the step");
    constexpr const char* kLoss = "loss._component_";
    const std::string loss = read_.text(kLoss);
    if (base::contains(loss, "LinearCrossEntropy"))
      read_.set("linear_cross_entropy_fusion", "true", kLoss);
    if (base::contains(loss, "rlhf"))
      read_.reading().leftovers.push_back(preference_training(kLoss, read_.origin(kLoss).text));
    if (read_.has_section("teacher_model"))
      read_.refuse("teacher_model._component_", "none: a teacher beside the model is not read");
    // A switch for all, or one for each part.
    const bool compiles = read_.flag("compile", false) || read_.flag("compile.model", false);
    read_.set_framework(compiles ? "torchtitan" : "torchtitan-eager");
  }

  FlatReader read_;
};

}  // namespace

Result<Reading> parse_torchtune(const std::string& text, const std::string& file,
                                const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  apply_words(values, overrides);
  return TorchtuneReader(values, file).read();
}

}  // namespace ergometer::intake
