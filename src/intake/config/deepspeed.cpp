#include "intake/config/deepspeed.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "intake/config/published_files.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

class DeepSpeedReader {
 public:
  DeepSpeedReader(const spec::FlatYaml& values, const std::string& file)
      : values_(values), read_(values, file, "deepspeed") {}

  Result<Reading> read() {
    check_sections();
    read_batches();
    read_zero();
    read_offloading();
    read_unusual();
    read_precision();
    read_parallelism();
    read_optimizer();
    read_.set_framework("deepspeed");
    return read_.finish("a DeepSpeed configuration");
  }

 private:
  bool is_written(std::string_view key) const { return values_.find(key) != values_.end(); }

  /// DeepSpeed stops at a word where it looks for an object, unless the word is that there is none.
  void check_sections() {
    struct Section {
      std::string_view key, allowed;
    };
    constexpr std::string_view kSwitch = R"(an object: {"enabled": true})";
    constexpr std::array kSections = std::to_array<Section>(
        {{"bf16", kSwitch},
         {"bfloat16", kSwitch},
         {"fp16", kSwitch},
         {"amp", kSwitch},
         {"torch_autocast", R"(an object: {"enabled": true, "dtype": "bfloat16"})"},
         {kZero, R"(an object: {"stage": 3})"},
         {"zero_optimization.offload_optimizer", R"(an object: {"device": "cpu"})"},
         {"zero_optimization.offload_param", R"(an object: {"device": "cpu"})"},
         {"optimizer", R"(an object: {"type": "AdamW", "params": {"lr": 1e-5}})"},
         {"tensor_parallel", R"(an object: {"autotp_size": 2})"},
         {"pipeline", R"(an object: {"stages": 4})"}});
    for (const auto& [key, allowed] : kSections) {
      // "auto" is of single values.
      const bool is_auto = is_written(key) && values_.find(key)->second.text == "auto";
      const bool says = !is_off(read_.text(key)) || is_auto;
      if (says && !(key == kZero && read_.says(kZero, "true"))) read_.refuse(key, allowed);
    }
  }

  /// Of three numbers DeepSpeed makes the missing ones; the data ranks are known later.
  void read_batches() {
    constexpr std::string_view kWhole = "train_batch_size",
                               kMicro = "train_micro_batch_size_per_gpu",
                               kSteps = "gradient_accumulation_steps";
    const auto whole = read_.count_for("global_batch_size", kWhole, 1),
               micro = read_.count_for("micro_batch_size", kMicro, 1),
               steps = read_.count_for(kSteps, kSteps, 1);
    if (whole) read_.set_count("global_batch_size", *whole, kWhole);
    if (micro) read_.set_count("micro_batch_size", *micro, kMicro);
    if (steps) read_.set_count(kSteps, *steps, kSteps);
    if (steps || is_written(kSteps)) return;
    // Alone, the batch is one micro batch of every rank.
    if (whole && !is_written(kMicro))
      read_.reading().settings.set(kSteps, "1", {read_.file() + ", DeepSpeed's default", ""});
    else if (micro && !is_written(kWhole))
      read_.set_default(kSteps, "1", "DeepSpeed's default");
  }

  void read_zero() {
    auto stage = read_.integer("zero_optimization.stage", 0);
    // How it was written once.
    if (read_.says(kZero, "true")) stage = 1;
    if (stage && *stage > 3) return read_.refuse("zero_optimization.stage", "0, 1, 2 or 3");
    if (stage)
      read_.set_count("zero", *stage, is_written(kZero) ? kZero : "zero_optimization.stage");
    set_deepspeed_defaults(stage.value_or(0), read_.file(), read_.reading());
    if (stage.value_or(0) == 0) read_bf16_optimizer();
    constexpr std::string_view kOverlap = "zero_optimization.overlap_comm";
    if (const auto overlap = read_.said_flag(kOverlap)) {
      const bool late = stage.value_or(0) == 0;
      read_.set_flag("overlap_grad_reduce", *overlap && !late, kOverlap);
      const bool gathers = *overlap && stage.value_or(0) == 3;
      read_.set_flag("overlap_param_gather", gathers, kOverlap);
    }
    read_.copy_count("zero_optimization.reduce_bucket_size", "ddp_bucket_size");
  }

  /// Without ZeRO, BF16_Optimizer keeps the states of bf16 weights: sharded, as stage 1 does.
  void read_bf16_optimizer() {
    const std::string type = base::lower(read_.text("data_types.grad_accum_dtype"));
    for (const char* key : {"bf16.enabled", "bfloat16.enabled"}) {
      if (!read_.flag(key, false) || type == "bf16" || type == "bfloat16") continue;
      read_.set("zero", "1", key);
      read_.note("bf16 without ZeRO is DeepSpeed's BF16_Optimizer, which shards states as stage 1");
      return;
    }
  }

