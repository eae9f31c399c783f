#include "intake/trainer/trainer_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_changes.h"
#include "intake/reader/python_names.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/python_values.h"
#include "intake/trainer/model_changes.h"
#include "intake/trainer/own_loop.h"
#include "intake/trainer/own_wrapping.h"
#include "intake/trainer/program_text.h"
#include "intake/trainer/torch_calls.h"

namespace ergometer::intake {
namespace {

/// Arguments that a prediction needs: what is no literal here is refused.
constexpr std::array<std::string_view, 26> kMatters = {"fsdp_config",
                                                       "parallelism_config",
                                                       "tp_plan",
                                                       "tp_size",
                                                       "torch_compile",
                                                       "model_max_length",
                                                       "block_size",
                                                       "cutoff_len",
                                                       "per_device_train_batch_size",
                                                       "per_gpu_train_batch_size",
                                                       "gradient_accumulation_steps",
                                                       "bf16",
                                                       "fp16",
                                                       "gradient_checkpointing",
                                                       "fsdp",
                                                       "deepspeed",
                                                       "max_seq_length",
                                                       "max_length",
                                                       "optim",
                                                       "packing",
                                                       "use_liger_kernel",
                                                       "lora_r",
                                                       "lora_target_modules",
                                                       "load_in_4bit",
                                                       "load_in_8bit",
                                                       "attn_implementation"};

/// Of a file: whoever writes by hand stays below, and what is read of a name is looked up in all of
/// the text.
constexpr size_t kMostCalls = 100, kMostArguments = kMostPythonArguments;

/// A class or function whose arguments are read.
enum class Callee { kArguments, kTrlArguments, kAdapters, kQuantizes, kParallel, kLoads, kTrains };
constexpr bool makes_arguments(Callee callee) { return callee <= Callee::kTrlArguments; }
struct CalleeName {
  std::string_view name;
  Callee callee;
};
constexpr std::array kCallees = std::to_array<CalleeName>({
    {"TrainingArguments", Callee::kArguments},
    {"Seq2SeqTrainingArguments", Callee::kArguments},
    {"UnslothTrainingArguments", Callee::kArguments},
    {"SFTConfig", Callee::kTrlArguments},
    {"DPOConfig", Callee::kTrlArguments},
    {"ORPOConfig", Callee::kTrlArguments},
    {"KTOConfig", Callee::kTrlArguments},
    {"RewardConfig", Callee::kTrlArguments},
    {"LoraConfig", Callee::kAdapters},
    {"get_peft_model", Callee::kAdapters},
    {"BitsAndBytesConfig", Callee::kQuantizes},
    {"ParallelismConfig", Callee::kParallel},
    {"from_pretrained", Callee::kLoads},
    {"Trainer", Callee::kTrains},
    {"SFTTrainer", Callee::kTrains},
    {"DPOTrainer", Callee::kTrains},
});

/// Arguments of from_pretrained(...), transformers' and Unsloth's, whose misspelling would be
/// another job, and those that look like them; what is none of them may be the model's own.
constexpr std::array kOfLoading = std::to_array<std::string_view>({"pretrained_model_name_or_path",
                                                                   "model_name",
                                                                   "load_in_4bit",
                                                                   "load_in_8bit",
                                                                   "load_in_16bit",
                                                                   "load_in_fp8",
                                                                   "attn_implementation",
                                                                   "_attn_implementation",
                                                                   "torch_dtype",
                                                                   "max_seq_length",
                                                                   "max_length",
                                                                   "tp_plan",
                                                                   "tp_size",
                                                                   "tp_degree",
                                                                   "device_map",
                                                                   "device_mesh",
                                                                   "quantization_config",
                                                                   "distributed_config",
                                                                   "full_finetuning",
                                                                   "ep_size",
                                                                   "use_flash_attention_2"});
/// The same of get_peft_model(...), PEFT's and Unsloth's.
constexpr std::array kOfUnslothAdapters = std::to_array<std::string_view>(
    {"model", "peft_config", "target_modules", "target_parameters", "modules_to_save",
     "layers_to_transform", "layers_pattern", "use_dora", "use_rslora",
     "use_gradient_checkpointing", "lora_alpha", "lora_dropout", "adapter_name"});
/// The same of the Trainer and TRL's.
constexpr std::array kOfTrainers = std::to_array<std::string_view>(
    {"model", "args", "max_seq_length", "packing", "peft_config", "train_dataset", "eval_dataset",
     "model_init", "model_init_kwargs"});

/// What a class of arguments may say besides those that derive from the Trainer's own.
constexpr std::array kOfAnyClass = std::to_array<std::string_view>(
    {"model_name_or_path", "model_max_length", "max_seq_length", "max_length", "block_size",
     "cutoff_len", "attn_implementation"});

class ArgumentsReader : ProgramPart {
 public:
  explicit ArgumentsReader(ProgramText& from) : ProgramPart(from) {}

