#include "intake/started_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/config/fine_tuning.h"
#include "intake/config/foundry.h"
#include "intake/config/hydra_defaults.h"
#include "intake/config/lightning.h"
#include "intake/config/nemo_files.h"
#include "intake/config/published_files.h"
#include "intake/config/recipe_python.h"
#include "intake/config/torchtitan.h"
#include "intake/config/torchtune.h"
#include "intake/config/trainer_arguments.h"
#include "intake/megatron_arguments.h"
#include "intake/megatron_names.h"
#include "intake/program_reader.h"
#include "intake/read_user_file.h"
#include "intake/reader/framework_options.h"
#include "intake/research/olmo.h"
#include "intake/script/inner_shell.h"
#include "spec/catalog/read.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

constexpr ArgumentKnowledge kOfMegatron = {megatron_reads, megatron_switch};

constexpr std::string_view kKnownPrograms =
    "Megatron-LM's and its relatives', those on the Hugging Face Trainer, torchtitan, NeMo 1, "
    "LLaMA-Factory, Axolotl";

constexpr std::string_view kUnknownNumber = "8765432109876";

std::string flag_name(const std::string& word) {
  if (!word.starts_with("--")) return "";
  std::string name = word.substr(2, word.find('=') == word.npos ? word.npos : word.find('=') - 2);
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_override(const std::string& word) {
  const size_t equals = word.find('='), dot = word.find('.');
  return !word.starts_with('-') && equals != word.npos && dot < equals && word.find('/') > equals;
}

/// What is not known of a file's name, as users see it: "ds_?.json".
std::string shown(std::string text) {
  for (size_t at = text.find('\x01'); at != text.npos; at = text.find('\x01', at)) {
    const size_t end = std::min(text.find('\x02', at), text.size() - 1);
    text.replace(at, end - at + 1, "?");
  }
  return text;
}

/// Files that a script wrote may be called by what only its run knows.
void show_marks(Reading& reading) {
  for (spec::Settings* settings : {&reading.settings, &reading.defaults, &reading.fallbacks}) {
    const spec::Settings all = *settings;
    for (const auto& [name, value] : all.all())
      if (ShellUnknowns::in(value.origin.text))
        settings->set(name, value.text, {shown(value.origin.text), value.origin.key});
  }
  for (Leftover& it : reading.leftovers) {
    it.where = shown(it.where);
    it.says = shown(it.says);
  }
  for (auto* told : {&reading.open, &reading.unsaid})
    for (auto& [setting, why] : *told) why = shown(why);
  for (std::string& note : reading.notes) note = shown(note);
  reading.node_gpus_from = shown(reading.node_gpus_from);
}

}  // namespace

ProgramReader::ProgramReader(const Launch& launch, const ShellRun& run)
    : launch_(launch), run_(run) {
  for (const ShellText& word : launch.arguments) names_.push_back(flag_name(word.text));
}

std::string ProgramReader::value_of(size_t word) const {
  const std::string& text = launch_.arguments[word].text;
  if (const size_t equals = text.find('='); equals != text.npos) return text.substr(equals + 1);
  return word + 1 < launch_.arguments.size() ? launch_.arguments[word + 1].text : "";
}

/// PPO and its relatives: verl, OpenRLHF, NeMo-RL, and the third step of DeepSpeed-Chat.
bool ProgramReader::learns_from_its_answers() const {
  bool named = false;
  for (const char* way : {"ppo", "grpo"}) {
    const size_t at = launch_.name.find(way);
    // "support.py" is another word.
    named = named || at == 0 ||
            (at != std::string::npos &&
             !base::contains("abcdefghijklmnopqrstuvwxyz", launch_.name.substr(at - 1, 1)));
  }
  return named || has("actor_model_name_or_path");
}

