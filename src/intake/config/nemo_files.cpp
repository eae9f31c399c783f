#include "intake/config/nemo_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/core_model.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/placeholder.h"
#include "intake/reader/shared_words.h"
#include "spec/files/nemo.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

/// Where the two generations of recipes keep what Megatron-Core takes.
struct Places {
  std::string parallel, model, ddp, optimizer, tokenizer;
};

/// Texts that are packed for fine-tuning, under the generations' names: a switch, or a size.
bool tell_packing(FlatReader& read) {
  bool packs = false;
  for (const char* key :
       {"model.data.train_ds.packed_sequence", "data.packed_sequence_specs.packed_sequence_size",
        "dataset.packed_sequence_specs.packed_sequence_size"}) {
    if (is_off(read.text(key))) continue;
    packs = true;
    read.not_modelled(key, kPackedDocuments);
  }
  return packs;
}

class RecipeFileReader {
 public:
  RecipeFileReader(const spec::FlatYaml& values, const std::string& file, std::string framework,
                   Places places)
      : values_(values), read_(values, file, std::move(framework)), at_(std::move(places)) {}

  Result<Reading> nemo_2() {
    read_common();
    read_gpus();
    const std::string plugin =
        read_.has_section("trainer.plugins.0") ? "trainer.plugins.0." : "trainer.plugins.";
    read_precision_word(read_.has(plugin + "precision") ? plugin + "precision"
                                                        : "trainer.precision");
    // A function of NeMo's by its name: `run.Config(bf16_with_fp8_mixed)`.
    for (const char* key : {"trainer.plugins", "trainer.plugins._target_"})
      if (const std::string word = base::lower(read_.text(key)); word.find("bf16_") != word.npos ||
                                                                 word.find("fp16_") != word.npos ||
                                                                 word.find("fp8") != word.npos)
        read_recipe_precision(key);
    read_mixed(plugin);
    for (const auto& [key, setting] : {std::pair("data.micro_batch_size", "micro_batch_size"),
                                       std::pair("data.global_batch_size", "global_batch_size")})
      read_.copy_count(key, setting);
    if (!read_.copy_count("data.seq_length", "seq_length"))
      read_.copy_count(at_.model + "seq_length", "seq_length");
    else
      read_.find(at_.model + "seq_length");
    read_.copy_flag("trainer.strategy.gradient_accumulation_fusion",
                    "gradient_accumulation_fusion");
    read_callbacks();
    read_strategy();
    tell_packing(read_);
    return finish("a recipe of NeMo 2");
  }

  Result<Reading> bridge() {
    read_common();
    read_.copy_count("train.micro_batch_size", "micro_batch_size");
    read_.copy_count("train.global_batch_size", "global_batch_size");
    bool length = false;
    for (const std::string& key : {std::string("dataset.sequence_length"),
                                   std::string("dataset.seq_length"), at_.model + "seq_length"})
      length = length ? (read_.find(key), true) : read_.copy_count(key, "seq_length");
    for (const char* name : {"bf16", "fp16"})
      if (read_.flag(at_.model + name, false)) read_.set("precision", name, at_.model + name);
    if (read_.has("mixed_precision")) read_recipe_precision("mixed_precision");
    read_mixed("mixed_precision.");
    read_overlap("comm_overlap.");
    tell_packing(read_);
    return finish("a recipe of Megatron-Bridge");
  }

 private:
  /// Kept in any of several sections.
  struct Overlap {
    std::string_view key, setting;
  };
  static constexpr std::array kOverlap = std::to_array<Overlap>({
      {"tp_comm_overlap", "tp_comm_overlap"},
      {"overlap_grad_reduce", "overlap_grad_reduce"},
      {"overlap_param_gather", "overlap_param_gather"},
      {"overlap_p2p_comm", "overlap_p2p"},
      {"overlap_moe_expert_parallel_comm", "overlap_moe_expert_parallel_comm"},
  });

  void read_overlap(const std::string& section) {
    for (const Overlap& it : kOverlap) read_.copy_flag(section + std::string(it.key), it.setting);
  }

  /// How the ranks are divided stands in a section of its own, how they exchange with the model.
  void read_core(const spec::SettingInfo& info, const std::string& name) {
    using enum spec::SettingKind;
    const bool divides = info.group == "parallelism" && info.kind != kChoice;
    const std::string key = (divides ? at_.parallel : at_.model) + name;
    if (info.kind == kInteger)
      read_.copy_count(key, info.name);
    else if (info.kind == kSwitch)
      read_.copy_flag(key, info.name);
    else if (!is_off(read_.text(key)))
      read_.copy(key, info.name);
  }

  Result<Reading> finish(std::string form) {
    read_.set_framework("nemo");
    return read_.finish(std::move(form));
  }