  Result<void> read() {
    for (const CalleeName& it : kCallees)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_definition(at) || is_left_alone(it.callee, at) || is_not_reached(it, at, open))
          continue;
        place_ = at;
        note_trl(it.name, it.callee);
        ERGOMETER_TRY(refuse_branch(it, at, open));
        of_peft_ = it.name == "LoraConfig";
        ERGOMETER_TRY(read_call(it.callee, arguments_of_call(text_, open)));
        if (of_peft_) note_default_rank(at);
        is_called_ = is_called_ || makes_arguments(it.callee);
        if (makes_arguments(it.callee)) ERGOMETER_TRY(read_made(at, open));
      }
    ERGOMETER_TRY(read_argument_classes());
    return read_parsed_objects();
  }
  /// Whether a call makes the Trainer's own arguments.
  bool is_called() const { return is_called_; }

 private:
  void note_trl(std::string_view name, Callee callee) {
    if (callee != Callee::kTrlArguments) return;
    program_.kind = TrainerKind::kTrl;
    if (name != "SFTConfig" && program_.leftovers.empty())
      program_.leftovers.push_back(preference_training(name, file_));
  }
  /// PEFT's own, where LoraConfig(...) is told of none.
  void note_default_rank(size_t at) {
    program_.values.try_emplace(
        "lora_r",
        spec::FlatValue{"8", -1, fmt::format("{}:{}, PEFT's default", file_, line_at(text_, at))});
  }
  /// The Trainer's or TRL's own class that a class is or derives from; null: none.
  const CalleeName* configuration(const std::string& class_name) const {
    std::vector<std::string> classes = {class_name};
    for (size_t i = 0; i < classes.size() && i < 8; ++i) {
      for (const CalleeName& it : kCallees)
        if (it.callee <= Callee::kTrlArguments && it.name == classes[i]) return &it;
      for (std::string& base : values_.names().bases(classes[i])) classes.push_back(base);
    }
    return nullptr;
  }
  /// HfArgumentParser: the defaults of its classes below the words of the command line, which the
  /// Trainer's own class takes as well.
  Result<void> read_argument_classes() {
    const std::vector<std::string> classes = values_.argument_classes();
    for (const auto& [at, open] : calls_of(text_, "set_defaults"))
      for (const PythonArgument& it : arguments_of_call(text_, open))
        if (!classes.empty() && !it.name.empty())
          ERGOMETER_TRY(read_default(classes.front(), {it.name, it.value, at}));
    for (const std::string& name : classes) {
      const CalleeName* own = configuration(name);
      if (own != nullptr) note_trl(own->name, own->callee);
      for (const PythonField& field : values_.names().fields(name)) {
        program_.own.insert(field.name);
        if (base::contains(kOfAnyClass, field.name) ||
            (own != nullptr && base::contains(kMatters, field.name)))
          ERGOMETER_TRY(read_default(name, field));
      }
      if (own == nullptr) continue;
      program_.takes_words = true;
      for (const auto& [word, value] : values_.words())
        program_.values.try_emplace(word, spec::FlatValue{value, -1});
    }
    return {};
  }
  /// What becomes of the object that a call makes.
  Result<void> read_made(size_t at, size_t open) {
    const size_t end = behind_bracket(text_, open);
    if (text_.compare(end, 5, ".set_") == 0) return read_change({at, "", ""});
    const std::string name = statements_.assigned(at);
    return statements_.nested(at) && name.empty() ? Result<void>() : read_changes(name, at);
  }
  /// What becomes of the objects that the parser makes: `training_args.bf16 = True`.
  Result<void> read_parsed_objects() {
    const std::vector<std::string> classes = values_.argument_classes();
    for (const std::string& name : classes)
      if (configuration(name) != nullptr) ERGOMETER_TRY(read_own_changes(name));
    for (const std::string_view call : kArgumentParsers)
      for (const size_t at : words_of(text_, call)) {
        const std::string_view statement = statements_.statement(at);
        const size_t equals = assignment_in(statement);
        if (equals >= statement.size()) continue;
        const std::vector<std::string> names = python_targets(statement.substr(0, equals));
        for (size_t i = 0; i < std::min(names.size(), classes.size()); ++i)
          if (configuration(classes[i]) != nullptr) ERGOMETER_TRY(read_changes(names[i], at));
      }
    return {};
  }
  /// `self.bf16 = True` in the class' own __post_init__.
  Result<void> read_own_changes(const std::string& class_name) {
    const size_t at = values_.names().definition("class", class_name);
    if (at == PythonNames::kModule) return {};
    for (const size_t child : statements_.children(at))
      if (statements_.statement(child).starts_with("def __post_init__("))
        for (const PythonChange& it : python_changes(values_, statements_, text_, "self", child))
          if (values_.names().scope(it.at) == child) ERGOMETER_TRY(read_change(it));
    return {};
  }
  Result<void> read_default(const std::string& class_name, const PythonField& field) {
    if (program_.values.contains(field.name)) return {};
    const auto value = values_.argument_of(class_name, field.name);
    const int line = line_at(text_, field.at);
    const auto text = value ? yaml_text(*value) : std::nullopt;
    if (text && *text == "None") return {};
    if (text) return add(field.name, *text, line);
    place_ = field.at;
    return add_argument({field.name, field.value, line});
  }

