// Calls in a Python file that configure Hugging Face's Trainer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/python_text.h"

namespace ergometer::intake {
namespace {

using base::input_error;
using base::Result;

/// Arguments that a prediction needs: what is no literal here is refused.
constexpr std::array<std::string_view, 19> kMatters = {"fsdp_config",
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
enum class Callee { kArguments, kTrlArguments, kAdapters, kQuantizes, kLoads, kTrains };
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
    {"from_pretrained", Callee::kLoads},
    {"Trainer", Callee::kTrains},
    {"SFTTrainer", Callee::kTrains},
    {"DPOTrainer", Callee::kTrains},
});

class PythonReader {
 public:
  PythonReader(const std::string& text, const std::string& file)
      : text_(without_comments(text)), statements_(text_), file_(file) {}

  Result<Reading> read() {
    for (const CalleeName& it : kCallees)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_definition(at) || is_left_alone(it.callee, at)) continue;
        trl_ = trl_ || it.callee == Callee::kTrlArguments;
        if (it.callee == Callee::kTrlArguments && it.name != "SFTConfig")
          other_ = preference_training(it.name, file_);
        ERGOMETER_TRY(refuse_branch(it, at, open));
        ERGOMETER_TRY(read_call(it.callee, arguments_of_call(text_, open)));
        if (it.callee <= Callee::kTrlArguments)
          ERGOMETER_TRY(read_attributes(statements_.assigned(at), at));
      }
    ERGOMETER_TRY(read_checkpointing());
    if (values_.empty())
      return input_error(fmt::format(
          "{}: no arguments of TrainingArguments(...), SFTConfig(...) or LoraConfig(...) are "
          "written in it",
          file_));
    read_frozen();
    ERGOMETER_ASSIGN(Reading reading,
                     read_trainer(values_, file_, trl_ ? TrainerKind::kTrl : TrainerKind::kPlain));
    if (other_) reading.leftovers.push_back(*other_);
    for (const std::string& note : notes_) reading.notes.push_back(note);
    return reading;
  }

 private:
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
    return input_error(fmt::format(
        "{}:{}: {} stands where line {} decides whether it counts, which is known only when the "
        "script runs; give a copy of the script without that choice, or the arguments as YAML or "
        "JSON",
        file_, line, what, branch));
  }
  /// What only one of several ways through the script does.
  Result<void> refuse_branch(const CalleeName& it, size_t at, size_t open) const {
    if (it.callee >= Callee::kLoads) return {};
    int branch = statements_.branch(at, behind_bracket(text_, open));
    if (it.callee == Callee::kAdapters) branch = std::max(branch, chosen(statements_.assigned(at)));
    if (branch == 0) return {};
    return in_branch(line_at(text_, at), fmt::format("{}(...)", it.name), branch);
  }
  /// Line of `NAME if ... else ...`; 0 if there is none.
  int chosen(const std::string& name) const {
    if (name.empty()) return 0;
    for (const size_t at : words_of(text_, name))
      if (trimmed(std::string_view(text_).substr(at + name.size(), 8)).starts_with("if "))
        return line_at(text_, at);
    return 0;
  }

  /// args.bf16 = True behind the call that makes `args`: the last word counts.
  Result<void> read_attributes(const std::string& name, size_t made) {
    if (name.empty()) return {};
    for (const size_t at : words_of(text_, name)) {
      const size_t dot = at + name.size();
      if (at < made || dot >= text_.size() || text_[dot] != '.' || statements_.nested(at) ||
          trimmed(std::string_view(text_).substr(statements_.start(at), at - statements_.start(at)))
                  .size() > 0)
        continue;
      size_t end = dot + 1;
      while (end < text_.size() && is_word(text_[end])) ++end;
      ERGOMETER_TRY(read_attribute(text_.substr(dot + 1, end - dot - 1), at, end));
    }
    return {};
  }
  Result<void> read_attribute(const std::string& name, size_t at, size_t end) {
    const int line = line_at(text_, at);
    const std::string rest = trimmed(
        statements_.statement(at).substr(std::min(end - at, statements_.statement(at).size())));
    const bool calls = name.starts_with("set_") && rest.starts_with('(');
    const bool adds = rest.size() > 1 && rest[1] == '=' && rest[0] != '=';
    if (calls || (adds && base::contains(kMatters, name)))
      return input_error(fmt::format(
          "{}:{}: found {}{}, which changes what was said above; write it as an argument of the "
          "call",
          file_, line, name, rest.substr(0, 40)));
    if (!rest.starts_with('=') || rest.starts_with("==")) return {};
    const int branch = statements_.branch(at, end);
    if (branch != 0 && base::contains(kMatters, name)) return in_branch(line, name, branch);
    ERGOMETER_TRY(count({PythonArgument{}}));
    values_.erase(name);
    return add_argument({name, trimmed(std::string_view(rest).substr(1)), line});
  }

  /// model.gradient_checkpointing_enable(), which holds whatever the arguments say.
  Result<void> read_checkpointing() {
    for (const char* name : {"gradient_checkpointing_disable", "gradient_checkpointing_enable"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at)) continue;
        const int line = line_at(text_, at);
        const int branch = statements_.branch(at, behind_bracket(text_, open));
        if (branch != 0) return in_branch(line, fmt::format("{}()", name), branch);
        const bool on = std::string_view(name).ends_with("enable");
        if (on)
          values_["gradient_checkpointing"] = {"true", line};
        else
          values_.try_emplace("gradient_checkpointing", spec::FlatValue{"false", line});
      }
    return {};
  }

  /// Which of a model's parts a loop leaves untrained is not followed, but that it does.
  void read_frozen() {
    for (const char* words :
         {"requires_grad = False", "requires_grad=False", "requires_grad_(False)"})
      if (const size_t at = text_.find(words); at != text_.npos)
        values_.try_emplace("requires_grad", spec::FlatValue{"False", line_at(text_, at)});
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
  /// TrainingArguments(**common): the literals of a dictionary that is written once.
  Result<void> read_spread(Callee callee, const PythonArgument& argument) {
    const std::string name = trimmed(std::string_view(argument.value).substr(2));
    const auto items = is_changed(name) ? std::nullopt : dictionary_items(constant(name));
    const auto again = [](const PythonArgument& it) { return it.value.starts_with("**"); };
    if (!items || std::ranges::any_of(*items, again))
      return input_error(fmt::format(
          "{}:{}: found **{}, which is known only when the script runs; a dictionary of literals "
          "that is written once, at the start of a line, can be read",
          file_, argument.line, name.substr(0, 60)));
    ERGOMETER_TRY(count(*items));
    for (PythonArgument item : *items) {
      item.line = argument.line;
      ERGOMETER_TRY(read_argument(callee, item, item.line));
    }
    return {};
  }
  /// NAME["key"] = 1, NAME.update(...)
  bool is_changed(const std::string& name) const {
    if (name.empty() || !std::ranges::all_of(name, is_word)) return false;
    return std::ranges::any_of(words_of(text_, name), [&](size_t at) {
      const size_t next = text_.find_first_not_of(" \t", at + name.size());
      return next != text_.npos && (text_[next] == '[' || text_[next] == '.' || text_[next] == '|');
    });
  }
  Result<void> count(const std::vector<PythonArgument>& arguments) {
    arguments_ += arguments.size();
    if (calls_ <= kMostCalls && arguments_ <= kMostArguments) return {};
    return input_error(fmt::format(
        "{}: found more than {} calls that configure training, or more than {} arguments of them; "
        "allowed: as many as a script has that is written by hand",
        file_, kMostCalls, kMostArguments));
  }

  Result<void> read_argument(Callee callee, PythonArgument argument, int line) {
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return base::contains(names, argument.name);
    };
    const bool loads = callee == Callee::kLoads, trains = callee == Callee::kTrains;
    if ((loads && is({"", "model_name", "pretrained_model_name_or_path"})) ||
        (trains && is({"", "model"}))) {
      const std::string value = constant(argument.value);
      const auto name = literal(value);
      const bool named = name && value.find_first_of("\"'") == 0;
      return named ? add("model_name_or_path", *name, line) : Result<void>();
    }
    if (argument.name.empty()) return {};
    if (loads && is({"torch_dtype", "dtype"})) return add_type(argument);
    if (loads && !is({"load_in_4bit", "load_in_8bit", "attn_implementation", "max_seq_length"}))
      return {};
    if (trains && !is({"max_seq_length", "packing"})) return {};
    if (callee == Callee::kAdapters && !is({"r", "target_modules"})) return {};
    if (callee == Callee::kAdapters) argument.name = "lora_" + argument.name;
    if (argument.value.starts_with('{')) return add_dictionary(argument);
    return add_argument(argument);
  }

  /// What a name stands for that is given a value once, at the start of a line; else the text.
  std::string constant(const std::string& name) const {
    if (name.empty() || !std::ranges::all_of(name, is_word)) return name;
    std::string value;
    int uses = 0;
    for (const size_t at : words_of(text_, name)) {
      const size_t next = text_.find_first_not_of(" \t", at + name.size());
      if (next == text_.npos) continue;
      const std::string_view rest = std::string_view(text_).substr(next, 3);
      const bool first = at == 0 || text_[at - 1] == '\n';
      // Other ways to bind it: `NAME += 1`, `for NAME in`, `def f(NAME=2)`, `NAME: int`, `NAME, b
      // =`.
      const bool changes = rest.find_first_not_of("+-*/") != rest.npos &&
                           rest[rest.find_first_not_of("+-*/")] == '=';
      const bool given = statements_.nested(at) && !statements_.statement(at).starts_with("def ");
      const bool binds = (!given && (rest[0] == ':' || changes)) || rest.starts_with(":=") ||
                         rest == "in " || (first && rest[0] == ',');
      if (!binds || rest.starts_with("==")) continue;
      if (++uses > 1 || rest[0] != '=' || !first) return name;
      const std::string_view whole = statements_.statement(at);
      value = trimmed(whole.substr(std::min(next + 1 - at, whole.size())));
    }
    return value.empty() ? name : value;
  }

  /// torch.bfloat16, "auto"; what is none of those is said to be left out.
  Result<void> add_type(const PythonArgument& argument) {
    std::string value = constant(argument.value);
    if (value.starts_with("torch.")) value = '"' + value.substr(6) + '"';
    const auto said = literal(value);
    if (said) return *said == "None" ? Result<void>() : add("torch_dtype", *said, argument.line);
    notes_.push_back(fmt::format(
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

  /// 64 // BATCH, MBS * 4: whole numbers and names of such, from left to right.
  std::optional<int64_t> product(std::string_view text) const {
    constexpr int64_t kMost = 1'000'000;
    constexpr int kMostFactors = 8;
    std::optional<int64_t> made;
    bool divides = false;
    for (int i = 0; i < kMostFactors; ++i) {
      const size_t end = std::min(text.find_first_of("*/"), text.size());
      const auto value = literal(constant(trimmed(text.substr(0, end))));
      const auto number = base::parse_integer(value.value_or(""));
      if (!number || *number < 1 || *number > kMost) return std::nullopt;
      made = !made ? *number : divides ? *made / *number : *made * *number;
      if (*made < 1 || *made > kMost) return std::nullopt;
      if (end == text.size()) return made;
      divides = text.substr(end, 2) == "//";
      // A plain division is no whole number, and two stars are a power.
      if (!divides && (text[end] == '/' || text.substr(end, 2) == "**")) return std::nullopt;
      text.remove_prefix(end + (divides ? 2 : 1));
    }
    return std::nullopt;
  }

  Result<void> add_argument(const PythonArgument& argument) {
    // What TRL hands to from_pretrained(...).
    if (constexpr std::string_view kLoads = "model_init_kwargs."; argument.name.starts_with(kLoads))
      return read_argument(Callee::kLoads,
                           {argument.name.substr(kLoads.size()), argument.value, argument.line},
                           argument.line);
    if (const auto value = literal(constant(argument.value)))
      return add(argument.name, *value, argument.line);
    if (const auto value = product(constant(argument.value)))
      return add(argument.name, std::to_string(*value), argument.line);
    // Nearly every GPU of the catalog has BF16, and those without are told apart by resolve.
    const bool asks_hardware = argument.value.find("bf16_supported") != std::string::npos ||
                               argument.value.find("bfloat16_supported") != std::string::npos;
    if (asks_hardware) return add(argument.name, "auto", argument.line);
    if (!base::contains(kMatters, argument.name.substr(0, argument.name.find('.')))) return {};
    return input_error(fmt::format(
        "{}:{}: {}: found {}, which is known only when the script runs; a literal can be read",
        file_, argument.line, argument.name, argument.value.substr(0, 60)));
  }

  Result<void> add(const std::string& name, const std::string& value, int line) {
    const auto found = values_.find(name);
    const bool matters = base::contains(kMatters, name);
    if (found != values_.end() && found->second.text != value && matters)
      return input_error(
          fmt::format("{}:{}: {}: found {}, but line {} says {}; which one is meant?", file_, line,
                      name, value, found->second.line, found->second.text));
    if (found == values_.end()) values_[name] = {value, line};
    return {};
  }

  const std::string text_;
  const PythonStatements statements_;
  const std::string& file_;
  spec::FlatYaml values_;
  bool trl_ = false;
  size_t calls_ = 0, arguments_ = 0;
  std::vector<std::string> notes_;
  std::optional<Leftover> other_;  ///< what it trains is no fine-tuning on texts
};

}  // namespace

Result<Reading> parse_trainer_python(const std::string& text, const std::string& file) {
  return PythonReader(text, file).read();
}

}  // namespace ergometer::intake
