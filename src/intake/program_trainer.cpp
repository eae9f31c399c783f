#include "base/collection.h"
#include "intake/program_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/text.h"
#include "intake/config/accelerate.h"
#include "intake/config/axolotl.h"
#include "intake/config/deepspeed.h"
#include "intake/config/trainer_arguments.h"
#include "intake/megatron_arguments.h"
#include "intake/megatron_names.h"
#include "intake/programs/accelerate_words.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "spec/recipe/recipe.h"

namespace ergometer::intake {
namespace {

constexpr std::array kTrainerNames = std::to_array<std::string_view>({"per_device_train_batch_size",
                                                                      "per_gpu_train_batch_size",
                                                                      "gradient_accumulation_steps",
                                                                      "model_name_or_path",
                                                                      "model_name",
                                                                      "config_name",
                                                                      "config_overrides",
                                                                      "bf16",
                                                                      "fp16",
                                                                      "deepspeed",
                                                                      "fsdp",
                                                                      "fsdp_config",
                                                                      "gradient_checkpointing",
                                                                      "max_seq_length",
                                                                      "max_seq_len",
                                                                      "max_length",
                                                                      "block_size",
                                                                      "cutoff_len",
                                                                      "model_max_length",
                                                                      "optim",
                                                                      "use_peft",
                                                                      "use_lora",
                                                                      "lora_enable",
                                                                      "lora_r",
                                                                      "lora_rank",
                                                                      "lora_dim",
                                                                      "only_optimize_lora",
                                                                      "lora_target_modules",
                                                                      "lora_target",
                                                                      "load_in_4bit",
                                                                      "load_in_8bit",
                                                                      "packing",
                                                                      "torch_compile",
                                                                      "attn_implementation",
                                                                      "use_liger_kernel",
                                                                      "finetuning_type"});

bool trainer_switch(std::string_view name) {
  return name == "bf16" || name == "fp16" || name == "gradient_checkpointing" ||
         name == "packing" || name == "use_peft" || name == "use_lora" || name == "lora_enable" ||
         name == "only_optimize_lora" || name == "load_in_4bit" || name == "load_in_8bit";
}

constexpr ArgumentKnowledge kTrainerArguments = {trainer_reads, trainer_switch};
constexpr ArgumentKnowledge kMegatronArguments = {megatron_reads, megatron_switch};

/// HfArgumentParser takes the beginning of an argument's name for all of it, where one has it.
Result<void> check_in_full(const Argument& argument) {
  constexpr size_t kShortest = 8;
  const std::string& name = argument.name;
  if (name.size() < kShortest || !base::contains(name, "_") || trainer_reads(name) ||
      classify("trainer", name, "").kind != Leftover::Kind::kUnknown)
    return {};
  for (const std::string_view whole : kTrainerNames)
    if (whole.starts_with(name))
      return input_error("{}: --{} is not known here; allowed: --{}, written in full",
                         argument.where, name, whole);
  return {};
}

/// The words of QLoRA's own program and what it does without them, as the Trainer's.
void add_words_of_qlora(std::vector<TrainerArgument>& list) {
  int64_t length = 0;
  int line = 0;
  const auto said = [&](std::string_view name, std::string_view fallback) {
    const auto found = std::ranges::find(list, name, &TrainerArgument::name);
    std::string value(fallback);
    if (found == list.end()) return value;
    value = found->value;
    line = found->line;
    list.erase(found);
    return value;
  };
  const auto add = [&](std::string name, std::string value) {
    list.push_back({std::move(name), std::move(value), line});
  };
  for (const auto& [name, fallback] :
       {std::pair("source_max_len", "1024"), {"target_max_len", "256"}})
    length += base::parse_integer(said(name, fallback)).value_or(0);
  if (std::ranges::find(list, "max_seq_length", &TrainerArgument::name) == list.end())
    add("max_seq_length", std::to_string(length));
  const std::string full = base::lower(said("full_finetune", "false"));
  const bool adapts = full == "false" || full == "0";
  const std::string bits = said("bits", adapts ? "4" : "16");
  if (bits == "4" || bits == "8") add(bits == "4" ? "load_in_4bit" : "load_in_8bit", "true");
  add("bnb_4bit_use_double_quant", said("double_quant", "true"));
  add("bnb_4bit_quant_type", said("quant_type", "nf4"));
  const std::string modules = said("lora_modules", "all");
  if (adapts) add("lora_target_modules", modules == "all" ? "all-linear" : "");
  if (!adapts) said("lora_r", "");
  for (const auto& [name, fallback] : {std::pair("lora_r", "64"),
                                       {"gradient_checkpointing", "true"},
                                       {"per_device_train_batch_size", "1"},
                                       {"gradient_accumulation_steps", "16"}})
    if (std::ranges::find(list, name, &TrainerArgument::name) == list.end() &&
        (adapts || name != std::string_view("lora_r")))
      list.push_back({name, fallback, 0});
}

}  // namespace

bool trainer_reads(std::string_view name) { return base::contains(kTrainerNames, name); }

Result<Reading> ProgramReader::accelerate() const {
  std::map<std::string, std::string, std::less<>> known;
  for (const auto& [name, value] : launch_.environment)
    if (!ShellUnknowns::in(value)) known[name] = value;
  spec::FlatYaml values = accelerate_environment(known, run_.session.where(launch_.line));
  std::string file = run_.session.name;
  if (const auto own = accelerate_file_of_trl(launch_.accelerate_config);
      own && is_trl(launch_.program)) {
    for (const auto& [key, value] : *own) values[key] = value;
  } else if (!launch_.accelerate_config.empty()) {
    file = launch_.accelerate_config;
    ERGOMETER_ASSIGN(const std::string text,
                     text_of(file, launch_.line, "accelerate's --config_file"));
    ERGOMETER_ASSIGN(const spec::FlatYaml written, spec::flatten_yaml(text, file));
    for (const auto& [key, value] : written) values[key] = value;
  }
  for (const auto& [name, word] : launch_.accelerate_words) {
    const auto [key, value] = accelerate_value(name, word.text);
    const bool idle = classify("accelerate", key, "").kind == Leftover::Kind::kNoEffect;
    const bool of_section = base::contains(key, ".") || key == "mixed_precision";
    if (value == "(nothing)" && of_section && !idle)
      return input_error("{}: --{}: found nothing; allowed: a value", run_.session.where(word.line),
                         name);
    if (key.empty() || value == "(nothing)" || idle) continue;
    // A file that the script wrote is known, whatever of the run is in its name.
    if (!ShellUnknowns::in(value) || written_file(run_.state, value) != nullptr)
      values[key] = {value, -1, run_.session.where(word.line)};
    else if (key.starts_with("num_"))  // how many GPUs: the launch says why they are not known
      values.erase(key);               // the file's counts no longer
    else
      return input_error("{}: --{} depends on {}", run_.session.where(word.line), name,
                         run_.session.unknowns.reason(value));
  }
  if (values.empty()) return Reading();
  // Written by the script, DeepSpeed's file lies nowhere yet.
  constexpr std::string_view kFile = "deepspeed_config.deepspeed_config_file";
  Reading deepspeed;
  if (const auto it = values.find(kFile);
      it != values.end() && written_file(run_.state, it->second.text) != nullptr) {
    const std::string path = it->second.text;
    ERGOMETER_ASSIGN(const std::string text, text_of(path, launch_.line, kFile));
    ERGOMETER_ASSIGN(deepspeed, parse_deepspeed(text, path));
    values.erase(it);
  }
  // Without a file accelerate looks at what it was given and at the node.
  if (launch_.accelerate_config.empty() && !values.contains("distributed_type"))
    values["distributed_type"] = {"MULTI_GPU", 0, file + ", accelerate's default"};
  ERGOMETER_ASSIGN(Reading reading, read_accelerate(values, file));
  add_reading(reading, std::move(deepspeed));
  return reading;
}

std::string ProgramReader::own_path() const {
  std::string path = launch_.program;
  if (path.ends_with(".py")) return path;
  std::ranges::replace(path, '.', '/');
  return path + ".py";
}

Result<std::string> ProgramReader::own_text() const {
  return text_of(own_path(), launch_.line, launch_.name);
}

Result<spec::FlatYaml> ProgramReader::values_of_file(const std::string& text,
                                                     const std::string& path) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, trainer_values(text, path));
  for (auto& [key, value] : values) {
    value.from = fmt::format("{}:{}", path, value.line);
    const bool names = key == "deepspeed" || key == "fsdp_config";
    const std::string beside = names ? file_beside(value.text, path) : "";
    if (!beside.empty()) value.text = beside;
  }
  return values;
}

