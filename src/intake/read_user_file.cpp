#include "intake/read_user_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "intake/config/accelerate.h"
#include "intake/config/adapters.h"
#include "intake/config/axolotl.h"
#include "intake/config/deepspeed.h"
#include "intake/config/fine_tuning.h"
#include "intake/config/foundry.h"
#include "intake/config/lightning.h"
#include "intake/config/nanotron.h"
#include "intake/config/nemo_files.h"
#include "intake/config/neox.h"
#include "intake/config/recipe_python.h"
#include "intake/config/torchtitan.h"
#include "intake/config/torchtune.h"
#include "intake/config/trainer_arguments.h"
#include "intake/kubernetes.h"
#include "intake/launch_script.h"
#include "intake/megatron_yaml.h"
#include "intake/reader/flat_reader.h"
#include "intake/research/internevo.h"
#include "intake/research/maxtext.h"
#include "intake/research/nanogpt.h"
#include "intake/research/olmo.h"
#include "intake/research/olmo_core.h"
#include "intake/research/xtuner.h"
#include "intake/run_files.h"
#include "intake/sagemaker.h"
#include "intake/trainer/own_wrapping.h"
#include "intake/trainer/trainer_program.h"
#include "spec/catalog/read.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

constexpr std::string_view kReadable =
    "a job file, a model's config.json, DeepSpeed's JSON, arguments of the Hugging Face Trainer "
    "(JSON, YAML, Python), LLaMA-Factory's and Axolotl's YAML, accelerate's YAML, PEFT's "
    "adapter_config.json, torchtitan's TOML, YAML of NeMo, Megatron-Bridge, Primus and "
    "Megatron-LM, nanotron, GPT-NeoX, torchtune, LLM Foundry, LitGPT, NeMo AutoModel, OLMo "
    "and MaxText, programs and configurations of nanoGPT, OLMo-core and XTuner, SageMaker's "
    "training jobs, "
    "PyTorch Lightning's YAML and programs, "
    "Kubernetes manifests, tasks of "
    "SkyPilot and dstack, runs of mcli, command jobs of Azure ML, experiments of Determined, "
    "services of Docker Compose, configurations of InternEvo, FlagScale's YAML, "
    "launch scripts and lists of Megatron-LM's arguments";

/// Whether settings of a job file may stand under this key.
bool is_heading(std::string_view key) {
  return std::ranges::any_of(spec::setting_table(),
                             [&](const spec::SettingInfo& info) { return info.group == key; });
}

/// What is asked of a file's keys.
class Keys {
 public:
  explicit Keys(const spec::FlatYaml& values) : values_(values) {}
  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  bool under(std::string_view section) const {
    const std::string prefix = std::string(section) + '.';
    const auto it = values_.lower_bound(prefix);
    return it != values_.end() && it->first.starts_with(prefix);
  }
  bool any(std::initializer_list<std::string_view> keys) const {
    return std::ranges::any_of(keys, [&](std::string_view key) { return has(key) || under(key); });
  }
  /// Whether a key at the top is a setting or a heading of a job file.
  bool names_setting() const {
    return std::ranges::any_of(values_, [](const auto& item) {
      const std::string top = item.first.substr(0, item.first.find('.'));
      return spec::find_setting(top) != nullptr || is_heading(top);
    });
  }

 private:
  const spec::FlatYaml& values_;
};

bool is_trainer(const Keys& keys) {
  return keys.any({"per_device_train_batch_size", "gradient_checkpointing", "finetuning_type",
                   "cutoff_len", "per_gpu_train_batch_size"}) ||
         (keys.has("model_name_or_path") && !keys.has("model"));
}

/// LightningCLI's YAML names classes; NeMo's, whose Trainer is Lightning's as well, has words of
/// its own.
bool is_lightning(const Keys& keys) {
  return keys.under("trainer") && !keys.any({"exp_manager", "model.micro_batch_size"}) &&
         keys.any({"seed_everything", "model.class_path", "data.class_path", "ckpt_path"});
}