Result<Reading> ProgramReader::read() {
  ERGOMETER_ASSIGN(std::optional<Reading> composed, foundry());
  if (composed) return *std::move(composed);
  if (learns_from_its_answers()) return refuse("is {}", kIsReinforcement);
  if (const std::string_view own = fine_tuning_program(); !own.empty()) return fine_tuning(own);
  if (launch_.foreign == "NeMo 2") return nemo_recipe();
  if (launch_.foreign == "MaxText") return maxtext();
  if (launch_.foreign == "XTuner") return xtuner();
  if (launch_.foreign == "llm.c") return llm_c();
  if (!launch_.foreign.empty())
    return refuse(
        "is a program of {}, which is not read; give the job's sizes as options "
        "(`ergometer simulate --help`), or as Megatron-LM's or the Hugging Face Trainer's "
        "arguments",
        launch_.foreign);
  if (is_swift(launch_))
    return base::contains(launch_.program, "megatron") ? megatron_swift() : swift();
  if (is_tune(launch_)) return torchtune();
  if (launch_.name == "deepy.py") return neox();
  if (has("job.config_file") || base::contains(launch_.program, "torchtitan")) return torchtitan();
  const bool hydra = std::ranges::any_of(
      launch_.arguments, [](const ShellText& word) { return is_override(word.text); });
  if (hydra || names_hydra_file()) return nemo();
  if (is_nanogpt()) return nanogpt();
  ERGOMETER_ASSIGN(std::optional<Reading> of_internlm, internevo());
  if (of_internlm) return *std::move(of_internlm);
  FileForm form = FileForm::kNone;
  ERGOMETER_ASSIGN(std::optional<Reading> file, configuration(form));
  const bool said = has_any({"per_device_train_batch_size", "per_gpu_train_batch_size",
                             "model_name_or_path", "config_name"});
  const bool of_trainer = form == FileForm::kTrainer || form == FileForm::kAxolotl;
  // Words beside another framework's file are not the Trainer's.
  if (file && form == FileForm::kPrimus) return primus(*std::move(file));
  if (file && !of_trainer && !said) {
    ERGOMETER_TRY(check_beside_file(form));
    return *std::move(file);
  }
  if (const auto text = own_text()) {
    const FileForm own = form_of(*text, own_path());
    if (own == FileForm::kRecipePython) return parse_recipe_python(*text, own_path(), own_start());
    if (own == FileForm::kLightningPython)
      return parse_lightning_python(*text, own_path(), own_start());
    if (own == FileForm::kOlmoCore) {
      ERGOMETER_ASSIGN(Reading reading, parse_olmo_core(*text, own_path(), own_start()));
      count_alone({}, false, reading);
      return reading;
    }
  }
  ERGOMETER_ASSIGN(std::optional<TrainerProgram> program, own_program());
  if (file || said || program || is_trl(launch_.program)) {
    ERGOMETER_ASSIGN(Reading reading, trainer(std::move(file), form, std::move(program)));
    std::string name = launch_.program.substr(launch_.program.rfind('/') + 1);
    std::ranges::replace_if(name, [](char c) { return c == '_' || c == '.' || c == '-'; }, ' ');
    const std::vector<std::string> parts = base::split(name, ' ');
    if (std::ranges::any_of(parts,
                            [](const std::string& part) { return is_preference_training(part); }))
      reading.leftovers.push_back(
          preference_training(launch_.name, run_.session.where(launch_.line)));
    return reading;
  }
  const auto unknown = std::ranges::find_if(
      launch_.arguments, [](const ShellText& word) { return ShellUnknowns::in(word.text); });
  if (!trains(launch_) && unknown != launch_.arguments.end())
    return input_error("{}: the arguments of {} depend on {}", run_.session.where(launch_.line),
                       launch_.name, run_.session.unknowns.reason(unknown->text));
  if (!trains(launch_))
    return refuse(
        "is started with arguments of which none says how a model is trained; programs "
        "that are known: {}",
        kKnownPrograms);
  if (!is_megatron())
    return refuse(
        "is no program that is known here, and its arguments are not Megatron-LM's; known: {}; "
        "give the job's sizes as options (`ergometer simulate --help`)",
        kKnownPrograms);
  return megatron();
}

Result<void> ProgramReader::check_read(const Reading& reading) {
  for (const auto& [name, value] : reading.settings.all())
    if (base::contains(value.text, kUnknownNumber))
      return input_error("{}: {}: what the script writes there is not known here",
                         value.origin.text, value.origin.key);
  return {};
}