  /// A configuration that is made and given to nothing: of quantization, or of adapters.
  bool is_left_alone(Callee callee, size_t at) const {
    if (callee != Callee::kQuantizes && callee != Callee::kAdapters) return false;
    const std::string name = statements_.assigned(at);
    const bool given = callee == Callee::kQuantizes ? !calls_of(text_, "from_pretrained").empty()
                                                    : text_.find("Trainer(") != text_.npos;
    return given && !name.empty() && words_of(text_, name).size() == 1;
  }

  /// What surely does not run: configurations alone, for where a model is loaded says which.
  bool is_not_reached(const CalleeName& it, size_t at, size_t open) {
    if (const auto reached = values_.reached(at, true); reached && !*reached) return true;
    if (const auto taken = taken_behind(behind_bracket(text_, open)); taken && !*taken) return true;
    if (it.callee != Callee::kAdapters) return false;
    const auto chosen = choice(statements_.assigned(at));
    return chosen && chosen->second && !*chosen->second;
  }
  /// Where `if CONDITION else ...` begins behind a place in the same statement; npos: nowhere.
  size_t condition_behind(size_t end) const {
    const size_t next = text_.find_first_not_of(" \t\r\n", end);
    const bool there = next != text_.npos && text_.compare(next, 3, "if ") == 0 &&
                       statements_.start(next) == statements_.start(end);
    return there ? next : text_.npos;
  }
  /// Whether what ends there is taken by the condition behind it: `Call(...) if args.lora else
  /// None`.
  std::optional<bool> taken_behind(size_t end) {
    const size_t next = condition_behind(end);
    if (next == text_.npos) return std::nullopt;
    return values_.condition(std::string_view(text_).substr(next + 2, 200), next);
  }
  /// What only one of several ways through the script does.
  Result<void> refuse_branch(const CalleeName& it, size_t at, size_t open) {
    if (it.callee >= Callee::kLoads) return {};
    const size_t end = behind_bracket(text_, open);
    int branch = taken_behind(end) ? 0 : statements_.conditional(at, end);
    if (branch == 0 && !values_.reached(at, true)) branch = statements_.branch(at, end);
    if (it.callee == Callee::kAdapters)
      if (const auto chosen = choice(statements_.assigned(at)); chosen && !chosen->second)
        branch = chosen->first;
    if (branch == 0) return {};
    return in_branch(line_at(text_, at), fmt::format("{}(...)", it.name), branch);
  }
  /// Line of `NAME if CONDITION else ...`, and whether NAME is taken.
  std::optional<std::pair<int, std::optional<bool>>> choice(const std::string& name) {
    if (name.empty()) return std::nullopt;
    for (const size_t at : words_of(text_, name)) {
      const size_t next = condition_behind(at + name.size());
      if (next == text_.npos) continue;
      const std::string_view rest = std::string_view(text_).substr(next + 2, 200);
      return std::pair(line_at(text_, at), values_.condition(rest, at));
    }
    return std::nullopt;
  }