/// GPT-NeoX writes Megatron-LM's arguments and DeepSpeed's keys into one file: read as either, it
/// would be another job.
bool is_neox(const Keys& keys) {
  return keys.any({"pipe_parallel_size", "pipe-parallel-size", "model-parallel-size",
                   "attention-config", "num-layers", "hidden-size"});
}

bool is_run_file(const Keys& keys) {
  return (keys.has("run") && keys.any({"resources", "num_nodes"})) ||
         (keys.has("command") && keys.any({"compute", "parameters", "gpu_num"})) ||
         (keys.has("commands") && keys.any({"resources.gpu", "nodes"})) ||
         (keys.has("entrypoint") && keys.has("resources.slots_per_trial")) ||
         keys.under("services");
}

/// Frameworks whose files are told by a few words of their own.
FileForm form_by_words(const Keys& keys) {
  if (keys.has("apiVersion") && keys.has("kind")) return FileForm::kKubernetes;
  if (is_run_file(keys)) return FileForm::kRunFile;
  if (is_neox(keys)) return FileForm::kNeox;
  if (is_lightning(keys)) return FileForm::kLightning;
  if (keys.under("step_scheduler")) return FileForm::kAutoModel;
  if (keys.under("train") &&
      keys.any({"out_dir", "initial_checkpoint_dir", "tokenizer_dir", "checkpoint_dir"}))
    return FileForm::kLitGpt;
  if (keys.any({"model._component_", "tokenizer._component_"})) return FileForm::kTorchtune;
  if (keys.any({"train_loader", "model.expansion_ratio", "global_train_batch_size"}) &&
      keys.has("model.name"))
    return FileForm::kFoundry;
  if (keys.any({"model.model_config", "tokens.micro_batch_size"}) && keys.under("parallelism"))
    return FileForm::kNanotron;
  if (keys.has("device_train_microbatch_size") && keys.under("model")) return FileForm::kOlmo;
  if (keys.any({"per_device_batch_size", "base_config"}) &&
      keys.any({"base_emb_dim", "ici_fsdp_parallelism", "max_target_length", "remat_policy"}))
    return FileForm::kMaxText;
  return FileForm::kNone;
}

/// What a file is that is known and not read, and what to do instead; empty: none such.
std::string_view foreign_file(const Keys& keys) {
  if (keys.has("trainer.train_batch_size") && keys.any({"model.hidden_dim", "model.type"}))
    return "a configuration of Levanter, which is not read; give its model and sizes as options";
  if (keys.has("policy.train_global_batch_size"))
    return "a configuration of NeMo-RL, which is not read; give its model and sizes as options "
           "(--gbs: policy.train_global_batch_size, --mbs: policy.train_micro_batch_size)";
  if (keys.any({"dump_dir", "distributed.fsdp_type"}) && keys.any({"model.dim", "model.n_layers"}))
    return "a configuration of Lingua, which is not read; give its model and sizes as options";
  if (keys.under("experiment") && keys.any({"experiment.task", "experiment.runner"}))
    return "an experiment of FlagScale, which names the file of its training; give that one (train/"
           "NAME.yaml), and --gpus";
  if (keys.any({"input_features", "output_features"}) && keys.has("model_type"))
    return "a configuration of Ludwig, which is not read; give its model and sizes as options "
           "(--mbs: trainer.batch_size, --ga: trainer.gradient_accumulation_steps, --lora, "
           "--quantize)";
  if (keys.has("llm_backbone") && keys.any({"training.batch_size", "training.grad_accumulation"}))
    return "a configuration of H2O LLM Studio, which is not read; give its model and sizes as "
           "options (--mbs: training.batch_size, --ga: training.grad_accumulation, --lora)";
  if (keys.has("task") && keys.has("base_model") && keys.any({"params.batch_size", "params.lr"}))
    return "a configuration of AutoTrain, which is not read; give its model and sizes as options "
           "(--mbs: params.batch_size, --ga: params.gradient_accumulation, --seq: "
           "params.block_size, --lora, --quantize)";
  if (keys.under("actor_rollout_ref"))
    return "a configuration of verl, whose reinforcement learning is not modelled";
  return "";
}