bool ProgramReader::is_megatron() const {
  for (const char* part : {"pretrain", "megatron", "train_gpt", "finetune_gpt"})
    if (base::contains(base::lower(launch_.program), part)) return true;
  constexpr std::array kOwn = std::to_array<std::string_view>(
      {"num_layers", "hidden_size", "num_attention_heads", "seq_length", "micro_batch_size",
       "global_batch_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
       "train_iters", "train_samples", "use_mcore_models", "use_distributed_optimizer",
       "use_checkpoint_args", "transformer_impl", "deepspeed_config"});
  int own = 0;
  for (size_t i = 0; i < names_.size(); ++i)
    if (base::contains(kOwn, names_[i]) &&
        launch_.arguments[i].text.substr(0, names_[i].size() + 2).find('_') == std::string::npos)
      ++own;
  return own > 1;
}

/// Whether a program of the script may make the file: `cp my.json zero3.json`, `wget -O
/// zero3.json`.
bool ProgramReader::may_be_made(const std::string& path) const {
  constexpr std::array kMakers = std::to_array<std::string_view>(
      {"cp", "mv", "ln", "install", "rsync", "scp", "wget", "curl", "sed", "tee", "touch", "dd",
       "aws", "gsutil", "gcloud", "unzip", "git"});
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return std::ranges::any_of(run_.commands, [&](const ShellCommand& command) {
    const std::string& program = command.words.front().text;
    return base::contains(kMakers, program.substr(program.rfind('/') + 1)) &&
           std::ranges::any_of(command.words,
                               [&](const ShellText& it) { return base::contains(it.text, name); });
  });
}

/// A file of Axolotl's or LLaMA-Factory's counts for their own programs.
bool ProgramReader::is_program_of(std::string_view publisher) const {
  const std::string program = base::lower(launch_.program + " " + launch_.name);
  if (publisher == "Axolotl") return base::contains(program, "axolotl");
  if (publisher != "LLaMA-Factory") return true;
  return base::contains(program, "llama") || program.starts_with("src/train");
}

bool ProgramReader::takes_published(const PublishedFile& file, const std::string& path) const {
  return is_program_of(file.publisher) && !may_be_made(path);
}

Result<std::string> ProgramReader::text_of(const std::string& path, int line,
                                           std::string_view what) const {
  const std::string where = run_.session.where(line);
  if (const std::string* written = written_file(run_.state, path)) {
    const bool unknown =
        written->starts_with('\x01') && written->find('\x02') + 2 >= written->size();
    // What nobody knows of the script's file, one that lies here may say.
    if (const std::string here = file_beside(path, run_.session.files.front());
        unknown && !here.empty())
      return base::read_file(here, spec::kLargestWritten);
    if (unknown)
      return input_error("{}: {}: {} depends on {}", where, what, path,
                         run_.session.unknowns.reason(*written));
    std::string text;
    for (size_t at = 0; at < written->size(); ++at) {
      if ((*written)[at] == '\x01') {
        text += kUnknownNumber;
        at = std::min(written->find('\x02', at), written->size());
      } else {
        text += (*written)[at];
      }
    }
    return text;
  }
  if (ShellUnknowns::in(path))
    return input_error("{}: {} depends on {}", where, what, run_.session.unknowns.reason(path));
  const std::string found = file_beside(path, run_.session.files.front());
  if (const auto* published = published_file(path);
      published != nullptr && found.empty() && takes_published(*published, path)) {
    published_.insert(taken_as_published(path, *published));
    return std::string(published->text);
  }
  if (found.empty())
    return input_error("{}: {}: {} is not here; put it beside the script", where, what, path);
  return base::read_file(found, spec::kLargestWritten);
}

int ProgramReader::line_of(std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return launch_.arguments[i].line;
  return launch_.line;
}

Result<void> ProgramReader::check_known(const Argument& argument) const {
  if (argument.unknown.empty()) return {};
  return input_error("{}: --{} depends on {}", argument.where, argument.name, argument.unknown);
}

Result<Reading> ProgramReader::torchtitan() {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kAllCount));
  std::string path, module, config;
  spec::FlatYaml overrides;
  for (const Argument& argument : arguments) {
    if (argument.name == "job.config_file" || argument.name == "module" ||
        argument.name == "config") {
      ERGOMETER_TRY(check_known(argument));
      (argument.name == "module"   ? module
       : argument.name == "config" ? config
                                   : path) = argument.value;
    } else {
      const bool idle = classify("torchtitan", argument.name, "").kind == Leftover::Kind::kNoEffect;
      if (!idle) ERGOMETER_TRY(check_known(argument));
      if (argument.unknown.empty()) overrides[argument.name] = {argument.list, -1, argument.where};
    }
  }
  if (path.empty() && !config.empty()) return torchtitan_function(module, config, overrides);
  if (path.empty())
    return input_error(
        "{}: {} without --job.config_file: which file it takes is not "
        "known here",
        run_.session.where(launch_.line), launch_.name);
  ERGOMETER_ASSIGN(const std::string text,
                   text_of(path, line_of("job.config_file"), "--job.config_file"));
  return parse_torchtitan(text, path, overrides);
}