bool ProgramReader::names_file(size_t word) const {
  const std::string path = value_of_file(word);
  const bool its_own = word == 0 || names_[word] == "config" || names_[word - 1] == "config";
  return its_own && (path.ends_with(".json") || path.ends_with(".yaml") || path.ends_with(".yml"));
}

std::string ProgramReader::value_of_file(size_t word) const {
  const std::string& text = launch_.arguments[word].text;
  const size_t equals = names_[word] == "config" ? text.find('=') : text.npos;
  return equals == text.npos ? text : text.substr(equals + 1);
}

PythonStart ProgramReader::own_start() const {
  PythonStart start{launch_.environment, {}, "--script-adds"};
  for (const ShellText& word : launch_.arguments) start.words.push_back(word.text);
  for (size_t i = 0; i < launch_.arguments.size(); ++i)
    if (names_file(i))
      if (const auto text = text_of(value_of_file(i), launch_.line, launch_.name);
          text && form_of(*text, value_of_file(i)) == FileForm::kTrainer)
        if (const auto values = spec::flatten_yaml(*text, value_of_file(i)))
          for (const auto& [key, value] : *values) start.file_words[key] = value.text;
  if (launch_.gpus > 0) start.environment["WORLD_SIZE"] = std::to_string(launch_.gpus);
  return start;
}

