#include "intake/read_user_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

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
#include "intake/reader/placeholder.h"
#include "intake/reader/python_text.h"
#include "intake/research/internevo.h"
#include "intake/research/maxtext.h"
#include "intake/research/nanogpt.h"
#include "intake/research/olmo.h"
#include "intake/research/olmo_core.h"
#include "intake/research/xtuner.h"
#include "intake/run_files.h"
#include "intake/sagemaker.h"
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
    if (dot != key.npos && is_job_heading(top)) key.remove_prefix(dot + 1);
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
    const auto values = flatten_either(text, file);
    const std::string others = values ? keys_of_another_program(*values) : "";
    if (others.empty()) return tl::unexpected(settings.error());
    return input_error("{}: what program this file is of is not known here: {}; it could be {}; {}",
                       file, others, kReadable, kAsOptions);
  }
  reading.settings = *std::move(settings);
  reading.form = "a job file";
  return reading;
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
       {"azure.ai.ml", "give its command as a script, or the job as Azure ML's YAML"},
       {"aiplatform", "give the command of its container as a script, and --gpus"},
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
    case FileForm::kVerl: return parse_fine_tuning("verl", text, file);
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

/// Files that hold nothing but a configuration: of scripts and programs words may be their own.
bool is_configuration(FileForm form) {
  using enum FileForm;
  return form == kDeepSpeed || form == kTrainer || form == kAxolotl || form == kAccelerate ||
         form == kPeft || form == kNemo1 || form == kNemo2 || form == kMegatronBridge ||
         form == kMegatronYaml || form == kNanotron || form == kNeox;
}

/// Scripts on the Trainer put words of their own beside its words, in the same file. Its batch is a
/// word that no other program has; with the model's, and without sections, it is such a file. Not
/// so of trainers of embeddings, which read several passages for each text of the batch.
bool is_surely_trainer(const Reading& reading, const spec::FlatYaml& values) {
  const bool flat = std::ranges::none_of(
      values, [](const auto& item) { return base::contains(item.first, "."); });
  return flat && values.contains("per_device_train_batch_size") &&
         values.contains("model_name_or_path") && !values.contains("train_group_size") &&
         reading.settings.find("model") != nullptr;
}

/// A few words may look like those of a file that is read: of another program's nearly all others
/// are unknown, and what the form does by default would be another job.
Result<void> check_knows_most(const Reading& reading, const std::string& text,
                              const std::string& file) {
  constexpr std::ptrdiff_t kFewest = 5;
  const auto unknown =
      std::ranges::count(reading.leftovers, Leftover::Kind::kUnknown, &Leftover::kind);
  if (unknown < kFewest) return {};
  ERGOMETER_ASSIGN(const spec::FlatYaml values, flatten_either(text, file));
  const auto all = std::ssize(values);
  if (2 * unknown <= all || is_surely_trainer(reading, values)) return {};
  const auto first =
      std::ranges::find(reading.leftovers, Leftover::Kind::kUnknown, &Leftover::kind);
  return input_error(
      "{}: {}: one of {} keys that {} does not have, of {} that were found; what program this file "
      "is of is not known here: {}",
      first->where, first->name, unknown, reading.form, all, kAsOptions);
}

}  // namespace

Result<Reading> parse_user_file(const std::string& text, const std::string& file,
                                const ScriptContext& context) {
  ERGOMETER_ASSIGN(Reading reading, read_by_form(text, file, context));
  if (is_configuration(form_of(text, file))) ERGOMETER_TRY(check_knows_most(reading, text, file));
  open_placeholders(reading);
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