  /// args.bf16 = True behind what makes `args`: the last word counts.
  Result<void> read_changes(const std::string& name, size_t made) {
    for (const PythonChange& it : python_changes(values_, statements_, text_, name, made))
      ERGOMETER_TRY(read_change(it));
    return {};
  }
  Result<void> read_change(const PythonChange& change) {
    const std::string& name = change.attribute;
    const auto reached = values_.reached(change.at, true);
    if (reached && !*reached) return {};
    const bool matters = name.empty() || base::contains(kMatters, name);
    const int line = line_at(text_, change.at);
    if (matters && change.expression.empty())
      return input_error(
          "{}:{}: found {}, which changes what was said above; write it as an argument of the call",
          file_, line, trimmed(statements_.statement(change.at)).substr(0, 60));
    if (!reached && matters)
      return in_branch(line, name, statements_.branch(change.at, change.at + name.size()));
    if (change.expression.empty()) return {};
    ERGOMETER_TRY(count({PythonArgument{}}));
    program_.values.erase(name);
    program_.changed.insert(name);
    place_ = change.at;
    return add_argument({name, change.expression, line});
  }

  Result<void> read_call(Callee callee, const std::vector<PythonArgument>& arguments) {
    ++calls_;
    ERGOMETER_TRY(count(arguments));
    if (callee == Callee::kLoads) ERGOMETER_TRY(read_full_finetuning(arguments));
    for (const PythonArgument& argument : arguments) {
      const bool spreads = argument.value.starts_with("**") && callee != Callee::kTrains;
      ERGOMETER_TRY(spreads ? read_spread(callee, argument)
                            : read_argument(callee, argument, argument.line));
    }
    return {};
  }
  /// Unsloth trains all weights in BF16 unless it is told of another type.
  Result<void> read_full_finetuning(const std::vector<PythonArgument>& arguments) {
    const auto says = [&](std::string_view name) {
      const auto it = argument_of(arguments, name, text_.npos);
      return it ? values_.text(it->value, place_).value_or("") : "None";
    };
    const bool is_full =
        says("full_finetuning") == "true" && base::contains(statements_.statement(place_), "Fast");
    if (!is_full || says("dtype") != "None" || says("float32_mixed_precision") == "true") return {};
    return add("torch_dtype", "bfloat16", line_at(text_, place_));
  }
  /// TrainingArguments(**common): the items of a dictionary that is known.
  Result<void> read_spread(Callee callee, const PythonArgument& argument) {
    const std::string name = trimmed(std::string_view(argument.value).substr(2));
    const auto items = values_.value(name, place_);
    if (!items || !items->is_object())
      return input_error(
          "{}:{}: found **{}, which is known only when the script runs; a dictionary of literals "
          "that is written once can be read",
          file_, argument.line, name.substr(0, 60));
    for (const auto& [key, item] : items->items()) {
      const PythonArgument one{key, python_literal(item), argument.line};
      ERGOMETER_TRY(count({one}));
      ERGOMETER_TRY(read_argument(callee, one, one.line));
    }
    return {};
  }
  Result<void> count(const std::vector<PythonArgument>& arguments) {
    arguments_ += arguments.size();
    if (calls_ <= kMostCalls && arguments_ <= kMostArguments) return {};
    return input_error(
        "{}: found more than {} calls that configure training, or more than {} arguments of them; "
        "allowed: as many as a script has that is written by hand",
        file_, kMostCalls, kMostArguments);
  }