  /// Switches that matter where they are not what files usually say.
  void read_unusual() {
    constexpr const char* kElastic = "elasticity.enabled";
    note_whole_gradients(read_);
    if (read_.says(kElastic, "true"))
      read_.not_modelled(kElastic,
                         "time: the batch follows from the GPUs there are; --mbs and --gbs say it");
  }

  void read_offloading() {
    constexpr std::string_view kStates = "zero_optimization.offload_optimizer.device",
                               kParameters = "zero_optimization.offload_param.device";
    const std::string states = base::lower(read_.text(kStates)),
                      parameters = base::lower(read_.text(kParameters));
    if (!states.empty() && states != "none" && states != "cpu" && states != "nvme")
      return read_.refuse(kStates, "cpu, nvme or none");
    const bool old = read_.flag("zero_optimization.cpu_offload", false);
    if (states == "cpu" || states == "nvme" || old)
      read_.set("optimizer_cpu_offload", "true", old ? "zero_optimization.cpu_offload" : kStates);
    if (states == "nvme") read_.not_modelled(kStates, kStatesOnDrive);
    const bool waits = read_.flag("zero_optimization.cpu_offload_params", false);
    if (!is_off(parameters) || waits) read_.not_modelled(kParameters, kParametersOnHost);
  }

  void read_precision() {
    bool open = false;
    for (const char* section : {"bf16", "bfloat16", "fp16"}) {
      const std::string key = std::string(section) + ".enabled";
      const auto it = values_.find(key);
      open = open || (it != values_.end() && it->second.text == "auto");
      const bool on = read_.flag(key, false);
      if (on) read_.set("precision", section == std::string("fp16") ? "fp16" : "bf16", key);
    }
    if (read_.flag("amp.enabled", false)) read_.set("precision", "fp16", "amp.enabled");
    read_autocast();
    read_narrow_states();
    if (!open && read_.reading().settings.find("precision") == nullptr)
      read_.set_default("precision", "fp32", "without bf16 or fp16");
    read_gradient_types();
  }

  /// No copy in FP32 of what is trained, gradients and the optimizer's states alike.
  void read_narrow_states() {
    constexpr std::string_view kStates = "bf16.bf16_optimizer_states";
    for (const char* key :
         {"bf16.bf16_master_weights_and_grads", "fp16.fp16_master_weights_and_grads"})
      if (read_.flag(key, false)) {
        read_.set("master_weights", "false", key);
        read_.set("grad_reduce_in_bf16", "true", key);
      }
    if (read_.flag(kStates, false)) read_.set("optimizer_moments", "bf16", kStates);
  }

  /// What gradients are reduced in and summed up in, which a prediction takes to be the same.
  void read_gradient_types() {
    constexpr const char *kReduced = "communication_data_type",
                         *kKept = "data_types.grad_accum_dtype";
    const auto is_wide = [&](const char* key) {
      const std::string type = base::lower(read_.text(key));
      return type == "fp32" || type == "float32";
    };
    for (const char* key : {kReduced, kKept})
      if (!read_.text(key).empty()) read_.set_flag("grad_reduce_in_bf16", !is_wide(key), key);
    if (read_.has(kReduced) && read_.has(kKept) && is_wide(kReduced) != is_wide(kKept))
      read_.not_modelled(kReduced, fmt::format("time: gradients cross the links in another format "
                                               "than they are summed up in; predicted in {}",
                                               is_wide(kKept) ? "FP32" : "16 bit"));
  }

  /// PyTorch's own mixed precision: products in 16 bit of weights in 32.
  void read_autocast() {
    constexpr std::string_view kOn = "torch_autocast.enabled", kType = "torch_autocast.dtype";
    const std::string type = base::lower(read_.text(kType, "bfloat16"));
    if (!read_.flag(kOn, false)) return;
    if (!type.ends_with("float16")) return read_.refuse(kType, "bfloat16, float16");
    read_.set("precision", type.ends_with("bfloat16") ? "bf16" : "fp16", kType);
    read_.not_modelled(kOn,
                       "memory and time: weights stay in FP32 and are cast for every product; "
                       "predicted in 16 bit with a copy in FP32");
  }

  void read_parallelism() {
    read_.copy_count("tensor_parallel.autotp_size", "tensor_model_parallel_size");
    read_.copy_count("tensor_parallel.tp.tp_size", "tensor_model_parallel_size");
    read_.copy_count("tensor_parallel.tp_size", "tensor_model_parallel_size");
    read_.copy_count("pipeline.stages", "pipeline_model_parallel_size");
    const auto interval = read_.integer("pipeline.activation_checkpoint_interval", 0);
    if (interval && *interval > 0) {
      read_.set("recompute_granularity", "full", "pipeline.activation_checkpoint_interval");
      read_.set("recompute_method", "uniform", "pipeline.activation_checkpoint_interval");
      read_.set_count("recompute_num_layers", *interval, "pipeline.activation_checkpoint_interval");
    }
    if (read_.copy_count("sequence_parallel_size", "context_parallel_size")) {
      read_.set("cp_comm_type", "a2a", "sequence_parallel_size");
      read_.note(
          "sequence_parallel_size is DeepSpeed's Ulysses: context parallelism by all-to-all");
    }
    if (read_.has_section("activation_checkpointing"))
      read_.note(
          "activation_checkpointing says how layers are computed again, not whether: that is the "
          "training script's (gradient_checkpointing), or --recompute full");
  }