Result<std::optional<TrainerProgram>> ProgramReader::own_program() const {
  const std::string path = own_path();
  const auto text = own_text();
  if (!text || form_of(*text, path) != FileForm::kTrainerPython)
    return std::optional<TrainerProgram>();
  ERGOMETER_ASSIGN(TrainerProgram program, trainer_program(*text, path, own_start()));
  for (auto& [name, value] : program.values)
    if (value.line > 0) value.from = fmt::format("{}:{}", path, value.line);
  return std::optional<TrainerProgram>(std::move(program));
}

/// What only the program itself knows is no misspelt word.
void ProgramReader::note_own_words(const TrainerProgram& program, Reading& reading) const {
  std::vector<std::string> own;
  std::erase_if(reading.leftovers, [&](const Leftover& it) {
    const bool ours = it.kind == Leftover::Kind::kUnknown && program.own.contains(it.name);
    if (ours) own.push_back(it.name);
    return ours;
  });
  if (!own.empty())
    reading.notes.push_back(fmt::format("words of {} itself, whose use of them is not read: {}",
                                        launch_.name, fmt::join(own, ", ")));
}

Result<std::vector<TrainerArgument>> ProgramReader::trainer_words(
    const std::vector<Argument>& arguments, TrainerProgram* program, bool beside_file,
    Reading& files, spec::Settings& written) const {
  std::vector<TrainerArgument> list;
  // Words of the command line have no lines.
  const auto line_in = [&](std::string_view name) {
    const int line = line_of(name) % kLinesOfFile;
    return line == 0 ? -1 : line;
  };
  ERGOMETER_ASSIGN(const bool reads_deepspeed, read_lone_deepspeed(arguments, program, files));
  for (const Argument& argument : arguments) {
    if (program != nullptr && !program->takes_words) break;
    if (program != nullptr && program->changed.contains(argument.name)) {
      program->notes.push_back(
          fmt::format("{}: --{} says nothing: {} changes it once its words are read",
                      argument.where, argument.name, own_path()));
      continue;
    }
    if (program == nullptr || !program->own.contains(argument.name))
      ERGOMETER_TRY(check_in_full(argument));
    // A file that the script wrote is known, whatever of the run is in its name.
    if (!argument.unknown.empty() && written_file(run_.state, argument.value) == nullptr) {
      if (trainer_reads(argument.name)) ERGOMETER_TRY(check_known(argument));
      continue;
    }
    if (argument.name == "deepspeed" && written_file(run_.state, argument.value) != nullptr) {
      ERGOMETER_ASSIGN(const std::string text,
                       text_of(argument.value, line_of("deepspeed"), "--deepspeed"));
      ERGOMETER_ASSIGN(Reading deepspeed, parse_deepspeed(text, argument.value));
      written = deepspeed.settings;
      add_reading(files, std::move(deepspeed));
      continue;
    }
    const auto* published = argument.name == "deepspeed" ? published_file(argument.value) : nullptr;
    if (published != nullptr && !takes_published(*published, argument.value))
      ERGOMETER_TRY(text_of(argument.value, line_of("deepspeed"), "--deepspeed"));
    if (argument.name == "fsdp_config" && written_file(run_.state, argument.value) != nullptr) {
      ERGOMETER_ASSIGN(const std::string text,
                       text_of(argument.value, line_of("fsdp_config"), "--fsdp_config"));
      ERGOMETER_ASSIGN(const spec::FlatYaml inner, flatten_json(text, argument.value));
      for (const auto& [key, value] : inner)
        list.push_back({"fsdp_config." + key, value.text, line_in(argument.name)});
      continue;
    }
    if (argument.name == "deepspeed" && argument.list.empty()) {
      ERGOMETER_TRY(read_own_deepspeed(arguments, files));
      continue;
    }
    const bool own = argument.name == "deepspeed_config" || argument.name == "zero_stage" ||
                     argument.name == "offload" || argument.name == "dtype";
    if (own && (has("deepspeed") || reads_deepspeed)) continue;
    // Its words may be another framework's, whose file says the rest.
    if (beside_file && !trainer_reads(argument.name) && argument.name != "deepspeed") continue;
    // A file's name is one word, and what stands behind it is the program's.
    const std::string& value = argument.name == "deepspeed" ? argument.value : argument.list;
    list.push_back({argument.name, value, line_in(argument.name)});
  }
  return list;
}