  Result<void> read_argument(Callee callee, PythonArgument argument, int line) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return base::contains(names, argument.name);
    };
    const bool loads = callee == Callee::kLoads, trains = callee == Callee::kTrains;
    if ((loads && is({"", "model_name", "pretrained_model_name_or_path"})) ||
        (trains && is({"", "model"}))) {
      const auto name = values_.value(argument.value, place_);
      const bool named = name && name->is_string();
      return named ? add("model_name_or_path", name->get<std::string>(), line) : Result<void>();
    }
    if (argument.name.empty()) return {};
    // Unsloth's own configuration of bitsandbytes quantizes the scales as well.
    if (loads && is({"load_in_4bit"}) && base::contains(statements_.statement(place_), "Fast"))
      program_.values.try_emplace("bnb_4bit_use_double_quant", spec::FlatValue{"true", line});
    if (loads && is({"torch_dtype", "dtype"})) return add_type(argument);
    if (loads) tell_misspelt(argument.name, line, kOfLoading);
    if (trains && is_library_trainer()) tell_misspelt(argument.name, line, kOfTrainers);
    if (loads && !is({"load_in_4bit", "load_in_8bit", "attn_implementation", "max_seq_length",
                      "tp_plan", "tp_size"}))
      return {};
    if (trains && !is({"max_seq_length", "packing"})) return {};
    if (callee == Callee::kAdapters &&
        !is({"r", "target_modules", "modules_to_save", "layers_to_transform", "use_dora"})) {
      // What else get_peft_model(...) is told may be Unsloth's.
      Leftover leftover = classify("peft", argument.name, fmt::format("{}:{}", file_, line),
                                   {"r", "target_modules", "layers_to_transform", "use_dora"});
      if (of_peft_ && leftover.kind == Leftover::Kind::kUnknown)
        program_.leftovers.push_back(std::move(leftover));
      if (!of_peft_) tell_misspelt(argument.name, line, kOfUnslothAdapters);
      return {};
    }
    if (callee == Callee::kAdapters) argument.name = "lora_" + argument.name;
    // What it makes is read where it is made.
    if (callee <= Callee::kTrlArguments && is({"parallelism_config"})) return {};
    if (callee == Callee::kParallel) argument.name = "parallelism_config." + argument.name;
    if (argument.value.starts_with('{')) return add_dictionary(argument);
    return add_argument(argument);
  }

  /// Whether the trainer that is read now is transformers' or TRL's: programs and other libraries
  /// have classes of these names.
  bool is_library_trainer() const {
    size_t end = place_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view name = std::string_view(text_).substr(place_, end - place_);
    return is_of_library({name, "transformers", "transformers"}, place_) ||
           is_of_library({name, "trl", "trl"}, place_);
  }

  /// torch.bfloat16, "auto"; what is none of those is said to be left out.
  Result<void> add_type(const PythonArgument& argument) {
    const auto said = values_.text(argument.value, place_);
    if (said) return *said == "None" ? Result<void>() : add("torch_dtype", *said, argument.line);
    program_.notes.push_back(fmt::format(
        "{}:{}: {}: found {}, which is known only when the script runs; the weights are taken to "
        "be trained in FP32",
        file_, argument.line, argument.name, argument.value.substr(0, 60)));
    return {};
  }

  /// fsdp_config={"activation_checkpointing": True}
  Result<void> add_dictionary(const PythonArgument& argument) {
    ERGOMETER_TRY(count(arguments_of_call(argument.value, 0)));
    const auto items = dictionary_items(argument.value);
    if (!items) return add_argument(argument);
    for (const PythonArgument& item : *items) {
      const PythonArgument inner{argument.name + '.' + item.name, item.value,
                                 argument.line + item.line - 1};
      ERGOMETER_TRY(item.value.starts_with('{') ? add_dictionary(inner) : add_argument(inner));
    }
    return {};
  }

  Result<void> add_argument(const PythonArgument& argument) {
    // What TRL hands to from_pretrained(...).
    if (constexpr std::string_view kLoads = "model_init_kwargs."; argument.name.starts_with(kLoads))
      return read_argument(Callee::kLoads,
                           {argument.name.substr(kLoads.size()), argument.value, argument.line},
                           argument.line);
    if (const auto value = literal(argument.value))
      return add(argument.name, *value, argument.line);
    const bool matters = base::contains(kMatters, argument.name.substr(0, argument.name.find('.')));
    const std::set<std::string> taken = values_.taken();
    const auto value = values_.value(argument.value, place_);
    if (!matters) values_.set_taken(taken);
    if (value && value->is_object())
      return add_dictionary({argument.name, python_literal(*value), argument.line});
    // The Trainer counts in whole numbers from one.
    const bool counts = !matters || !value || !value->is_number() ||
                        (value->is_number_integer() && value->get<int64_t>() >= 1);
    if (const auto text = value && counts ? yaml_text(*value) : std::nullopt)
      return add(argument.name, *text, argument.line);
    // Nearly every GPU of the catalog has BF16, and those without are told apart by resolve.
    const bool asks_hardware = argument.value.find("bf16_supported") != std::string::npos ||
                               argument.value.find("bfloat16_supported") != std::string::npos;
    if (asks_hardware) return add(argument.name, "auto", argument.line);
    if (!matters) return {};
    return input_error(
        "{}:{}: {}: found {}, which is known only when the script runs{}; a literal can be read",
        file_, argument.line, argument.name, argument.value.substr(0, 60),
        values_.why().empty() || values_.why() == argument.value
            ? ""
            : ": it depends on " + values_.why().substr(0, 90));
  }

  Result<void> add(const std::string& name, const std::string& value, int line) {
    spec::FlatYaml& values = program_.values;
    const auto found = values.find(name);
    const bool matters = base::contains(kMatters, name);
    if (found != values.end() && found->second.text != value && matters)
      return input_error("{}:{}: {}: found {}, but line {} says {}; which one is meant?", file_,
                         line, name, value, found->second.line, found->second.text);
    if (found == values.end()) values[name] = {value, line};
    return {};
  }

  size_t place_ = 0;  ///< of the call that is read
  size_t calls_ = 0, arguments_ = 0;
  bool is_called_ = false;
  bool of_peft_ = false;  ///< what is read now is LoraConfig(...)
};

}  // namespace