Result<Reading> ProgramReader::torchtitan_function(const std::string& module,
                                                   const std::string& config,
                                                   const spec::FlatYaml& overrides) const {
  const std::string file = fmt::format("torchtitan/models/{}/config_registry.py", module);
  const auto text = text_of(file, line_of("config"), "--config");
  if (!text)
    return input_error(
        "{}: --config {} is a function of {}, which is not here; put it there beside the script, "
        "or give --model and the job's sizes as options",
        run_.session.where(line_of("config")), config, file);
  ERGOMETER_ASSIGN(spec::FlatYaml values, torchtitan_registry(*text, file, module, config));
  return read_torchtitan(std::move(values), file, overrides);
}

Result<Reading> ProgramReader::nemo_recipe() const {
  NamedRecipe recipe;
  const auto begins = [&](std::string_view command) {
    return std::ranges::any_of(launch_.arguments,
                               [&](const ShellText& word) { return word.text == command; });
  };
  recipe.tunes = begins("finetune");
  recipe.where = run_.session.where(line_of("factory"));
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const auto& [word, line] = launch_.arguments[i];
    const size_t equals = word.find('=');
    if (names_[i] == "factory") recipe.name = value_of(i);
    if (!is_override(word)) continue;
    if (ShellUnknowns::in(word)) {
      ERGOMETER_TRY(check_word(launch_.arguments[i], "nemo-2"));
      continue;
    }
    // `trainer.num_nodes*=2` multiplies what the recipe says.
    if (std::string_view("*+-/").find(word[equals - 1]) != std::string_view::npos)
      return input_error("{}: {} changes what the recipe says, which is not known here",
                         run_.session.where(line), word);
    recipe.values[word.substr(0, equals)] = {value_of(i), -1, run_.session.where(line)};
  }
  if (recipe.name.empty() || ShellUnknowns::in(recipe.name) || base::contains(recipe.name, "("))
    return input_error(
        "{}: {} takes its job from a recipe in Python, of which the name is read alone "
        "(--factory NAME); it can be read as the YAML that nemo_run writes (--to-yaml FILE)",
        recipe.where, launch_.name);
  return read_named_recipe(recipe, run_.session.name);
}

Result<Reading> ProgramReader::nemo() {
  std::string folder, name;
  int line = launch_.line;
  spec::FlatYaml overrides;
  HydraChoices choices;
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    const size_t equals = word.text.find('=');
    const bool joined = equals != word.text.npos;
    const std::string next = value_of(i);
    if (names_[i] == "config_path") folder = next;
    if (names_[i] == "config_name") {
      name = next;
      line = word.line;
    }
    const bool plain = joined && sets_variable(word.text.substr(0, equals) + "=");
    const size_t begin = std::min(word.text.find_first_not_of('+'), word.text.size());
    const std::string key = word.text.substr(begin, equals - begin);
    // A name without a dot is a group whose file it chooses, or a key of the file.
    if (plain && !ShellUnknowns::in(next)) choices[key] = next;
    if (!is_override(word.text) && !word.text.starts_with('~')) continue;
    overrides[key] = {next, word.line, run_.session.where(word.line)};
  }
  if (name.empty() && has_any({"recipe", "config_file"}))
    return refuse(
        "takes its job from a recipe in Python, which is not read; give the configuration "
        "that Megatron-Bridge writes of it as YAML");
  if (name.empty())
    return refuse(
        "without --config-name: its own file is not known here; put it beside the script and name "
        "it (--script-adds \"--config-name FILE\"), or give --model and sizes as options");
  if (!name.ends_with(".yaml")) name += ".yaml";
  const std::filesystem::path program = std::filesystem::path(launch_.program).parent_path();
  Result<std::string> text = input_error("");
  std::string found;
  for (const std::filesystem::path& path :
       {program / folder / name, std::filesystem::path(folder) / name,
        std::filesystem::path(name)}) {
    text = text_of(path.string(), line, "--config-name");
    found = path.string();
    if (text) break;
  }
  if (!text) return tl::unexpected(text.error());
  const auto read = [&](const std::string& path) { return text_of(path, line, "defaults"); };
  ERGOMETER_ASSIGN(spec::FlatYaml composed, hydra_defaults(*text, found, read, choices));
  for (auto it = overrides.begin(); it != overrides.end();) {
    auto& [key, value] = *it;
    if (ShellUnknowns::in(value.text)) {
      const bool counts = key.starts_with("model.") || key.starts_with("trainer.");
      if (!counts || base::contains(key, "path") || base::contains(key, "data_prefix")) {
        it = overrides.erase(it);
        continue;
      }
      return input_error("{}: {} depends on {}", run_.session.where(value.line), key,
                         run_.session.unknowns.reason(value.text));
    }
    value.line %= kLinesOfFile;
    ++it;
  }
  for (const char* section : {"model", "trainer"})
    if (const auto left = choices.find(section); left != choices.end())
      return input_error("{}: {}={} chooses a file of a group that {} has not in its defaults",
                         run_.session.where(line), section, left->second, name);
  if (!composed.empty()) composed["~defaults"] = {};
  for (const auto& [key, value] : overrides) composed[key] = value;
  return parse_nemo_1(*text, name, context(), composed);
}