FileForm form_of_json(const Keys& keys) {
  if (const FileForm form = form_by_words(keys); form != FileForm::kNone) return form;
  if (!foreign_file(keys).empty()) return FileForm::kForeign;
  if (keys.any({"peft_type", "lora_alpha"})) return FileForm::kPeft;
  if (keys.any({"model_type", "architectures", "num_hidden_layers", "hidden_size", "n_embd"}))
    return FileForm::kModelConfig;
  if (keys.any({"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}))
    return FileForm::kDeepSpeed;
  if (is_trainer(keys)) return FileForm::kTrainer;
  if (keys.any({"bf16.enabled", "fp16.enabled", "optimizer.type", "activation_checkpointing"}))
    return FileForm::kDeepSpeed;
  if (keys.any({"output_dir", "learning_rate"})) return FileForm::kTrainer;
  return keys.names_setting() ? FileForm::kJobFile : FileForm::kNone;
}

FileForm form_of_yaml(const Keys& keys) {
  if (const FileForm form = form_by_words(keys); form != FileForm::kNone) return form;
  if (!foreign_file(keys).empty()) return FileForm::kForeign;
  if (keys.under("MODEL_ARGS")) return FileForm::kMegatronArguments;
  if (keys.any({"distributed_type", "compute_environment"})) return FileForm::kAccelerate;
  if (keys.under("modules")) return FileForm::kPrimus;
  if (keys.any({"trainer.strategy", "model.config", "data.micro_batch_size", "recipe.trainer"}))
    return FileForm::kNemo2;
  if (keys.under("trainer") && keys.under("model")) return FileForm::kNemo1;
  if (keys.any({"train.micro_batch_size", "train.global_batch_size", "train.train_iters"}) ||
      (keys.under("model") && keys.any({"ddp", "mixed_precision", "comm_overlap"})))
    return FileForm::kMegatronBridge;
  // FlagScale's file of a training: system, model, data.
  if (keys.under("system") && keys.any({"model.num_layers", "model.hidden_size"}))
    return FileForm::kMegatronYaml;
  if (keys.any({"language_model", "model_parallel"})) return FileForm::kMegatronYaml;
  // Others have an `adapter` with parts.
  if (keys.has("base_model") &&
      (keys.has("adapter") ||
       keys.any({"sequence_len", "micro_batch_size", "datasets", "flash_attention"})))
    return FileForm::kAxolotl;
  if (is_trainer(keys)) return FileForm::kTrainer;
  if (keys.any({"zero_optimization", "train_micro_batch_size_per_gpu"}))
    return FileForm::kDeepSpeed;
  if (keys.under("model") && keys.any({"exp_manager", "model.encoder_seq_length"}))
    return FileForm::kNemo1;
  return keys.names_setting() ? FileForm::kJobFile : FileForm::kNone;
}

std::vector<std::string_view> trimmed_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

/// By its first line that says something: a script may write a manifest as well.
bool is_manifest(std::string_view text) {
  for (const std::string_view line : trimmed_lines(text))
    if (!line.empty() && !line.starts_with('#') && line != "---")
      return line.starts_with("apiVersion:") ||
             (line.starts_with("kind:") && base::contains(text, "apiVersion:"));
  return false;
}

bool is_torchtitan(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSections = {
      "[model]",        "[training]", "[parallelism]", "[activation_checkpoint]",
      "[experimental]", "[job]"};
  int sections = 0;
  for (const std::string_view line : trimmed_lines(text))
    sections += base::contains(kSections, line) ? 1 : 0;
  return sections > 0;
}

/// A program that tells the Trainer what it does by calls, or by what its parser makes of words.
bool tells_trainer(std::string_view text, bool is_program) {
  if (is_program &&
      (base::contains(text, "HfArgumentParser(") || base::contains(text, "TrlParser(")))
    return true;
  for (const char* call : {"TrainingArguments(", "SFTConfig(", "DPOConfig(", "ORPOConfig(",
                           "RewardConfig(", "KTOConfig("})
    if (base::contains(text, call)) return true;
  return false;
}
/// Adapters, or a loop of its own on accelerate, FSDP or DDP.
bool trains_itself(const std::string& text) {
  return base::contains(text, "LoraConfig(") || base::contains(text, "Accelerator(") ||
         wraps_model(text);
}
FileForm form_of_python(const std::string& text) {
  return calls_sagemaker(text)       ? FileForm::kSageMaker
         : is_nanogpt_program(text)  ? FileForm::kNanoGpt
         : is_xtuner_config(text)    ? FileForm::kXtuner
         : is_internevo_config(text) ? FileForm::kInternEvo
         : calls_olmo_core(text)     ? FileForm::kOlmoCore
         : tells_trainer(text, true) ? FileForm::kTrainerPython
         : calls_recipe(text)        ? FileForm::kRecipePython
         : calls_lightning(text)     ? FileForm::kLightningPython
         : trains_itself(text)       ? FileForm::kTrainerPython
         : is_nanogpt_config(text)   ? FileForm::kNanoGptConfig
                                     : FileForm::kNone;
}

/// Words that begin like an option: a launch script, or arguments alone.
bool has_arguments(std::string_view text) {
  for (size_t at = text.find("--"); at != text.npos; at = text.find("--", at + 2)) {
    const bool first = at == 0 || std::string_view(" \t\n\r\"'(").find(text[at - 1]) != text.npos;
    const bool letter = at + 2 < text.size() && ((text[at + 2] >= 'a' && text[at + 2] <= 'z') ||
                                                 (text[at + 2] >= 'A' && text[at + 2] <= 'Z'));
    if (first && letter) return true;
  }
  return false;
}

/// "#!/bin/bash", "#!/usr/bin/env -S zsh"
bool is_shell_script(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with("#!") &&
         (line.find("sh ") != line.npos || line.ends_with("sh") || line.ends_with("sh\r"));
}

bool is_makefile(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name == "Makefile" || name == "makefile" || name == "GNUmakefile" || name.ends_with(".mk");
}

Result<Reading> read_config(const std::string& text, const std::string& file) {
  // Now, for the model may be named by something else as well.
  ERGOMETER_TRY(spec::parse_model(text, file));
  Reading reading;
  reading.settings.set("model", file, {"the command line", "MODEL"});
  reading.form = "a model's config.json";
  return reading;
}

constexpr std::string_view kAsOptions =
    "what it says of the job can be given as options: --model, --cluster, --gpus, --tp, --pp, "
    "--mbs, --gbs, --seq, ...";

/// Whether a file that names a setting is another program's all the same: most of its keys are no
/// settings, nor misspelt ones. Says which these are.
std::string keys_of_another_program(const spec::FlatYaml& values) {
  std::vector<std::string_view> others;
  size_t own = 0;
  for (const auto& [path, value] : values) {
    std::string_view key = path;
    const size_t dot = key.find('.');
    const std::string_view top = key.substr(0, dot);
    // Mappings of a model and a cluster have keys of their own.
    if (dot != key.npos && (top == "model" || top == "cluster")) continue;
    if (dot != key.npos && is_heading(top)) key.remove_prefix(dot + 1);
    if (spec::find_setting(key) != nullptr || spec::nearest_setting(key))
      ++own;
    else
      others.push_back(path);
  }
  if (others.size() < 2 || others.size() <= own) return "";
  constexpr size_t kMostNamed = 3;
  const std::vector<std::string_view> named(
      others.begin(),
      others.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, others.size())));
  return fmt::format("{} of its {} keys are no settings of a job ({}{})", others.size(),
                     values.size(), fmt::join(named, ", "),
                     others.size() > kMostNamed ? ", ..." : "");
}

Result<Reading> read_own(const std::string& text, const std::string& file) {
  Reading reading;
  auto settings = spec::parse_job_file(text, file);
  if (!settings) {
    const auto values =
        text.starts_with('{') ? flatten_json(text, file) : spec::flatten_yaml(text, file);
    const std::string others = values ? keys_of_another_program(*values) : "";
    if (others.empty()) return tl::unexpected(settings.error());
    return input_error("{}: what program this file is of is not known here: {}; it could be {}; {}",
                       file, others, kReadable, kAsOptions);
  }
  reading.settings = *std::move(settings);
  reading.form = "a job file";
  return reading;
}

}  // namespace