  void read_common() {
    read_core_model(read_, at_.model, at_.tokenizer);
    for (const spec::SettingInfo& info : spec::setting_table())
      for (const std::string& name : info.names(info.core)) read_core(info, name);
    read_overlap(at_.model);
    read_overlap(at_.ddp);
    const std::string loss = at_.model + "cross_entropy_fusion_impl";
    if (read_.text(loss) == "linear") read_.set("linear_cross_entropy_fusion", "true", loss);
    read_offloading();
    read_attention();
    read_sharding();
    if (read_.has("peft.dim") || read_.text("peft._target_").ends_with("LoRA")) read_adapters();
    const std::string optimizer = base::lower(read_.text(at_.optimizer + "optimizer", "adam"));
    if (optimizer != "adam" && optimizer != "adamw")
      read_.not_modelled(at_.optimizer + "optimizer", kOtherOptimizer);
    read_.copy_flag(at_.optimizer + "optimizer_cpu_offload", "optimizer_cpu_offload");
    read_.copy_flag(at_.optimizer + "use_precision_aware_optimizer",
                    "use_precision_aware_optimizer");
    read_moments();
  }

  /// PyTorch's formats: "torch.bfloat16", or as a class without a call.
  void read_moments() {
    std::string key = at_.optimizer + "exp_avg_dtype";
    if (!read_.has(key)) key += "._target_";
    const std::string word = base::lower(read_.text(key));
    read_.find(at_.optimizer + "exp_avg_dtype._call_");
    if (word.empty()) return;
    const auto format = base::last_part(word, '.');
    const bool fp8 = format == "uint8" || base::contains(format, "fp8");
    const std::string_view moments = format == "float32" || format == "fp32"    ? "fp32"
                                     : format == "bfloat16" || format == "bf16" ? "bf16"
                                     : format == "float16" || format == "fp16"  ? "fp16"
                                     : fp8                                      ? "fp8"
                                                                                : "";
    if (moments.empty())
      return read_.refuse(key, "torch.float32, torch.bfloat16, torch.float16, torch.uint8");
    read_.set("optimizer_moments", std::string(moments), key);
  }

  void read_offloading() {
    const std::string layers = at_.model + "cpu_offloading_num_layers";
    const bool on = read_.flag(at_.model + "cpu_offloading", false);
    if (on)
      read_.copy_count(layers, "cpu_offloading_num_layers");
    else
      read_.find(layers);
  }

  void read_attention() {
    const std::string key = at_.model + "attention_backend";
    const std::string word = base::lower(read_.text(key));
    if (word.empty()) return;
    const bool unfused = word.find("unfused") != word.npos || word.find("local") != word.npos;
    read_.set("attention_backend", unfused ? "unfused" : "fused", key);
  }

  void read_sharding() {
    for (const std::string& section : {at_.ddp, at_.optimizer})
      if (const auto shards = read_.said_flag(section + "use_distributed_optimizer"))
        read_.set("zero", *shards ? "1" : "0", section + "use_distributed_optimizer");
    if (const auto wide = read_.said_flag(at_.ddp + "grad_reduce_in_fp32"))
      read_.set_flag("grad_reduce_in_bf16", !*wide, at_.ddp + "grad_reduce_in_fp32");
    read_.copy_count(at_.ddp + "bucket_size", "ddp_bucket_size");
    const std::string strategy = read_.text(at_.ddp + "data_parallel_sharding_strategy");
    for (const char* key : {"use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2"})
      if (read_.flag(at_.ddp + key, false)) {
        const bool whole = strategy.empty() || strategy == "optim_grads_params";
        read_.set_flag("fsdp", whole, at_.ddp + key);
        read_.set("zero",
                  whole                       ? "3"
                  : strategy == "optim_grads" ? "2"
                  : strategy == "optim"       ? "1"
                                              : "0",
                  at_.ddp + key);
      }
  }

  void read_adapters() {
    const std::string rank = "peft.dim", targets = "peft.target_modules";
    read_.find("peft._target_");
    if (!read_.has(rank)) {
      read_.set("lora", "32", "peft._target_");
      return;
    }
    read_.copy_count(rank, "lora");
    const std::string listed = read_.text(targets);
    if (listed.empty()) return;
    std::string unknown;
    const auto words = spec::lora_targets(listed, unknown);
    if (!words) return read_.refuse(targets, "linear_qkv, linear_proj, linear_fc1, linear_fc2");
    read_.set("lora_targets", *words, targets);
  }