Result<std::optional<Reading>> ProgramReader::configuration(FileForm& form) {
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    const size_t equals = word.text.find('=');
    const bool joined = names_[i] == "config" && equals != word.text.npos;
    const std::string path = joined ? word.text.substr(equals + 1) : word.text;
    // Of JSON what HfArgumentParser takes alone: others are another program's.
    const bool json = i == 0 && path.ends_with(".json");
    const bool file =
        json || path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".toml");
    if (!file || path.starts_with('-')) continue;
    const auto text = text_of(path, word.line, launch_.program);
    // Files that it names in turn lie beside it.
    const std::string here = file_beside(path, run_.session.files.front());
    const std::string& name =
        here.empty() || written_file(run_.state, path) != nullptr ? path : here;
    const bool its_own = joined || (i > 0 && names_[i - 1] == "config");
    if (!text && (its_own || is_front_end(launch_.program))) return tl::unexpected(text.error());
    if (!text) continue;
    form = form_of(*text, path);
    if (json && form != FileForm::kTrainer) form = FileForm::kNone;
    if (form == FileForm::kNone || form == FileForm::kModelConfig) continue;
    if (form == FileForm::kAutoModel) return fine_tuning("NeMo AutoModel");
    if (form == FileForm::kLitGpt) return fine_tuning("LitGPT");
    if (form == FileForm::kNeox) return neox();
    if (form == FileForm::kOlmo) return olmo(*text, name);
    if (form == FileForm::kMaxText) return maxtext();
    if (form == FileForm::kAxolotl) return parse_axolotl_program(*text, name);
    if (form == FileForm::kLightning) {
      if (std::ranges::count_if(names_, [](const std::string& it) { return it == "config"; }) > 1)
        return refuse("takes several --config, of which one is read; put them into one file");
      return lightning(*text, name);
    }
    if (form == FileForm::kTrainer && is_llama_factory(launch_.program))
      return parse_llama_factory(*text, name);
    if (form == FileForm::kTrainer) {
      ERGOMETER_ASSIGN(file_values_, values_of_file(*text, name));
    }
    return parse_user_file(*text, name, context());
  }
  return std::optional<Reading>();
}

Result<Reading> ProgramReader::lightning(const std::string& text, const std::string& path) const {
  spec::FlatYaml overrides;
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    const bool section = base::contains(names_[i], ".");
    if (!section) continue;
    ERGOMETER_TRY(check_word(word, "lightning"));
    const std::string value = value_of(i), where = run_.session.where(word.line);
    const bool idle = classify("lightning", names_[i], "").kind == Leftover::Kind::kNoEffect;
    if (!ShellUnknowns::in(value))
      overrides[names_[i]] = {value, -1, where};
    else if (names_[i].starts_with("trainer.") && !idle)
      return input_error("{}: --{} depends on {}", where, names_[i],
                         run_.session.unknowns.reason(value));
  }
  return parse_lightning(text, path, overrides);
}