FileForm form_of(const std::string& text, const std::string& file) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text.find('\0') != text.npos) return FileForm::kNone;
  if (text[first] == '{') {
    const auto values = flatten_json(text, file);
    return values ? form_of_json(Keys(*values)) : FileForm::kModelConfig;
  }
  if (file.ends_with(".py")) return form_of_python(text);
  // Whatever files it writes.
  if (is_shell_script(text)) return FileForm::kMegatronArguments;
  if (is_makefile(file)) return FileForm::kForeign;
  // Files of others may lie in a manifest.
  if (is_manifest(text)) return FileForm::kKubernetes;
  if (is_torchtitan(text)) return FileForm::kTorchtitan;
  const bool calls = tells_trainer(text, false) || base::contains(text, "LoraConfig(");
  if (calls && !file.ends_with(".sh")) return FileForm::kTrainerPython;
  if (const auto values = spec::flatten_yaml(text, file)) {
    const FileForm form = form_of_yaml(Keys(*values));
    if (form != FileForm::kNone) return form;
  }
  const bool data = file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".toml");
  if (text.starts_with("#!") || file.ends_with(".sh")) return FileForm::kMegatronArguments;
  if (!data && has_arguments(text)) return FileForm::kMegatronArguments;
  return FileForm::kNone;
}