  void read_gpus() {
    const auto devices = read_.count_for("gpus", "trainer.devices", 1);
    const auto nodes = read_.count_for("gpus", "trainer.num_nodes", 1);
    if (devices && !read_.is_open("gpus")) {
      read_.set_count("gpus", *devices * std::min<int64_t>(nodes.value_or(1), 1 << 20),
                      "trainer.devices");
      read_.set_node_gpus(*devices, nodes.value_or(1), "trainer.devices");
    }
    const std::string accelerator = read_.text("trainer.accelerator", "gpu");
    if (accelerator != "gpu" && accelerator != "cuda" && accelerator != "auto")
      read_.refuse("trainer.accelerator", "gpu");
  }

  void read_precision_word(const std::string& key) {
    const std::string word = base::lower(read_.text(key));
    if (word.empty()) return;
    if (word.starts_with("bf16"))
      read_.set("precision", "bf16", key);
    else if (word.starts_with("16") || word.starts_with("fp16"))
      read_.set("precision", "fp16", key);
    else if (word.starts_with("32") || word.starts_with("fp32"))
      read_.set("precision", "fp32", key);
    else
      read_.refuse(key, "bf16-mixed, 16-mixed, 32");
  }

  /// "bf16_with_fp8_current_scaling_mixed"
  void read_recipe_precision(std::string_view key) {
    const std::string word = base::lower(read_.text(key));
    const auto says = [&](std::string_view part) { return word.find(part) != word.npos; };
    if (says("nvfp4")) return read_.set("precision", "nvfp4", key);
    if (says("fp8")) {
      read_.set("precision", "fp8", key);
      return read_.set("fp8_recipe",
                       says("mxfp8")        ? "mxfp8"
                       : says("current")    ? "tensorwise"
                       : says("subchannel") ? "blockwise"
                                            : "delayed",
                       key);
    }
    if (says("fp16")) return read_.set("precision", "fp16", key);
    if (says("bf16")) return read_.set("precision", "bf16", key);
    read_.refuse(key,
                 "bf16_mixed, fp16_mixed, bf16_with_fp8_current_scaling_mixed, "
                 "bf16_with_fp8_delayed_scaling_mixed, bf16_with_mxfp8_mixed, "
                 "bf16_with_nvfp4_mixed");
  }

  void read_mixed(const std::string& section) {
    for (const char* name : {"bf16", "fp16"})
      if (read_.flag(section + name, false)) read_.set("precision", name, section + name);
    const std::string narrow = base::lower(read_.text(section + "fp8"));
    if (!is_off(narrow)) {
      read_.set("precision", "fp8", section + "fp8");
      if (!read_.copy(section + "fp8_recipe", "fp8_recipe"))
        read_.set_default("fp8_recipe", "delayed", "Megatron-Core's default");
    } else {
      read_.find(section + "fp8_recipe");
    }
    if (!is_off(read_.text(section + "fp4"))) read_.set("precision", "nvfp4", section + "fp4");
    for (const char* name : {"fp8_param_gather", "fp8_params", "fp8_param"})
      if (read_.flag(section + name, false) && !is_off(narrow))
        read_.set("fp8_param_gather", "true", section + name);
    if (const auto wide = read_.said_flag(section + "grad_reduce_in_fp32"))
      read_.set_flag("grad_reduce_in_bf16", !*wide, section + "grad_reduce_in_fp32");
  }

  /// NeMo 2 keeps overlap in a callback of its list.
  void read_callbacks() {
    for (const auto& [key, value] : values_) {
      if (!key.starts_with("trainer.callbacks.") && !key.starts_with("callbacks.")) continue;
      const std::string_view last = base::last_part(key, '.');
      for (const Overlap& it : kOverlap)
        if (it.key == last) read_.copy_flag(key, it.setting);
      if (last == "defer_embedding_wgrad_compute" || last == "wgrad_deferral_limit")
        read_.find(key);
    }
  }

  void read_strategy() {
    const std::string target = read_.text("trainer.strategy._target_");
    if (!target.empty() && target.find("Megatron") == target.npos)
      read_.refuse("trainer.strategy._target_", "MegatronStrategy");
    const std::string fsdp = base::lower(read_.text("trainer.strategy.fsdp"));
    if (!is_off(fsdp)) {
      read_.set("fsdp", "true", "trainer.strategy.fsdp");
      read_.set("zero", "3", "trainer.strategy.fsdp");
    }
  }

  const spec::FlatYaml& values_;
  FlatReader read_;
  Places at_;
};

/// `trainer` says both numbers wherever the file says how many GPUs there are.
void add_node_gpus(const spec::FlatYaml& values, const std::string& file, Reading& reading) {
  FlatReader read(values, file, "nemo-1");
  const auto each = read.integer("trainer.devices", 0),
             nodes = read.integer("trainer.num_nodes", 0);
  if (!each || !nodes || *each < 1) return;
  read.set_node_gpus(*each, *nodes, "trainer.devices");
  reading.node_gpus = read.reading().node_gpus;
  reading.node_gpus_from = read.reading().node_gpus_from;
}