Result<void> ProgramReader::check_beside_file(FileForm form) const {
  // These take such words, and were read with them.
  if (form == FileForm::kAutoModel || form == FileForm::kLitGpt || form == FileForm::kNeox ||
      form == FileForm::kOlmo)
    return {};
  for (size_t i = 0; i < names_.size(); ++i)
    if (megatron_reads(names_[i]) || trainer_reads(names_[i]))
      return input_error(
          "{}: --{} beside the file of {} is not read; put it into "
          "the file",
          run_.session.where(launch_.arguments[i].line), names_[i], launch_.name);
  return {};
}

Result<void> ProgramReader::check_word(const ShellText& word, std::string_view framework) const {
  if (!ShellUnknowns::in(word.text)) return {};
  const std::string key = word.text.substr(0, word.text.find('='));
  const bool idle =
      !ShellUnknowns::in(key) && classify(framework, key, "").kind == Leftover::Kind::kNoEffect;
  if (idle) return {};
  return input_error("{}: a word of {} depends on {}", run_.session.where(word.line), launch_.name,
                     run_.session.unknowns.reason(word.text));
}

Result<std::optional<Reading>> ProgramReader::foundry() const {
  spec::FlatYaml overrides;
  std::string file, text;
  for (const ShellText& word : launch_.arguments) {
    const size_t equals = word.text.find('=');
    if (equals != word.text.npos) {
      if (!word.text.starts_with('-') && !ShellUnknowns::in(word.text))
        overrides[word.text.substr(0, equals)] = {word.text.substr(equals + 1), 0,
                                                  run_.session.where(word.line)};
    } else if (word.text.ends_with(".yaml") && file.empty()) {
      auto read = text_of(word.text, word.line, launch_.program);
      if (!read && launch_.foreign == "LLM Foundry") return tl::unexpected(read.error());
      if (!read || form_of(*read, word.text) != FileForm::kFoundry) continue;
      file = word.text;
      text = *std::move(read);
    }
  }
  if (file.empty()) return std::optional<Reading>();
  for (const ShellText& word : launch_.arguments) ERGOMETER_TRY(check_word(word, "llm-foundry"));
  return parse_foundry(text, file, overrides);
}

Result<Reading> ProgramReader::torchtune() const {
  std::string path;
  spec::FlatYaml overrides;
  std::map<std::string, int64_t> counts = {{"nnodes", 1}, {"nproc_per_node", 1}};
  const std::string where = run_.session.where(launch_.line);
  for (size_t i = 1; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    ERGOMETER_TRY(check_word(word, "torchtune"));
    if (ShellUnknowns::in(word.text)) continue;
    const size_t equals = word.text.find('=');
    const std::string value = value_of(i);
    if (const auto count = counts.find(names_[i]); count != counts.end()) {
      const auto number = base::parse_integer(value);
      if (!number || *number < 1 || *number > spec::kMostRanks)
        return input_error("{}: --{}: found \"{}\"; allowed: a whole number", where, names_[i],
                           value);
      count->second = *number;
    }
    if (names_[i] == "config") path = value;
    if (names_[i].empty() && (equals != word.text.npos || word.text.starts_with('~')))
      overrides[word.text.substr(0, equals)] = {value, 0, run_.session.where(word.line)};
  }
  if (!path.ends_with(".yaml"))
    return input_error(
        "{}: --config {} is torchtune's own file, which is not here; `tune cp {} FILE` writes it",
        where, path, path);
  ERGOMETER_ASSIGN(const std::string text, text_of(path, launch_.line, "--config"));
  ERGOMETER_ASSIGN(Reading reading, parse_torchtune(text, path, overrides));
  reading.settings.set("gpus", std::to_string(counts["nnodes"] * counts["nproc_per_node"]),
                       {where, "tune run --nnodes x --nproc_per_node"});
  return reading;
}

ScriptContext ProgramReader::context() const {
  ScriptContext context;
  for (const auto& [name, value] : launch_.environment)
    if (!ShellUnknowns::in(value)) context.environment[name] = value;
  return context;
}