namespace {

std::string what_foreign(const std::string& text, const std::string& file) {
  // As `form_of` reads it: of JSON's comments a YAML file has none, and its addresses have slashes.
  const auto values = text[text.find_first_not_of(" \t\r\n")] == '{'
                          ? flatten_json(text, file)
                          : spec::flatten_yaml(text, file);
  if (is_makefile(file))
    return "a Makefile, which is not read; `make -n TARGET` prints the command, which as a script "
           "can be read";
  return values ? std::string(foreign_file(Keys(*values))) : "";
}

/// What a program in Python writes that can be read.
std::string what_python_writes(const std::string& text) {
  struct Writes {
    std::string_view imports, says;
  };
  constexpr std::string_view kOfNemo =
      "a recipe of NeMo 2 can be read as the YAML that nemo_run writes (--to-yaml FILE)";
  constexpr std::string_view kSaid =
      "give what it says as options: --model, --gpus, --mbs, --ga, --seq, --zero or --fsdp";
  constexpr std::array kWrites = std::to_array<Writes>(
      {{"from composer", kSaid},
       {"nemo_run", kOfNemo},
       {"nemo.collections", kOfNemo},
       {"megatron.bridge",
        "a recipe of Megatron-Bridge can be read as the YAML that it writes "
        "(config.to_yaml(\"FILE\"), or run_config.yaml of a checkpoint)"},
       {"xtuner", kSaid},
       {"levanter", kSaid},
       {"olmo_core", kSaid},
       {"deepspeed.initialize", "give its configuration as DeepSpeed's JSON, and --model"},
       {"torch.distributed", kSaid},
       {"lightning", kSaid}});
  // Objects of NeMo's interface, without a recipe that puts them together.
  constexpr std::string_view kStrategy = "MegatronStrategy(";
  if (const size_t at = text.find(kStrategy); at != text.npos)
    return fmt::format(
        "what {}...) in line {}, its model and its data say can be given as options: --model, "
        "--gpus, --tp, --pp, --cp, --ep, --sp, --mbs, --gbs, --seq, --recompute",
        kStrategy, line_at(text, at));
  for (const Writes& it : kWrites)
    if (base::contains(text, it.imports)) return std::string(it.says);
  return "give the script that starts it, or its configuration";
}

/// A program or its configuration alone, which a launcher starts.
Result<Reading> with_open_gpus(Result<Reading> reading, const std::string& file) {
  if (reading)
    count_own_gpus({}, {{file, ""}, file, /*of_trainer=*/false, /*is_sure=*/false}, *reading);
  return reading;
}

/// train.py with the words that it is started with, or a file of assignments alone.
Result<Reading> read_nanogpt_file(const std::string& text, const std::string& file,
                                  const ScriptContext& context) {
  const auto read = [&](const std::string& path) -> Result<std::string> {
    if (path == file) return text;
    const std::string found = file_beside(path, file);
    if (found.empty())
      return input_error("{}: {} is not here; put it beside the program", file, path);
    return base::read_file(found, spec::kLargestWritten);
  };
  std::vector<NanoGptWord> words;
  const bool program = is_nanogpt_program(text);
  if (!program) words.push_back({file, file});
  for (const std::string& word : context.arguments) words.push_back({word, "--script-args"});
  return with_open_gpus(
      read_nanogpt(program ? text : "", file, words, read, {context.environment, {}}), file);
}

/// A file of the Trainer's arguments, the first word or --config's, is read behind a script alone.
Result<void> check_names_no_arguments(const std::string& file,
                                      const std::vector<std::string>& words) {
  constexpr std::string_view kConfig = "--config";
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool names = word.starts_with("-") ? word.starts_with(std::string(kConfig) + "=")
                                             : i == 0 || words[i - 1] == kConfig;
    if (names && (word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml")))
      return input_error(
          "{}: --script-args: found {}, a file; allowed: words. A script that starts the program "
          "with it is read with the file",
          file, word);
  }
  return {};
}

/// What is wrong with a file of no form that is read.
Result<Reading> refuse_unread(const std::string& text, const std::string& file) {
  // What is no YAML, or a list in place of a configuration, has a message of its own.
  const bool yaml = file.ends_with(".yaml") || file.ends_with(".yml");
  const auto values = spec::flatten_yaml(text, file);
  if (yaml && !values) {
    const auto own = read_own(text, file);
    constexpr std::string_view kTwice = "a second time";
    const bool other = base::contains(values.error().message, kTwice) &&
                       (own || !base::contains(own.error().message, kTwice));
    return other ? tl::unexpected(values.error()) : own;
  }
  if (file.ends_with(".json") && text.find_first_of("[{") == text.find_first_not_of(" \t\r\n") &&
      text.find_first_of('[') < text.find_first_of('{'))
    return read_config(text, file);
  if (file.ends_with(".py")) ERGOMETER_TRY(check_learns_from_texts(text, file));
  if (file.ends_with(".py"))
    return input_error(
        "{}: is a Python program without TrainingArguments, adapters, an Accelerator, a Trainer of "
        "Lightning or a model of transformers in FSDP or DDP, which is not read; {}",
        file, what_python_writes(text));
  return input_error("{}: is none of the files that can be read: {}; {}", file, kReadable,
                     kAsOptions);
}

Result<Reading> read_by_form(const std::string& text, const std::string& file,
                             const ScriptContext& context) {
  switch (form_of(text, file)) {
    case FileForm::kModelConfig: return read_config(text, file);
    case FileForm::kJobFile: return read_own(text, file);
    case FileForm::kDeepSpeed: return parse_deepspeed(text, file);
    case FileForm::kTrainer: return parse_trainer_file(text, file);
    case FileForm::kTrainerPython:
      ERGOMETER_TRY(check_names_no_arguments(file, context.arguments));
      return parse_trainer_python(text, file, {context.environment, context.arguments});
    case FileForm::kRecipePython:
      return parse_recipe_python(text, file, {context.environment, context.arguments});
    case FileForm::kLightning: return parse_lightning(text, file);
    case FileForm::kLightningPython:
      return parse_lightning_python(text, file, {context.environment, context.arguments});
    case FileForm::kAxolotl: return parse_axolotl(text, file);
    case FileForm::kAccelerate: return parse_accelerate(text, file);
    case FileForm::kPeft: return parse_peft(text, file);
    case FileForm::kTorchtitan: return parse_torchtitan(text, file);
    case FileForm::kNemo1: return parse_nemo_1(text, file, context);
    case FileForm::kNemo2: return parse_nemo_2(text, file, context);
    case FileForm::kMegatronBridge: return parse_megatron_bridge(text, file, context);
    case FileForm::kPrimus: return parse_primus(text, file, context);
    case FileForm::kMegatronYaml: return parse_megatron_yaml(text, file);
    case FileForm::kNanotron: return parse_nanotron(text, file);
    case FileForm::kNeox: return parse_neox({{text, file}});
    case FileForm::kTorchtune: return parse_torchtune(text, file);
    case FileForm::kFoundry: return parse_foundry(text, file);
    case FileForm::kAutoModel: return parse_fine_tuning("NeMo AutoModel", text, file);
    case FileForm::kLitGpt: return parse_fine_tuning("LitGPT", text, file);
    case FileForm::kNanoGpt:
    case FileForm::kNanoGptConfig: return read_nanogpt_file(text, file, context);
    case FileForm::kOlmo: return parse_olmo(text, file);
    case FileForm::kOlmoCore:
      return with_open_gpus(parse_olmo_core(text, file, {context.environment, context.arguments}),
                            file);
    case FileForm::kMaxText: return parse_maxtext(text, file);
    case FileForm::kInternEvo: return with_open_gpus(parse_internevo(text, file), file);
    case FileForm::kXtuner: return with_open_gpus(parse_xtuner(text, file), file);
    case FileForm::kSageMaker: return parse_sagemaker(text, file, context);
    case FileForm::kKubernetes: return parse_kubernetes(text, file, context);
    case FileForm::kRunFile: return parse_run_file(text, file, context);
    case FileForm::kMegatronArguments: return parse_launch_script(text, file, context);
    case FileForm::kForeign: return input_error("{}: is {}", file, what_foreign(text, file));
    case FileForm::kNone: break;
  }
  return refuse_unread(text, file);
}

}  // namespace

Result<Reading> parse_user_file(const std::string& text, const std::string& file,
                                const ScriptContext& context) {
  ERGOMETER_ASSIGN(Reading reading, read_by_form(text, file, context));
  for (const auto& [name, value] : reading.settings.all())
    if (base::contains(value.text, "${"))
      return input_error(
          "{}: {}: what \"{}\" stands for is not known here; write "
          "the value in its place, or set variables with --env",
          value.origin.text, value.origin.key, value.text);
  return reading;
}

Result<Reading> read_user_file(const std::string& path, const ScriptContext& context) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  ERGOMETER_ASSIGN(Reading reading, parse_user_file(text, path, context));
  // A pipe is read once: a model that came through it goes on as its text.
  std::error_code ignored;
  if (form_of(text, path) == FileForm::kModelConfig &&
      !std::filesystem::is_regular_file(path, ignored))
    reading.settings.set("model", text.substr(text.find('{')), {path, "MODEL"});
  return reading;
}