/// Takes counts of GPUs that are not known from the values, and says so.
void take_open_gpus(spec::FlatYaml& values, const std::string& file, Reading& reading) {
  for (const char* key : {"trainer.devices", "trainer.num_nodes"}) {
    const auto it = values.find(key);
    if (it == values.end() || !is_placeholder(it->second.text)) continue;
    leave_open(reading, "gpus", {fmt::format("{}:{}", file, it->second.line), key},
               it->second.text);
    values.erase(it);
  }
}

/// What FSDP and FP8 are told says nothing where they are off.
void switch_off_unused(const spec::FlatYaml& values, spec::FlatYaml& rest) {
  for (const std::string_view part : {"model.fsdp", "model.fp8"}) {
    const auto on = values.find(part);
    if (on != values.end() && !is_off(on->second.text)) continue;
    for (auto& [key, value] : rest)
      if (key.starts_with(std::string(part) + "_")) value.text = "false";
  }
}

Result<Reading> read_nemo_1(spec::FlatYaml values, const std::string& file) {
  Reading reading;
  take_open_gpus(values, file, reading);
  std::vector<std::string> ignored;
  std::string model_open;
  ERGOMETER_ASSIGN(reading.settings,
                   spec::settings_from_nemo(values, file, ignored, reading.notes, &model_open));
  spec::set_framework(reading.settings, "nemo-1", file);
  spec::FlatYaml rest;
  for (const std::string& key : ignored)
    if (const auto it = values.find(key); it != values.end()) rest.insert(*it);
  switch_off_unused(values, rest);
  FlatReader read(rest, file, "nemo-1");
  // What may have been meant by a misspelt key.
  const auto may_be_meant = [&](const std::string& key) {
    if (!rest.contains(key)) read.find(key);
  };
  for (const spec::SettingInfo& info : spec::setting_table()) {
    may_be_meant(fmt::format("model.{}", info.name));
    for (const std::string& name : info.names(info.nemo))
      may_be_meant(fmt::format("model.{}", name));
  }
  for (const char* key :
       {"trainer.devices", "trainer.num_nodes", "trainer.precision", "model.encoder_seq_length",
        "model.optim.overlap_grad_sync", "model.optim.overlap_param_sync",
        "model.optim.grad_sync_dtype", "model.optim.bucket_cap_mb", "model.use_flash_attention",
        "model.ub_tp_comm_overlap", "model.overlap_p2p_comm", "model.fsdp",
        "model.fsdp_sharding_strategy"})
    may_be_meant(key);
  constexpr std::string_view kLongest = "model.data.train_ds.max_seq_length";
  const auto* length = reading.settings.find("seq_length");
  if (!tell_packing(read) && length != nullptr && length->origin.key == kLongest)
    read.note(unpacked_note(length->text));
  ERGOMETER_ASSIGN(Reading left, read.finish("a NeMo 1 configuration"));
  left.settings = std::move(reading.settings);
  left.open.merge(reading.open);
  if (!model_open.empty()) left.open["model"] = model_open;
  add_node_gpus(values, file, left);
  left.notes.insert(left.notes.end(), reading.notes.begin(), reading.notes.end());
  return left;
}

}  // namespace

std::string defaults_note(const std::set<std::string>& taken) {
  return fmt::format("not set, taken as the file says: {} (--env NAME=VALUE sets one)",
                     fmt::join(taken, ", "));
}

Result<Reading> parse_nemo_1(const std::string& text, const std::string& file,
                             const ScriptContext& context, const spec::FlatYaml& overrides) {
  std::set<std::string> taken;
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {context.environment, overrides, &taken}));
  ERGOMETER_ASSIGN(Reading reading, read_nemo_1(values, file));
  if (!taken.empty()) reading.notes.push_back(defaults_note(taken));
  return reading;
}

Result<Reading> parse_nemo_2(const std::string& text, const std::string& file,
                             const ScriptContext& context) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {context.environment, {}, nullptr}));
  return read_nemo_2(values, file);
}

Result<Reading> read_nemo_2(const spec::FlatYaml& values, const std::string& file) {
  return RecipeFileReader(values, file, "nemo-2",
                          {"trainer.strategy.", "model.config.", "trainer.strategy.ddp.",
                           "optim.config.", "data.tokenizer."})
      .nemo_2();
}

Result<Reading> parse_megatron_bridge(const std::string& text, const std::string& file,
                                      const ScriptContext& context) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {context.environment, {}, nullptr}));
  return read_megatron_bridge(values, file);
}

Result<Reading> read_megatron_bridge(const spec::FlatYaml& values, const std::string& file) {
  return RecipeFileReader(values, file, "megatron-bridge",
                          {"model.", "model.", "ddp.", "optimizer.", "tokenizer."})
      .bridge();
}

}  // namespace ergometer::intake
