#include "intake/started_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/config/lightning.h"
#include "intake/config/published_files.h"
#include "intake/config/recipe_python.h"
#include "intake/config/trainer_arguments.h"
#include "intake/megatron_names.h"
#include "intake/program_reader.h"
#include "intake/read_user_file.h"
#include "intake/reader/framework_options.h"
#include "intake/research/olmo_core.h"
#include "spec/catalog/read.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

constexpr std::string_view kKnownPrograms =
    "Megatron-LM's and its relatives', those on the Hugging Face Trainer, torchtitan, NeMo 1, "
    "LLaMA-Factory, Axolotl";

constexpr std::string_view kUnknownNumber = "8765432109876";

std::string flag_name(const std::string& word) {
  return word.starts_with("--") ? name_in_word(word) : "";
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

bool is_override(const std::string& word) {
  const size_t equals = word.find('='), dot = word.find('.');
  return !word.starts_with('-') && equals != word.npos && dot < equals && word.find('/') > equals;
}

ProgramReader::ProgramReader(const Launch& launch, const ShellRun& run)
    : launch_(launch), run_(run) {
  for (const ShellText& word : launch.arguments) names_.push_back(flag_name(word.text));
}

std::string ProgramReader::value_of(size_t word) const {
  const std::string& text = launch_.arguments[word].text;
  if (const size_t equals = text.find('='); equals != text.npos) return text.substr(equals + 1);
  return word + 1 < launch_.arguments.size() ? launch_.arguments[word + 1].text : "";
}

/// PPO and its relatives: verl, OpenRLHF, NeMo-RL, slime, and the third step of DeepSpeed-Chat.
bool ProgramReader::learns_from_its_answers() const {
  if (is_slime_fine_tuning()) return false;
  bool named = false;
  for (const char* way : {"ppo", "grpo"}) {
    const size_t at = launch_.name.find(way);
    // "support.py" is another word.
    named = named || at == 0 ||
            (at != std::string::npos &&
             !base::contains("abcdefghijklmnopqrstuvwxyz", launch_.name.substr(at - 1, 1)));
  }
  return named ||
         has_any({"actor_model_name_or_path", "advantage_estimator", "rollout_batch_size"});
}

Result<std::optional<Reading>> ProgramReader::by_name() {
  ERGOMETER_ASSIGN(std::optional<Reading> composed, foundry());
  if (composed) return composed;
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
  return internevo();
}

Result<std::optional<Reading>> ProgramReader::by_own_text() const {
  const Result<std::string> text = own_text();
  const FileForm form = text ? form_of(*text, own_path()) : FileForm::kNone;
  if (form == FileForm::kRecipePython) return parse_recipe_python(*text, own_path(), own_start());
  if (form == FileForm::kLightningPython)
    return parse_lightning_python(*text, own_path(), own_start());
  if (form != FileForm::kOlmoCore) return std::optional<Reading>();
  ERGOMETER_ASSIGN(Reading reading, parse_olmo_core(*text, own_path(), own_start()));
  count_alone({}, false, reading);
  return std::optional(std::move(reading));
}

Result<Reading> ProgramReader::read() {
  ERGOMETER_ASSIGN(std::optional<Reading> named, by_name());
  if (named) return *std::move(named);
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
  ERGOMETER_ASSIGN(std::optional<Reading> own, by_own_text());
  if (own) return *std::move(own);
  ERGOMETER_ASSIGN(std::optional<TrainerProgram> program, own_program());
  if (file || said || program || is_trl(launch_.program)) {
    ERGOMETER_ASSIGN(Reading reading, trainer(std::move(file), form, std::move(program)));
    std::string name(base::last_part(launch_.program, '/'));
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

/// Whether a program of the script may make the file: `cp my.json zero3.json`, `wget -O
/// zero3.json`.
bool ProgramReader::may_be_made(const std::string& path) const {
  constexpr std::array kMakers = std::to_array<std::string_view>(
      {"cp", "mv", "ln", "install", "rsync", "scp", "wget", "curl", "sed", "tee", "touch", "dd",
       "aws", "gsutil", "gcloud", "unzip", "git"});
  const std::string name(base::last_part(path, '/'));
  return std::ranges::any_of(run_.commands, [&](const ShellCommand& command) {
    const std::string& program = command.words.front().text;
    return base::contains(kMakers, base::last_part(program, '/')) &&
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

ScriptContext ProgramReader::context() const {
  ScriptContext context;
  for (const auto& [name, value] : launch_.environment)
    if (!ShellUnknowns::in(value)) context.environment[name] = value;
  return context;
}

void ProgramReader::count_alone(const OwnProcesses& own, bool of_trainer, Reading& reading) const {
  if (!launch_.is_alone) return;
  OwnProcesses all = own;
  // What a program sets itself counts over what it is started with.
  if (!all.visible) all.visible = launch_.visible;
  count_own_gpus(all, {{run_.session.where(launch_.line), ""}, launch_.name, of_trainer, true},
                 reading);
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