  void read_optimizer() {
    constexpr std::string_view kType = "optimizer.type";
    const std::string type = base::lower(read_.text(kType));
    if (type.empty() || type == "adam" || type == "adamw" || type == "fusedadam" ||
        type == "deepspeedcpuadam")
      return;
    const bool quiet = type.starts_with("onebit") || type.starts_with("zeroone");
    read_.not_modelled(
        kType, quiet ? "time: gradients are compressed; predicted as Adam's" : kOtherOptimizer);
  }

  static constexpr std::string_view kZero = "zero_optimization";
  const spec::FlatYaml& values_;
  FlatReader read_;
};

}  // namespace

void note_whole_gradients(FlatReader& read) {
  constexpr const char* kScatters = "zero_optimization.reduce_scatter";
  if (read.says(kScatters, "false"))
    read.not_modelled(kScatters,
                      "time: every rank gets all reduced gradients; predicted as a share each");
}

void set_deepspeed_defaults(int64_t stage, const std::string& file, Reading& reading) {
  const spec::Origin origin{file + ", DeepSpeed's default", ""};
  spec::Settings& defaults = reading.defaults;
  if (stage == 0) defaults.set("zero", "0", origin);
  defaults.set("master_weights", "true", origin);
  // Stage 3 fetches ahead unless told otherwise, the others reduce behind the backward pass.
  defaults.set("overlap_grad_reduce", stage == 3 ? "true" : "false", origin);
  defaults.set("overlap_param_gather", stage == 3 ? "true" : "false", origin);
  if (stage > 0) defaults.set("grad_reduce_in_bf16", "true", origin);
}

Result<void> check_batches_agree(const spec::Settings& trainer, const spec::Settings& deepspeed) {
  for (const char* name : {"micro_batch_size", "gradient_accumulation_steps"}) {
    const auto *said = trainer.find(name), *other = deepspeed.find(name);
    if (said == nullptr || other == nullptr || said->text == other->text) continue;
    if (other->origin.key.empty()) continue;
    return input_error(
        "{}: {}: found {}, but the Trainer's {} is {} ({}), and it stops where they differ; "
        "allowed: the same, or \"auto\"",
        other->origin.text, other->origin.key, other->text, said->origin.key, said->text,
        said->origin.text);
  }
  return {};
}

std::string file_beside(const std::string& path, const std::string& from) {
  const std::filesystem::path folder = std::filesystem::path(from).parent_path();
  std::error_code ignored;
  for (const std::filesystem::path& candidate : {folder / path, std::filesystem::path(path)})
    if (std::filesystem::is_regular_file(candidate, ignored)) return candidate.string();
  // Of a folder that a container or another machine has: the most of its path that is here.
  for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
    if (const auto candidate = folder / path.substr(at + 1);
        std::filesystem::is_regular_file(candidate, ignored))
      return candidate.string();
  return "";
}

void add_reading(Reading& to, Reading other) {
  to.settings.merge(other.settings);
  to.defaults.merge(other.defaults);
  to.fallbacks.merge(other.fallbacks);
  to.leftovers.insert(to.leftovers.end(), other.leftovers.begin(), other.leftovers.end());
  to.open.merge(other.open);
  to.unsaid.merge(other.unsaid);
  to.notes.insert(to.notes.end(), other.notes.begin(), other.notes.end());
}

Result<Reading> read_deepspeed_beside(const std::string& path, const std::string& from,
                                      const std::string& where) {
  const std::string file = file_beside(path, from);
  if (const auto* published = published_file(path); published != nullptr && file.empty()) {
    ERGOMETER_ASSIGN(Reading reading, parse_deepspeed(std::string(published->text), path));
    reading.notes.push_back(taken_as_published(path, *published));
    return reading;
  }
  if (file.empty())
    return input_error(
        "{}: names the DeepSpeed configuration \"{}\", which is neither beside {} nor "
        "here; without it the job would be another one",
        where, path, from);
  ERGOMETER_ASSIGN(const std::string text, base::read_file(file, spec::kLargestWritten));
  return parse_deepspeed(text, file);
}

Result<Reading> read_deepspeed(const spec::FlatYaml& values, const std::string& file) {
  return DeepSpeedReader(values, file).read();
}

Result<Reading> parse_deepspeed(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values, flatten_json(text, file));
  return read_deepspeed(values, file);
}

}  // namespace ergometer::intake
