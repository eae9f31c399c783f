// Calls in a Python file that configure Hugging Face's Trainer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/model_python.h"
#include "intake/config/own_wrapping.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_changes.h"
#include "intake/reader/python_names.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/python_values.h"

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

/// What a class of arguments may say besides those that derive from the Trainer's own.
constexpr std::array kOfAnyClass = std::to_array<std::string_view>(
    {"model_name_or_path", "model_max_length", "max_seq_length", "max_length", "block_size",
     "cutoff_len", "attn_implementation"});

class PythonReader {
 public:
  PythonReader(const std::string& text, const std::string& file, const PythonStart& start)
      : text_(without_comments(text)),
        statements_(text_),
        python_(text_, statements_, start),
        file_(file),
        words_by_(start.words_by) {}

  Result<TrainerProgram> read() {
    for (const CalleeName& it : kCallees)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_definition(at) || is_left_alone(it.callee, at) || is_not_reached(it, at, open))
          continue;
        place_ = at;
        note_trl(it.name, it.callee);
        ERGOMETER_TRY(refuse_branch(it, at, open));
        ERGOMETER_TRY(read_call(it.callee, arguments_of_call(text_, open)));
        has_arguments_ = has_arguments_ || makes_arguments(it.callee);
        if (makes_arguments(it.callee)) ERGOMETER_TRY(read_made(at, open));
      }
    ERGOMETER_TRY(read_argument_classes());
    ERGOMETER_TRY(read_parsed_objects());
    ERGOMETER_TRY(read_checkpointing());
    ERGOMETER_TRY(read_preparation());
    ERGOMETER_TRY(read_casts());
    if (program_.values.empty() && calls_of(text_, "Accelerator").empty())
      return input_error(
          "{}: no arguments of TrainingArguments(...), SFTConfig(...), LoraConfig(...) or "
          "Accelerator(...) are written in it",
          file_);
    const bool own_loop = !has_arguments_ && !program_.takes_words;
    const bool wraps = own_loop && wraps_model(text_);
    if (wraps) ERGOMETER_TRY(read_own_wrapping());
    if (own_loop) read_own_loop();
    read_model();
    if (const auto second = wraps ? second_model() : std::nullopt) {
      program_.values.erase("model_name_or_path");
      program_.open["model"] = fmt::format(
          "{}:{}: a second model is loaded, and which is trained is not followed; give "
          "--model, where the others stay outside of the GPUs",
          file_, *second);
    }
    read_matrix_formats();
    read_frozen();
    program_.processes = own_processes(python_, statements_, text_, file_);
    note_taken();
    return std::move(program_);
  }

 private:
  void note_trl(std::string_view name, Callee callee) {
    if (callee != Callee::kTrlArguments) return;
    program_.kind = TrainerKind::kTrl;
    if (name != "SFTConfig" && program_.leftovers.empty())
      program_.leftovers.push_back(preference_training(name, file_));
  }
  void note_taken() {
    if (python_.taken().empty()) return;
    program_.notes.push_back(
        fmt::format("not set, taken as the file says: {} (--env NAME=VALUE sets a variable, {} "
                    "\"--name value\" an argument)",
                    fmt::join(python_.taken(), ", "), words_by_));
  }
  /// The Trainer's or TRL's own class that a class is or derives from; null: none.
  const CalleeName* configuration(const std::string& class_name) const {
    std::vector<std::string> classes = {class_name};
    for (size_t i = 0; i < classes.size() && i < 8; ++i) {
      for (const CalleeName& it : kCallees)
        if (it.callee <= Callee::kTrlArguments && it.name == classes[i]) return &it;
      for (std::string& base : python_.names().bases(classes[i])) classes.push_back(base);
    }
    return nullptr;
  }
  /// HfArgumentParser: the defaults of its classes below the words of the command line, which the
  /// Trainer's own class takes as well.
  Result<void> read_argument_classes() {
    const std::vector<std::string> classes = python_.argument_classes();
    for (const auto& [at, open] : calls_of(text_, "set_defaults"))
      for (const PythonArgument& it : arguments_of_call(text_, open))
        if (!classes.empty() && !it.name.empty())
          ERGOMETER_TRY(read_default(classes.front(), {it.name, it.value, at}));
    for (const std::string& name : classes) {
      const CalleeName* own = configuration(name);
      if (own != nullptr) note_trl(own->name, own->callee);
      for (const PythonField& field : python_.names().fields(name)) {
        program_.own.insert(field.name);
        if (base::contains(kOfAnyClass, field.name) ||
            (own != nullptr && base::contains(kMatters, field.name)))
          ERGOMETER_TRY(read_default(name, field));
      }
      if (own == nullptr) continue;
      program_.takes_words = true;
      for (const auto& [word, value] : python_.words())
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
    const std::vector<std::string> classes = python_.argument_classes();
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
    const size_t at = python_.names().definition("class", class_name);
    if (at == PythonNames::kModule) return {};
    for (const size_t child : statements_.children(at))
      if (statements_.statement(child).starts_with("def __post_init__("))
        for (const PythonChange& it : python_changes(python_, statements_, text_, "self", child))
          if (python_.names().scope(it.at) == child) ERGOMETER_TRY(read_change(it));
    return {};
  }
  Result<void> read_default(const std::string& class_name, const PythonField& field) {
    if (program_.values.contains(field.name)) return {};
    const auto value = python_.argument_of(class_name, field.name);
    const int line = line_at(text_, field.at);
    const auto text = value ? yaml_text(*value) : std::nullopt;
    if (text && *text == "None") return {};
    if (text) return add(field.name, *text, line);
    place_ = field.at;
    return add_argument({field.name, field.value, line});
  }
  bool is_definition(size_t at) const {
    const size_t line = text_.rfind('\n', at) + 1;
    const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
    return before == "class" || before == "def" || before.ends_with("Tokenizer.") ||
           before.ends_with("Processor.") || before.ends_with("Config.");
  }

  /// A configuration that is made and given to nothing: of quantization, or of adapters.
  bool is_left_alone(Callee callee, size_t at) const {
    if (callee != Callee::kQuantizes && callee != Callee::kAdapters) return false;
    const std::string name = statements_.assigned(at);
    const bool given = callee == Callee::kQuantizes ? !calls_of(text_, "from_pretrained").empty()
                                                    : text_.find("Trainer(") != text_.npos;
    return given && !name.empty() && words_of(text_, name).size() == 1;
  }

  Result<void> in_branch(int line, std::string_view what, int branch) const {
    return input_error(
        "{}:{}: {} stands where line {} decides whether it counts, which is known only when the "
        "script runs; give a copy of the script without that choice, or the arguments as YAML or "
        "JSON",
        file_, line, what, branch);
  }
  /// What surely does not run: configurations alone, for where a model is loaded says which.
  bool is_not_reached(const CalleeName& it, size_t at, size_t open) {
    if (const auto reached = python_.reached(at, true); reached && !*reached) return true;
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
    return python_.condition(std::string_view(text_).substr(next + 2, 200), next);
  }
  /// What only one of several ways through the script does.
  Result<void> refuse_branch(const CalleeName& it, size_t at, size_t open) {
    if (it.callee >= Callee::kLoads) return {};
    const size_t end = behind_bracket(text_, open);
    int branch = taken_behind(end) ? 0 : statements_.conditional(at, end);
    if (branch == 0 && !python_.reached(at, true)) branch = statements_.branch(at, end);
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
      return std::pair(line_at(text_, at), python_.condition(rest, at));
    }
    return std::nullopt;
  }

  /// args.bf16 = True behind what makes `args`: the last word counts.
  Result<void> read_changes(const std::string& name, size_t made) {
    for (const PythonChange& it : python_changes(python_, statements_, text_, name, made))
      ERGOMETER_TRY(read_change(it));
    return {};
  }
  Result<void> read_change(const PythonChange& change) {
    const std::string& name = change.attribute;
    const auto reached = python_.reached(change.at, true);
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

  /// model.gradient_checkpointing_enable(), which holds whatever the arguments say.
  Result<void> read_checkpointing() {
    for (const char* name : {"gradient_checkpointing_disable", "gradient_checkpointing_enable"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at)) continue;
        const int line = line_at(text_, at);
        const auto reached = python_.reached(at, true);
        if (reached && !*reached) continue;
        const int branch = reached ? 0 : statements_.branch(at, behind_bracket(text_, open));
        if (branch != 0) return in_branch(line, fmt::format("{}()", name), branch);
        const bool on = std::string_view(name).ends_with("enable");
        if (on)
          program_.values["gradient_checkpointing"] = {"true", line};
        else
          program_.values.try_emplace("gradient_checkpointing", spec::FlatValue{"false", line});
      }
    return {};
  }

  /// What makes a model ready for adapters computes layers again as well: PEFT's by default, and
  /// Unsloth's with checkpoints on the host.
  Result<void> read_preparation() {
    for (const char* name :
         {"prepare_model_for_kbit_training", "prepare_model_for_int8_training", "get_peft_model"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at)) continue;
        // FastLanguageModel.get_peft_model
        const size_t owner = statements_.start(at) + statements_.statement(at).find("Fast");
        const bool of_unsloth = owner < at && text_.substr(owner, at - owner).ends_with("Model.");
        const bool prepares = std::string_view(name).starts_with("prepare");
        std::string way = prepares ? "True" : of_unsloth ? "\"unsloth\"" : "False";
        for (const PythonArgument& it : arguments_of_call(text_, open))
          if (it.name == "use_gradient_checkpointing") way = it.value;
        const auto reached = python_.reached(at, true);
        if (reached && !*reached) continue;
        const int line = line_at(text_, at);
        if (way == "False") continue;
        if (!reached)
          return in_branch(line, fmt::format("{}()", name),
                           statements_.branch(at, behind_bracket(text_, open)));
        const auto word = python_.text(way, at);
        if (!word)
          return input_error(
              "{}:{}: use_gradient_checkpointing: found {}, which is known only when the script "
              "runs; a literal can be read",
              file_, line, way.substr(0, 60));
        if (*word != "false") program_.values["gradient_checkpointing"] = {*word, line};
      }
    return {};
  }

  /// Names that models are given to, by from_pretrained(...) and its relatives.
  std::set<std::string> models() const {
    std::set<std::string> names = {"model"};
    for (const char* call : {"from_pretrained", "from_config", "get_peft_model"})
      for (const auto& [at, open] : calls_of(text_, call)) {
        const size_t start = statements_.start(at),
                     equals = assignment_in(statements_.statement(at));
        if (is_definition(at) || equals >= at - start) continue;
        for (std::string& name : python_targets(text_.substr(start, equals)))
          names.insert(std::move(name));
      }
    return names;
  }
  /// Whether a method's call at a place is a model's: `model.half()`,
  /// `X.from_pretrained(...).half()`.
  bool is_of_model(size_t at, const std::set<std::string>& models) const {
    std::string before =
        trimmed(std::string_view(text_).substr(statements_.start(at), at - statements_.start(at)));
    if (!before.ends_with('.')) return false;
    if (base::contains(before, "Model") && base::contains(before, ".from_")) return true;
    before.pop_back();
    const size_t begin =
        before.size() -
        static_cast<size_t>(std::find_if_not(before.rbegin(), before.rend(), is_word) -
                            before.rbegin());
    return models.contains(before.substr(begin));
  }
  /// A model made narrow: model.half(), .bfloat16(), .to(torch.bfloat16), set_default_dtype(...).
  Result<void> read_casts() {
    const std::set<std::string> all = models();
    for (const char* name : {"half", "bfloat16", "to", "set_default_dtype"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        const bool global = name == std::string_view("set_default_dtype");
        if (!global && !is_of_model(at, all)) continue;
        std::string type = name == std::string_view("half") ? "float16" : name;
        for (const PythonArgument& it : arguments_of_call(text_, open))
          if (it.name.empty() || it.name == "dtype" || it.name == "d")
            if (const auto said = python_.text(it.value, at);
                said && base::contains(*said, "float"))
              type = *said;
        if (!type.ends_with("float16")) continue;
        const auto reached = python_.reached(at, true);
        if (reached && !*reached) continue;
        const int line = line_at(text_, at);
        if (!reached)
          return in_branch(line, fmt::format("{}()", name),
                           statements_.branch(at, behind_bracket(text_, open)));
        program_.values["torch_dtype"] = {type, line};
      }
    return {};
  }

  /// What is known only when the script runs, so that it is to be given beside it.
  void leave_open(const char* setting, int line, const std::string& what, const char* option) {
    program_.open.try_emplace(
        setting, fmt::format("{}:{}: {} is known only when the script runs; give {}", file_, line,
                             what.substr(0, 80), option));
  }
  /// torch.autocast("cuda", dtype=torch.bfloat16), in FP16 where no format is said; "" without,
  /// "auto" where it is not known.
  std::string read_autocast() {
    for (const auto& [at, open] : calls_of(text_, "autocast")) {
      const std::string_view statement = statements_.statement(at);
      // accelerate's own is in what it is told.
      if (is_definition(at) || base::contains(statement, "accelerator.")) continue;
      const auto reached = python_.reached(at, true);
      if (reached == false) continue;
      // Whether it is on is the first argument there, and the third elsewhere.
      const size_t on_at = base::contains(statement, "cuda.amp.") ||
                                   base::contains(text_, "cuda.amp import autocast")
                               ? 0
                               : 2;
      const auto arguments = arguments_of_call(text_, open);
      const auto on = argument_of(arguments, "enabled", on_at),
                 type = argument_of(arguments, "dtype", 1);
      const auto is_on = on ? python_.text(on->value, at) : std::optional<std::string>("true");
      const auto format = type ? python_.text(type->value, at) : std::optional<std::string>("half");
      if (is_on == "false" || format == "float32" || format == "float") continue;
      if (!reached) {
        leave_open("precision", line_at(text_, at), "whether autocast is reached", "--precision");
        return "auto";
      }
      if (is_on && format) return *format == "bfloat16" ? "bf16" : "fp16";
      const PythonArgument& unknown = is_on ? *type : *on;
      leave_open("precision", unknown.line, "autocast's " + unknown.value, "--precision");
      return "auto";
    }
    return "";
  }

  /// Of Accelerator(...): a number format (as of `read_autocast`), passes, whose batches it splits.
  void read_accelerator(const PythonArgument& it, size_t at, std::string& precision) {
    constexpr const char* kPasses = "gradient_accumulation_steps";
    const auto value = python_.text(it.value, at);
    if (it.name == "mixed_precision" && value && *value != "no" && *value != "None")
      precision = *value;
    if (it.name == "mixed_precision" && !value) {
      precision = "auto";
      leave_open("precision", it.line, "Accelerator's " + it.value, "--precision");
    }
    if (it.name == kPasses) {
      const bool known = value && base::parse_integer(*value);
      program_.values.try_emplace(kPasses, spec::FlatValue{known ? *value : "auto", it.line});
      if (!known) leave_open(kPasses, it.line, "Accelerator's " + it.value, "--ga");
    }
    if (it.name == "split_batches" && value != "false")
      program_.open[kOpenBatch] = fmt::format(
          "{}:{}: split_batches: a loader's batch is that of all GPUs together; give --mbs", file_,
          it.line);
    if ((it.name == "fsdp_plugin" || it.name == "deepspeed_plugin") && value != "None" &&
        !read_plugin(it, at))
      program_.leftovers.push_back(
          {Leftover::Kind::kNotModelled, it.name, fmt::format("{}:{}", file_, it.line),
           "memory and time: how states are sharded; predicted as copied to every GPU, --fsdp "
           "or --zero says otherwise"});
  }

  /// FullyShardedDataParallelPlugin(...) or DeepSpeedPlugin(...), there or in a name that is bound
  /// once; false where what it is made of is not known.
  bool read_plugin(const PythonArgument& it, size_t at) {
    std::string made = it.value;
    size_t place = at;
    const auto bindings = python_.names().bindings(made, python_.names().scope(at));
    if (bindings.size() == 1 && python_.reached(bindings.front().at, true) == true) {
      made = bindings.front().expression;
      place = bindings.front().at;
    }
    spec::FlatYaml said;
    add_python_value(python_, text_, file_, made, place, "plugin", said);
    const auto kind = said.find("plugin._target_");
    if (kind == said.end()) return false;
    const int line = kind->second.line;
    const auto word = [&](const char* name) {
      const auto found = said.find(std::string("plugin.") + name);
      return found == said.end() || is_off(found->second.text) ? "" : found->second.text;
    };
    const auto take = [&](const char* key, const std::string& text) {
      if (!text.empty()) program_.values[key] = {text, line};
    };
    const auto given = arguments_of_call(made, made.find('('));
    const auto is_known = [&](const char* argument) {
      const auto found = argument_of(given, argument, given.size());
      return !found || python_.text(found->value, place);
    };
    // A module of several classes: the last part of the name.
    const std::string name = kind->second.text.substr(kind->second.text.rfind('.') + 1);
    if (name == "FullyShardedDataParallelPlugin") {
      const auto reshards = said.find("plugin.reshard_after_forward");
      std::string strategy = base::lower(word("sharding_strategy"));
      strategy.erase(0, strategy.rfind('.') + 1);  // npos + 1 is 0
      constexpr std::array kStrategies = std::to_array<std::string_view>(
          {"", "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2",
           "_hybrid_shard_zero2", "1", "2", "3", "4", "5"});
      if (!base::contains(kStrategies, strategy) || !is_known("activation_checkpointing") ||
          !is_known("reshard_after_forward"))
        return false;
      // CPUOffload(offload_params=True), or True alone.
      auto offload = argument_of(given, "cpu_offload", given.size());
      if (offload && said.contains("plugin.cpu_offload._target_"))
        offload = argument_of(arguments_of_call(offload->value, offload->value.find('(')),
                              "offload_params", 0);
      const auto offloads = offload ? python_.text(offload->value, place) : "false";
      if (!offloads) return false;
      take("fsdp", reshards != said.end() && is_off(reshards->second.text) ? "shard_grad_op"
                   : strategy.empty()                                      ? "full_shard"
                                                                           : strategy);
      take("fsdp_config.activation_checkpointing", word("activation_checkpointing"));
      if (!is_off(*offloads)) take("fsdp_config.offload_params", *offloads);
      return true;
    }
    if (name != "DeepSpeedPlugin") return false;
    for (const char* argument :
         {"hf_ds_config", "zero_stage", "offload_optimizer_device", "offload_param_device"})
      if (!is_known(argument)) return false;
    take("deepspeed", word("hf_ds_config"));
    if (!word("hf_ds_config").empty()) return true;
    const auto stage = said.find("plugin.zero_stage");
    take("deepspeed.zero_optimization.stage", stage == said.end() ? "2" : stage->second.text);
    take("deepspeed.zero_optimization.offload_optimizer.device", word("offload_optimizer_device"));
    take("deepspeed.zero_optimization.offload_param.device", word("offload_param_device"));
    // Accelerator's own mixed_precision says it.
    take("deepspeed.bf16.enabled", "auto");
    constexpr const char* kPasses = "gradient_accumulation_steps";
    take(kPasses, is_known(kPasses) ? word(kPasses) : "auto");
    if (!is_known(kPasses)) leave_open(kPasses, line, "DeepSpeedPlugin's " + word(kPasses), "--ga");
    return true;
  }

  /// Without the Trainer's arguments its defaults do not hold: the program's own loop, on
  /// accelerate or alone, says batches and number formats elsewhere.
  void read_own_loop() {
    std::string precision = read_autocast();
    for (const auto& [at, open] : calls_of(text_, "Accelerator")) {
      if (is_definition(at) || python_.reached(at, true) == false) continue;
      for (const PythonArgument& it : arguments_of_call(text_, open))
        read_accelerator(it, at, precision);
    }
    for (const char* format : {"bf16", "fp16", "fp8"})
      if (precision == format || (precision == "auto" && format != std::string_view("fp8")))
        program_.values.try_emplace(format,
                                    spec::FlatValue{precision == format ? "true" : "auto", 0});
    read_loader();
  }
  /// How often a loop of its own steps is not followed.
  Result<void> read_own_wrapping() {
    constexpr const char* kPasses = "gradient_accumulation_steps";
    ERGOMETER_TRY(add_own_wrapping(python_, text_, file_, program_.values));
    ERGOMETER_TRY(refuse_generation());
    read_optimizer();
    const size_t at = std::min(text_.find("accum"), counted_step());
    if (calls_of(text_, "Accelerator").empty() && at != text_.npos) {
      program_.values.try_emplace(kPasses, spec::FlatValue{"auto", 0});
      leave_open(kPasses, line_at(text_, at), "how often its loop accumulates gradients", "--ga");
    } else if (calls_of(text_, "Accelerator").empty()) {
      program_.notes.push_back(fmt::format(
          "{}: its loop is taken to step with every batch; --ga says otherwise", file_));
    }
    return {};
  }
  bool is_method(size_t at) const { return at > 0 && text_[at - 1] == '.'; }
  /// Texts that a model makes between its steps are reinforcement's.
  Result<void> refuse_generation() {
    for (const auto& [at, open] : calls_of(text_, "generate")) {
      if (!is_method(at) || python_.reached(at, true) == false) continue;
      for (const size_t head : statements_.around(at)) {
        const std::string_view statement = statements_.statement(head);
        if (statement.starts_with("if ")) break;
        const bool loops = statement.starts_with("for ") || statement.starts_with("while ");
        const std::string_view body =
            std::string_view(text_).substr(head, statements_.end_of_block(head) - head);
        if (loops && base::contains(body, ".backward("))
          return input_error("{}:{}: generate(...) in a loop that trains is {}", file_,
                             line_at(text_, at), kIsReinforcement);
      }
    }
    return {};
  }
  /// Where the optimizer steps under a condition that counts: `if (i + 1) % 8 == 0:`, or behind one
  /// that goes on with the next batch; npos: nowhere.
  size_t counted_step() const {
    const auto counts = [&](size_t head) {
      const std::string_view statement = statements_.statement(head);
      return statement.starts_with("if ") && base::contains(statement, "%");
    };
    for (const auto& [at, open] : calls_of(text_, "step")) {
      const std::string_view before = std::string_view(text_).substr(0, at);
      const size_t line = before.rfind('\n') + 1;  // npos + 1 is 0
      if (!is_method(at) || base::contains(before.substr(line), "sched")) continue;
      const size_t own = statements_.start(at);
      if (counts(own)) return at;
      for (const size_t head : statements_.around(at))
        if (counts(head)) return at;
      for (size_t other = statements_.previous(own); other != text_.npos;
           other = statements_.previous(other))
        if (counts(other) && base::contains(std::string_view(text_).substr(
                                                other, statements_.end_of_block(other) - other),
                                            "continue"))
          return at;
    }
    return text_.npos;
  }
  /// The class that makes the optimizer, as the Trainer's word.
  void read_optimizer() {
    struct Optimizer {
      std::string_view made_by, word;
    };
    constexpr std::array kOptimizers =
        std::to_array<Optimizer>({{"SGD", "sgd"},
                                  {"Adam8bit", "adamw_bnb_8bit"},
                                  {"AdamW8bit", "adamw_bnb_8bit"},
                                  {"PagedAdam8bit", "paged_adamw_8bit"},
                                  {"PagedAdamW8bit", "paged_adamw_8bit"},
                                  {"Adafactor", "adafactor"},
                                  {"Lion", "lion_32bit"},
                                  {"Lion8bit", "lion_8bit"},
                                  {"Muon", "muon"},
                                  {"RMSprop", "rmsprop"}});
    for (const Optimizer& it : kOptimizers)
      for (const auto& [at, open] : calls_of(text_, it.made_by))
        if (!is_definition(at) && python_.reached(at, true) != false)
          program_.values.try_emplace("optim",
                                      spec::FlatValue{std::string(it.word), line_at(text_, at)});
  }
  /// Whether a program loads several models, of which it trains one.
  std::optional<int> second_model() {
    std::set<std::string> names, models;
    for (const auto& [at, open] : calls_of(text_, "from_pretrained")) {
      if (is_definition(at) || python_.reached(at, true) == false || !is_method(at)) continue;
      size_t begin = at - 1;
      while (begin > 0 && is_word(text_[begin - 1])) --begin;
      const std::string owner = text_.substr(begin, at - 1 - begin);
      const bool loads = base::contains(owner, "Model") || base::contains(owner, "ForCausalLM");
      if (!loads || base::contains(owner, "Peft")) continue;
      names.insert(statements_.assigned(at));
      if (const auto given = arguments_of_call(text_, open); !given.empty())
        models.insert(given[0].value);
      if (names.size() > 1 || models.size() > 1) return line_at(text_, at);
    }
    return std::nullopt;
  }

  /// The first loader that runs is the training's.
  void read_loader() {
    constexpr const char* kBatch = "per_device_train_batch_size";
    for (const auto& [at, open] : calls_of(text_, "DataLoader")) {
      if (is_definition(at) || python_.reached(at, true) == false) continue;
      const auto batch = argument_of(arguments_of_call(text_, open), "batch_size", 1);
      const auto value = batch ? python_.text(batch->value, at) : std::nullopt;
      const bool known =
          value && base::parse_integer(*value) && !program_.open.contains(kOpenBatch);
      if (known) program_.values.try_emplace(kBatch, spec::FlatValue{*value, batch->line});
      break;
    }
    if (program_.values.contains(kBatch)) return;
    // Neither a number nor the Trainer's default.
    program_.values[kBatch] = {"auto", 0};
    program_.open.try_emplace(
        kOpenBatch,
        fmt::format(
            "{}: its own loop says how many sequences a process takes, which is not known here; "
            "give --mbs",
            file_));
  }

  /// A model whose sizes the program says itself.
  void read_model() {
    constexpr const char* kModel = "model_name_or_path";
    const auto model = python_model(python_, statements_, text_, file_);
    if (model && *model) program_.values[kModel] = **model;
    if (model) return;
    program_.values.erase(kModel);
    program_.open["model"] = model.error().message;
  }

  /// Products of 32 bit numbers in TF32: torch.backends.cuda.matmul.allow_tf32 = True,
  /// torch.set_float32_matmul_precision("high").
  void read_matrix_formats() {
    std::vector<std::pair<size_t, std::string>> said;
    for (const size_t at : words_of(text_, "allow_tf32")) {
      const std::string_view statement = statements_.statement(at);
      const size_t equals = assignment_in(statement);
      if (equals < statement.size() && base::contains(statement.substr(0, equals), "matmul"))
        said.emplace_back(at, trimmed(statement.substr(equals + 1)));
    }
    for (const auto& [at, open] : calls_of(text_, "set_float32_matmul_precision"))
      if (const auto given = arguments_of_call(text_, open); !given.empty() && !is_definition(at))
        said.emplace_back(at, given[0].value);
    for (const auto& [at, value] : said) {
      const auto word = python_.text(value, at);
      if (!word || python_.reached(at, true) != true) continue;
      const bool on = *word == "true" || *word == "high" || *word == "medium";
      program_.values.try_emplace("tf32",
                                  spec::FlatValue{on ? "true" : "false", line_at(text_, at)});
    }
  }

  /// Which of a model's parts a loop leaves untrained is not followed, but that it does.
  void read_frozen() {
    for (const char* words :
         {"requires_grad = False", "requires_grad=False", "requires_grad_(False)"})
      if (const size_t at = text_.find(words); at != text_.npos)
        program_.values.try_emplace("requires_grad", spec::FlatValue{"False", line_at(text_, at)});
  }

  Result<void> read_call(Callee callee, const std::vector<PythonArgument>& arguments) {
    ++calls_;
    ERGOMETER_TRY(count(arguments));
    for (const PythonArgument& argument : arguments) {
      const bool spreads = argument.value.starts_with("**") && callee != Callee::kTrains;
      ERGOMETER_TRY(spreads ? read_spread(callee, argument)
                            : read_argument(callee, argument, argument.line));
    }
    return {};
  }
  /// TrainingArguments(**common): the items of a dictionary that is known.
  Result<void> read_spread(Callee callee, const PythonArgument& argument) {
    const std::string name = trimmed(std::string_view(argument.value).substr(2));
    const auto items = python_.value(name, place_);
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
      const auto name = python_.value(argument.value, place_);
      const bool named = name && name->is_string();
      return named ? add("model_name_or_path", name->get<std::string>(), line) : Result<void>();
    }
    if (argument.name.empty()) return {};
    // Unsloth's own configuration of bitsandbytes quantizes the scales as well.
    if (loads && is({"load_in_4bit"}) && base::contains(statements_.statement(place_), "Fast"))
      program_.values.try_emplace("bnb_4bit_use_double_quant", spec::FlatValue{"true", line});
    if (loads && is({"torch_dtype", "dtype"})) return add_type(argument);
    if (loads && !is({"load_in_4bit", "load_in_8bit", "attn_implementation", "max_seq_length",
                      "tp_plan", "tp_size"}))
      return {};
    if (trains && !is({"max_seq_length", "packing"})) return {};
    if (callee == Callee::kAdapters &&
        !is({"r", "target_modules", "modules_to_save", "layers_to_transform", "use_dora"}))
      return {};
    if (callee == Callee::kAdapters) argument.name = "lora_" + argument.name;
    // What it makes is read where it is made.
    if (callee <= Callee::kTrlArguments && is({"parallelism_config"})) return {};
    if (callee == Callee::kParallel) argument.name = "parallelism_config." + argument.name;
    if (argument.value.starts_with('{')) return add_dictionary(argument);
    return add_argument(argument);
  }

  /// torch.bfloat16, "auto"; what is none of those is said to be left out.
  Result<void> add_type(const PythonArgument& argument) {
    const auto said = python_.text(argument.value, place_);
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
    const std::set<std::string> taken = python_.taken();
    const auto value = python_.value(argument.value, place_);
    if (!matters) python_.set_taken(taken);
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
        python_.why().empty() || python_.why() == argument.value
            ? ""
            : ": it depends on " + python_.why().substr(0, 90));
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

  static constexpr const char* kOpenBatch = "micro_batch_size";

  const std::string text_;
  const PythonStatements statements_;
  PythonValues python_;
  const std::string& file_;
  size_t place_ = 0;  ///< of the call that is read
  TrainerProgram program_;
  const std::string_view words_by_;
  size_t calls_ = 0, arguments_ = 0;
  bool has_arguments_ = false;  ///< the Trainer's are made by a call
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
  return PythonReader(text, file, start).read();
}

Result<Reading> parse_trainer_python(const std::string& text, const std::string& file,
                                     PythonStart start) {
  ERGOMETER_ASSIGN(const TrainerProgram program, trainer_program(text, file, std::move(start)));
  ERGOMETER_ASSIGN(Reading reading, read_trainer(program.values, file, program.kind));
  reading.leftovers.insert(reading.leftovers.end(), program.leftovers.begin(),
                           program.leftovers.end());
  reading.notes.insert(reading.notes.end(), program.notes.begin(), program.notes.end());
  reading.open.insert(program.open.begin(), program.open.end());
  count_own_gpus(program.processes, {{file, ""}, "it", true, false}, reading);
  return reading;
}

}  // namespace ergometer::intake