std::vector<std::string> neox_parts(const std::vector<std::string>& paths) {
  std::vector<std::string> parts;
  bool sure = false;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool there = std::filesystem::is_regular_file(path, ignored);
    if (!there) continue;
    const auto text = base::read_file(path, spec::kLargestWritten);
    if (!text) continue;
    const FileForm form = form_of(*text, path);
    const bool open = form == FileForm::kNone || form == FileForm::kDeepSpeed ||
                      (form == FileForm::kJobFile && !spec::parse_job_file(*text, path));
    sure = sure || form == FileForm::kNeox;
    if (form == FileForm::kNeox || (open && spec::flatten_yaml(*text, path))) parts.push_back(path);
  }
  return sure ? parts : std::vector<std::string>();
}

Result<Reading> read_neox_files(const std::vector<std::string>& paths) {
  std::vector<NeoxFile> files;
  for (const std::string& path : paths) {
    ERGOMETER_ASSIGN(std::string text, base::read_file(path, spec::kLargestWritten));
    files.push_back({std::move(text), path});
  }
  return parse_neox(files);
}

Result<Reading> read_nemo_file(const std::string& path, const ScriptContext& context) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  switch (form_of(text, path)) {
    case FileForm::kNemo2: return parse_nemo_2(text, path, context);
    case FileForm::kMegatronBridge: return parse_megatron_bridge(text, path, context);
    default: return parse_nemo_1(text, path, context);
  }
}

bool is_user_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const auto text = base::read_file(path, spec::kLargestWritten);
  if (!text) return false;
  const FileForm form = form_of(*text, path);
  // Options stand in logs as well.
  if (form == FileForm::kMegatronArguments && !path.ends_with(".sh")) return false;
  return form != FileForm::kNone && form != FileForm::kModelConfig;
}

}  // namespace ergometer::intake