Result<Reading> ProgramReader::trainer(std::optional<Reading> file, FileForm form,
                                       std::optional<TrainerProgram> program) {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kTrainerArguments));
  ERGOMETER_ASSIGN(Reading files, accelerate());
  const bool file_only = file.has_value();
  // The word that named the file.
  if (file_only && program) program->values.erase("config");
  // Words switch off what a file of arguments switches on, so that both are read as one.
  const bool of_arguments = file_only && !file_values_.empty();
  if (file && !of_arguments) add_reading(files, *std::move(file));
  if (form == FileForm::kAxolotl) return files;
  spec::Settings written;
  ERGOMETER_ASSIGN(
      std::vector<TrainerArgument> list,
      trainer_words(arguments, program ? &*program : nullptr, file_only, files, written));
  const bool of_qlora = launch_.name == "qlora.py" && !program;
  if (of_qlora) add_words_of_qlora(list);
  // Unsloth's own program adapts all linear layers, and quantizes scales as well.
  const bool unsloth = base::contains(launch_.name, "unsloth");
  if (unsloth && !program)
    for (const auto& [name, value] :
         {std::pair("lora_target_modules", "all-linear"), {"bnb_4bit_use_double_quant", "true"}})
      list.push_back({name, value, 0});
  const auto counted = [&](Reading reading) {
    const auto* software = reading.settings.find("software");
    OwnProcesses own = program ? program->processes : OwnProcesses();
    if (unsloth) own.one = "Unsloth", own.from = {run_.session.where(launch_.line), "Unsloth"};
    if (of_qlora) own.one = "qlora.py", own.from = {run_.session.where(launch_.line), "qlora.py"};
    count_alone(own, software == nullptr || software->text != "deepspeed", reading);
    return reading;
  };
  if (list.empty() && !program && !of_arguments) return counted(std::move(files));
  TrainerKind kind = program ? program->kind : trainer_kind();
  if (of_arguments && kind == TrainerKind::kPlain) kind = kind_of_trainer_file(file_values_);
  // A program that takes words takes the file's over its own defaults.
  spec::FlatYaml values = program ? program->values : spec::FlatYaml();
  for (const auto& [key, value] : file_values_)
    if (of_arguments && (!program || (program->takes_words && !program->changed.contains(key)) ||
                         !values.contains(key)))
      values[key] = value;
  ERGOMETER_ASSIGN(Reading reading,
                   read_trainer_arguments(list, run_.session.name, kind, std::move(values)));
  ERGOMETER_TRY(check_batches_agree(reading.settings, written));
  if (program) {
    note_own_words(*program, reading);
    add_findings(*program, reading);
  }
  add_reading(files, std::move(reading));
  return counted(std::move(files));
}

