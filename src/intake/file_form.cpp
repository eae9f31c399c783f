#include "intake/file_form.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/lightning.h"
#include "intake/config/recipe_python.h"
#include "intake/reader/flat_reader.h"
#include "intake/research/internevo.h"
#include "intake/research/nanogpt.h"
#include "intake/research/olmo_core.h"
#include "intake/research/xtuner.h"
#include "intake/sagemaker.h"
#include "intake/trainer/own_wrapping.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

bool is_job_heading(std::string_view key) {
  return std::ranges::any_of(spec::setting_table(),
                             [&](const spec::SettingInfo& info) { return info.group == key; });
}

namespace {

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
      return spec::find_setting(top) != nullptr || is_job_heading(top);
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
  if (keys.any({"distributed_type", "compute_environment"})) return FileForm::kAccelerate;
  if (is_run_file(keys)) return FileForm::kRunFile;
  if (is_neox(keys)) return FileForm::kNeox;
  if (is_lightning(keys)) return FileForm::kLightning;
  if (keys.under("step_scheduler")) return FileForm::kAutoModel;
  if (keys.has("model.partial_pretrain")) return FileForm::kVerl;
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
  if (keys.any({"train_type", "tuner_type", "sft_type"}) && keys.any({"model", "model_id_or_path"}))
    return "a file of ms-swift's arguments, which is read behind the command that starts it; give "
           "a "
           "script with `swift sft --config` and this file";
  if (keys.under("actor_rollout_ref"))
    return "a configuration of verl, whose reinforcement learning is not modelled";
  return "";
}

FileForm form_of_json(const Keys& keys) {
  if (const FileForm form = form_by_words(keys); form != FileForm::kNone) return form;
  if (!foreign_file(keys).empty()) return FileForm::kForeign;
  if (keys.has("peft_type") || (keys.has("lora_alpha") && !is_trainer(keys)))
    return FileForm::kPeft;
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

/// By its first line that says something, and is no template of Helm's: a script may write a
/// manifest as well.
bool is_manifest(std::string_view text) {
  for (const std::string_view line : trimmed_lines(text))
    if (!line.empty() && !line.starts_with('#') && !line.starts_with("{{") && line != "---")
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

}  // namespace

FileForm form_of(const std::string& text, const std::string& file) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text.find('\0') != text.npos) return FileForm::kNone;
  // A chart of Helm may begin with a template, "{{- if .Values.trains }}".
  const bool is_chart = text.compare(first, 2, "{{") == 0 && is_manifest(text);
  if (text[first] == '{' && !is_chart) {
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

std::string what_foreign(const std::string& text, const std::string& file) {
  if (is_makefile(file))
    return "a Makefile, which is not read; `make -n TARGET` prints the command, which as a script "
           "can be read";
  const auto values = flatten_either(text, file);
  return values ? std::string(foreign_file(Keys(*values))) : "";
}

}  // namespace ergometer::intake