Result<void> check_learns_from_texts(const std::string& text, const std::string& file) {
  const std::string code = without_comments(text);
  for (const char* trainer : {"GRPOTrainer", "PPOTrainer", "RLOOTrainer", "OnlineDPOTrainer"})
    if (const auto calls = calls_of(code, trainer); !calls.empty())
      return input_error("{}:{}: {}(...) is {}", file, line_at(code, calls.front().first), trainer,
                         kIsReinforcement);
  return {};
}

Result<TrainerProgram> trainer_program(const std::string& text, const std::string& file,
                                       PythonStart start) {
  ERGOMETER_TRY(check_learns_from_texts(text, file));
  ProgramText read(without_comments(text), file, start);
  TrainerProgram& program = read.program;
  ArgumentsReader arguments(read);
  ERGOMETER_TRY(arguments.read());
  tell_unknown_arguments(read);
  ERGOMETER_TRY(read_model_changes(read));
  if (program.values.empty() && calls_of(read.text, "Accelerator").empty())
    return input_error(
        "{}: no arguments of TrainingArguments(...), SFTConfig(...), LoraConfig(...) or "
        "Accelerator(...) are written in it",
        file);
  // Without the Trainer's arguments its defaults do not hold.
  const bool own_loop = !arguments.is_called() && !program.takes_words;
  const bool wraps = own_loop && wraps_model(read.text);
  if (wraps) ERGOMETER_TRY(read_own_wrapping(read));
  if (own_loop) read_own_loop(read);
  read_own_model(read, wraps);
  read_weights(read);
  program.processes = own_processes(read);
  if (const auto& taken = read.values.taken(); !taken.empty())
    program.notes.push_back(
        fmt::format("not set, taken as the file says: {} (--env NAME=VALUE sets a variable, {} "
                    "\"--name value\" an argument)",
                    fmt::join(taken, ", "), start.words_by));
  return std::move(program);
}

void add_findings(const TrainerProgram& program, Reading& reading) {
  reading.leftovers.insert(reading.leftovers.end(), program.leftovers.begin(),
                           program.leftovers.end());
  reading.notes.insert(reading.notes.end(), program.notes.begin(), program.notes.end());
  reading.open.insert(program.open.begin(), program.open.end());
}

Result<Reading> parse_trainer_python(const std::string& text, const std::string& file,
                                     PythonStart start) {
  ERGOMETER_ASSIGN(const TrainerProgram program, trainer_program(text, file, std::move(start)));
  ERGOMETER_ASSIGN(Reading reading, read_trainer(program.values, file, program.kind));
  add_findings(program, reading);
  count_own_gpus(program.processes, {{file, ""}, "it", true, false}, reading);
  return reading;
}

}  // namespace ergometer::intake