TrainerKind ProgramReader::trainer_kind() const {
  return is_trl(launch_.program) || is_script_of_trl(launch_.program) ? TrainerKind::kTrl
         : is_llama_factory(launch_.program)                          ? TrainerKind::kLlamaFactory
                                                                      : TrainerKind::kPlain;
}

Result<void> ProgramReader::add_deepspeed(const Argument& config, Reading& files) const {
  ERGOMETER_TRY(check_known(config));
  ERGOMETER_ASSIGN(const std::string text,
                   text_of(config.value, line_of(config.name), "--deepspeed_config"));
  ERGOMETER_ASSIGN(Reading deepspeed, parse_deepspeed(text, config.value));
  add_reading(files, std::move(deepspeed));
  return {};
}

Result<bool> ProgramReader::read_lone_deepspeed(const std::vector<Argument>& arguments,
                                                const TrainerProgram* program,
                                                Reading& files) const {
  const auto config = std::ranges::find(arguments, "deepspeed_config", &Argument::name);
  if (config == arguments.end() || has("deepspeed")) return false;
  const std::string text = own_text().value_or("");
  const bool by_parser =
      base::contains(text, "HfArgumentParser") || base::contains(text, "TrlParser") ||
      (text.empty() && (is_trl(launch_.program) || is_llama_factory(launch_.program)));
  // deepspeed.initialize takes the file, whether --deepspeed stands beside it or not.
  if (base::contains(text, "add_config_arguments(") || base::contains(text, "--deepspeed_config") ||
      (!by_parser && base::contains(text, "deepspeed.initialize("))) {
    ERGOMETER_TRY(add_deepspeed(*config, files));
    return true;
  }
  // What the parser leaves over goes nowhere: a word that is not known here either.
  if (base::contains(text, "return_remaining_strings=True") ||
      base::contains(text, "parse_known_args("))
    return false;
  const bool is_used = program != nullptr && program->values.contains("deepspeed");
  if (program != nullptr && program->own.contains(config->name)) {
    if (is_used) return false;
    return input_error(
        "{}: --{} is a word of {} itself, whose use of it is not read; --deepspeed FILE is what "
        "the Trainer reads",
        config->where, config->name, launch_.name);
  }
  // A program without a parser, or with one of another module's, may take it or pass it over.
  if (!by_parser) return false;
  return input_error(
      "{}: --{} is no argument of the Trainer's, whose parser refuses it; "
      "allowed: --deepspeed FILE",
      config->where, config->name);
}