Result<Reading> ProgramReader::megatron() {
  for (const char* other : {"bert", "_t5", "retro", "vision", "ict", "vlm", "multimodal"})
    if (base::contains(launch_.program, other))
      return refuse("trains no decoder of text alone, which is all that is modelled");
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kOfMegatron));
  ERGOMETER_ASSIGN(Reading reading, read_megatron(arguments, run_.session.name));
  choose_attention(reading.settings);
  count_alone({}, false, reading);
  for (const Argument& argument : arguments) {
    if (argument.name != "deepspeed_config" || !has("deepspeed")) continue;
    const auto text = text_of(argument.value, line_of("deepspeed_config"), "--deepspeed_config");
    if (!text && has("zero_stage")) {
      // The stage is what the file is read for; DeepSpeed holds both to be equal.
      reading.notes.push_back(
          fmt::format("--zero-stage is taken, not DeepSpeed's file: {}", text.error().message));
      continue;
    }
    if (!text) return tl::unexpected(text.error());
    ERGOMETER_ASSIGN(Reading deepspeed, parse_deepspeed(*text, argument.value));
    // The arguments say batches and model; how states are sharded stands in the file.
    for (const char* name : {"zero", "optimizer_cpu_offload", "ddp_bucket_size",
                             "grad_reduce_in_bf16", "overlap_grad_reduce", "overlap_param_gather"})
      if (const auto* value = deepspeed.settings.find(name);
          value != nullptr && (name != std::string_view("zero") || !has("zero_stage") ||
                               shards_without_zero(*value, reading)))
        reading.settings.set(name, value->text, value->origin);
    reading.leftovers.insert(reading.leftovers.end(), deepspeed.leftovers.begin(),
                             deepspeed.leftovers.end());
  }
  return reading;
}

void ProgramReader::count_alone(const OwnProcesses& own, bool of_trainer, Reading& reading) const {
  if (!launch_.is_alone) return;
  OwnProcesses all = own;
  // What a program sets itself counts over what it is started with.
  if (!all.visible) all.visible = launch_.visible;
  count_own_gpus(all, {{run_.session.where(launch_.line), ""}, launch_.name, of_trainer, true},
                 reading);
}

/// Transformer Engine's variables take backends away; what is left without both fused ones is the
/// unfused. Megatron-LM's --attention-backend sets them itself.
void ProgramReader::choose_attention(spec::Settings& settings) const {
  constexpr const char *kFlash = "NVTE_FLASH_ATTN", *kFused = "NVTE_FUSED_ATTN";
  const auto off = [&](const char* name) {
    const auto it = launch_.environment.find(name);
    return it != launch_.environment.end() && it->second == "0";
  };
  if (off(kFlash) && off(kFused) && settings.find("attention_backend") == nullptr)
    settings.set("attention_backend", "unfused",
                 {run_.session.where(launch_.line), fmt::format("{}=0 {}=0", kFlash, kFused)});
}

bool ProgramReader::shards_without_zero(const spec::Settings::Value& value,
                                        const Reading& reading) {
  const auto* said = reading.settings.find("zero");
  return base::contains(value.origin.key, "enabled") && said != nullptr && said->text == "0";
}

bool trains(const Launch& launch) {
  int count = base::contains(launch.program, "torchtitan") || is_front_end(launch.program) ||
                      is_trl(launch.program) || is_swift(launch) || is_tune(launch) ||
                      is_primus(launch.program) || !launch.foreign.empty()
                  ? 2
                  : 0;
  for (const ShellText& word : launch.arguments) {
    const std::string name = flag_name(word.text);
    count += megatron_reads(name) || trainer_reads(name) || is_override(word.text) ? 1 : 0;
    if (name == "job.config_file" || name == "config_name") count += 2;
  }
  return count > 1;
}

Result<Reading> read_program(const Launch& launch, const ShellRun& run) {
  ProgramReader program(launch, run);
  Result<Reading> reading = program.read();
  if (reading)
    reading->notes.insert(reading->notes.end(), program.published().begin(),
                          program.published().end());
  if (const Result<void> checked = reading ? ProgramReader::check_read(*reading) : Result<void>();
      !checked)
    reading = tl::unexpected(checked.error());
  if (reading)
    show_marks(*reading);
  else
    reading.error().message = shown(reading.error().message);
  return reading;
}

}  // namespace ergometer::intake