Result<void> ProgramReader::read_own_deepspeed(const std::vector<Argument>& arguments,
                                               Reading& files) const {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(arguments, name, &Argument::name);
  };
  // `--deepspeed --deepspeed_config FILE`, what deepspeed.add_config_arguments takes.
  if (const auto config = find("deepspeed_config"); config != arguments.end())
    return add_deepspeed(*config, files);
  const auto stage = find("zero_stage");
  if (stage == arguments.end())
    return input_error(
        "{}: --deepspeed without a file: {} makes its own configuration, which is not known "
        "here; --script-adds \"--deepspeed FILE.json\" says one",
        run_.session.where(line_of("deepspeed")), launch_.name);
  ERGOMETER_TRY(check_known(*stage));
  const auto number = base::parse_integer(stage->value);
  if (!number || *number < 0 || *number > 3)
    return input_error("{}: --zero_stage: found \"{}\"; allowed: 0, 1, 2 or 3", stage->where,
                       stage->value);
  spec::Settings& settings = files.settings;
  settings.set("zero", stage->value, {stage->where, "--zero_stage"});
  if (const auto offload = find("offload"); offload != arguments.end())
    settings.set("optimizer_cpu_offload", "true", {offload->where, "--offload"});
  const auto type = find("dtype");
  const std::string precision = type == arguments.end() ? "fp16" : type->value;
  if (precision == "fp16" || precision == "bf16")
    settings.set("precision", precision,
                 {type == arguments.end() ? stage->where : type->where,
                  type == arguments.end() ? "DeepSpeed-Chat's default" : "--dtype"});
  spec::set_framework(settings, "deepspeed", run_.session.name);
  set_deepspeed_defaults(*number, run_.session.name, files);
  return {};
}

Result<Reading> ProgramReader::parse_axolotl_program(const std::string& text,
                                                     const std::string& path) const {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kTrainerArguments));
  spec::FlatYaml overrides;
  ERGOMETER_TRY(add_written_deepspeed(text, path, overrides));
  for (const Argument& argument : arguments) {
    const bool off = argument.name.starts_with("no_");
    const std::string key = off ? argument.name.substr(3) : argument.name;
    if (classify("axolotl", key, "").kind == Leftover::Kind::kNoEffect) continue;
    ERGOMETER_TRY(check_known(argument));
    const std::string bare = off ? "false" : "true";
    overrides[key] = {argument.list.empty() ? bare : argument.list, -1, argument.where};
  }
  return parse_axolotl(text, path, overrides);
}

Result<Reading> ProgramReader::parse_llama_factory(const std::string& text,
                                                   const std::string& path) const {
  spec::FlatYaml overrides;
  for (const ShellText& word : launch_.arguments) {
    const size_t equals = word.text.find('=');
    if (word.text.starts_with('-') || equals == word.text.npos) continue;
    const std::string key = word.text.substr(0, equals), value = word.text.substr(equals + 1);
    if (!ShellUnknowns::in(value)) {
      overrides[key] = {value, -1, run_.session.where(word.line)};
      continue;
    }
    if (trainer_reads(key))
      return input_error("{}: {} depends on {}", run_.session.where(word.line), key,
                         run_.session.unknowns.reason(value));
  }
  ERGOMETER_TRY(add_written_deepspeed(text, path, overrides));
  return parse_trainer_file(text, path, overrides);
}

Result<void> ProgramReader::add_written_deepspeed(const std::string& text, const std::string& path,
                                                  spec::FlatYaml& overrides) const {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, path));
  for (const auto& [key, value] : overrides) values[key] = value;
  const auto named = values.find("deepspeed");
  if (named == values.end() || written_file(run_.state, named->second.text) == nullptr) return {};
  const std::string file = named->second.text;
  ERGOMETER_ASSIGN(const std::string written, text_of(file, launch_.line, "deepspeed"));
  ERGOMETER_ASSIGN(const spec::FlatYaml inner, flatten_json(written, file));
  overrides["deepspeed"] = {"", named->second.line};
  for (const auto& [key, value] : inner)
    overrides["deepspeed." + key] = {value.text, value.line,
                                     fmt::format("{}:{}", file, value.line)};
  return {};
}

Result<Reading> ProgramReader::primus(Reading file) const {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kMegatronArguments));
  std::vector<Argument> said;
  for (const Argument& argument : arguments)
    if (argument.name != "config") said.push_back(argument);
  ERGOMETER_ASSIGN(const Reading words, read_megatron(said, run_.session.name));
  file.leftovers.insert(file.leftovers.end(), words.leftovers.begin(), words.leftovers.end());
  for (const auto& [name, value] : words.settings.all())
    if (value.origin.key.starts_with("--")) file.settings.set(name, value.text, value.origin);
  return file;
}

}  // namespace ergometer::intake
