// Calls in a Python file that configure Hugging Face's Trainer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"

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
constexpr size_t kMostCalls = 100, kMostArguments = 500;

int line_at(const std::string& text, size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

/// Behind a string literal that begins at `at`; the end of the text if it never closes.
size_t behind_string(const std::string& text, size_t at) {
  const char quote = text[at];
  const std::string triple(3, quote);
  if (text.compare(at, 3, triple) == 0) {
    const size_t end = text.find(triple, at + 3);
    return end == text.npos ? text.size() : end + 3;
  }
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote || text[i] == '\n')
      return i + 1;
  }
  return text.size();
}

/// The text with comments and long strings made blank, so that offsets stay.
std::string without_comments(std::string text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') text[i++] = ' ';
    } else if (text[i] == '"' || text[i] == '\'') {
      const size_t end = behind_string(text, i);
      const bool long_one = text.compare(i, 3, std::string(3, text[i])) == 0;
      for (; i < end; ++i)
        if (long_one && text[i] != '\n') text[i] = ' ';
    } else {
      ++i;
    }
  }
  return text;
}

struct PythonArgument {
  std::string name;  ///< empty of a positional one
  std::string value;
  int line = 0;
};

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

PythonArgument argument_of(const std::string& text, size_t begin, size_t end) {
  const size_t first = std::min(text.find_first_not_of(" \t\r\n", begin), end);
  const std::string piece = trimmed(std::string_view(text).substr(begin, end - begin));
  PythonArgument argument{"", piece, line_at(text, first)};
  size_t at = 0;
  while (at < piece.size() && is_word(piece[at])) ++at;
  const size_t equals = std::min(piece.find_first_not_of(" \t", at), piece.size());
  const bool named = at > 0 && equals < piece.size() && piece[equals] == '=' &&
                     (equals + 1 == piece.size() || piece[equals + 1] != '=');
  if (named) {
    argument.name = piece.substr(0, at);
    argument.value = trimmed(std::string_view(piece).substr(equals + 1));
  }
  return argument;
}

/// The arguments of the call whose parenthesis opens at `open`; one beyond the most, where there
/// are more.
std::vector<PythonArgument> arguments_of_call(const std::string& text, size_t open) {
  std::vector<PythonArgument> arguments;
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = open; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = behind_string(text, i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool ends = depth == 0, parts = depth == 1 && c == ',';
    if (ends || parts) {
      PythonArgument argument = argument_of(text, begin, i);
      if (!argument.value.empty()) arguments.push_back(std::move(argument));
      begin = i + 1;
    }
    if (ends || arguments.size() > kMostArguments) break;
    ++i;
  }
  return arguments;
}

/// A string, number, True, False or None as a YAML value; nothing for anything else.
std::optional<std::string> scalar(const std::string& text) {
  if (text == "True" || text == "False") return base::lower(text);
  if (text == "None") return "None";
  std::string digits = text;
  std::erase(digits, '_');
  if (base::parse_number(digits)) return digits;
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'');
  if (quoted && behind_string(text, 0) == text.size() && text.back() == text[0])
    return text.substr(1, text.size() - 2);
  return std::nullopt;
}

/// The same, or a list of them, joined by commas.
std::optional<std::string> literal(const std::string& text) {
  const bool list = text.size() >= 2 && ((text[0] == '[' && text.back() == ']') ||
                                         (text[0] == '(' && text.back() == ')'));
  if (!list) return scalar(text);
  std::string joined;
  const std::vector<PythonArgument> items = arguments_of_call(text, 0);
  if (items.size() > kMostArguments) return std::nullopt;
  for (const PythonArgument& item : items) {
    const auto value = item.name.empty() ? scalar(item.value) : std::nullopt;
    if (!value) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *value;
  }
  return joined;
}

/// A class or function whose arguments are read.
enum class Callee { kArguments, kTrlArguments, kAdapters, kLoads, kTrains };
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
    {"BitsAndBytesConfig", Callee::kArguments},
    {"from_pretrained", Callee::kLoads},
    {"Trainer", Callee::kTrains},
    {"SFTTrainer", Callee::kTrains},
    {"DPOTrainer", Callee::kTrains},
});

/// Where parentheses open behind the name as a word of its own.
std::vector<std::pair<size_t, size_t>> calls_of(const std::string& text, std::string_view name) {
  std::vector<std::pair<size_t, size_t>> calls;
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    const size_t open = text.find_first_not_of(" \t", at + name.size());
    if (open != text.npos && text[open] == '(') calls.emplace_back(at, open);
  }
  return calls;
}

class PythonReader {
 public:
  PythonReader(const std::string& text, const std::string& file)
      : text_(without_comments(text)), file_(file) {}

  Result<Reading> read() {
    for (const CalleeName& it : kCallees)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_definition(at)) continue;
        trl_ = trl_ || it.callee == Callee::kTrlArguments;
        if (it.callee == Callee::kTrlArguments && it.name != "SFTConfig")
          other_ = preference_training(it.name, file_);
        ERGOMETER_TRY(read_call(it.callee, arguments_of_call(text_, open)));
      }
    if (values_.empty())
      return input_error(fmt::format(
          "{}: no arguments of TrainingArguments(...), SFTConfig(...) or LoraConfig(...) are "
          "written in it",
          file_));
    ERGOMETER_ASSIGN(Reading reading,
                     read_trainer(values_, file_, trl_ ? TrainerKind::kTrl : TrainerKind::kPlain));
    if (other_) reading.leftovers.push_back(*other_);
    return reading;
  }

 private:
  bool is_definition(size_t at) const {
    const size_t line = text_.rfind('\n', at) + 1;
    const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
    return before == "class" || before == "def" || before.ends_with("Tokenizer.") ||
           before.ends_with("Processor.") || before.ends_with("Config.");
  }

  Result<void> read_call(Callee callee, const std::vector<PythonArgument>& arguments) {
    ++calls_;
    ERGOMETER_TRY(count(arguments));
    for (const PythonArgument& argument : arguments)
      ERGOMETER_TRY(read_argument(callee, argument, argument.line));
    return {};
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
        (trains && is({"model"}))) {
      const std::string value = constant(argument.value);
      const auto name = literal(value);
      const bool named = name && value.find_first_of("\"'") == 0;
      return named ? add("model_name_or_path", *name, line) : Result<void>();
    }
    if (argument.name.empty()) return {};
    if (loads && !is({"load_in_4bit", "load_in_8bit", "attn_implementation", "max_seq_length"}))
      return {};
    if (trains && !is({"max_seq_length", "packing"})) return {};
    if (callee == Callee::kAdapters && !is({"r", "target_modules"})) return {};
    if (callee == Callee::kAdapters) argument.name = "lora_" + argument.name;
    return argument.value.starts_with('{') ? add_dictionary(argument) : add_argument(argument);
  }

  /// What a name stands for that is given a value once, at the start of a line; else the text.
  std::string constant(const std::string& name) const {
    if (name.empty() || !std::ranges::all_of(name, is_word)) return name;
    std::string value;
    int uses = 0;
    for (size_t at = text_.find(name); at != text_.npos; at = text_.find(name, at + 1)) {
      const size_t next = text_.find_first_not_of(" \t", at + name.size());
      if ((at > 0 && is_word(text_[at - 1])) || next == text_.npos) continue;
      if (is_word(text_[at + name.size()])) continue;
      const std::string_view rest = std::string_view(text_).substr(next, 3);
      const bool first = at == 0 || text_[at - 1] == '\n';
      // Other ways to bind it: `NAME += 1`, `for NAME in`, `f(NAME=2)`, `NAME: int`, `NAME, b =`.
      const bool changes = rest.find_first_not_of("+-*/") != rest.npos &&
                           rest[rest.find_first_not_of("+-*/")] == '=';
      const bool binds = rest[0] == ':' || changes || rest == "in " || (first && rest[0] == ',');
      if (!binds || rest.starts_with("==")) continue;
      if (++uses > 1 || rest[0] != '=' || !first) return name;
      value = trimmed(std::string_view(text_).substr(next + 1, text_.find('\n', next) - next - 1));
    }
    return value.empty() ? name : value;
  }

  /// fsdp_config={"activation_checkpointing": True}
  Result<void> add_dictionary(const PythonArgument& argument) {
    const std::vector<PythonArgument> items = arguments_of_call(argument.value, 0);
    ERGOMETER_TRY(count(items));
    for (const PythonArgument& item : items) {
      const std::string& text = item.value;
      if (text[0] != '"' && text[0] != '\'') continue;
      const size_t key_end = behind_string(text, 0);
      const size_t colon = text.find(':', key_end);
      if (colon == text.npos || key_end < 2) continue;
      ERGOMETER_TRY(add_argument({argument.name + '.' + text.substr(1, key_end - 2),
                                  trimmed(std::string_view(text).substr(colon + 1)),
                                  argument.line + item.line - 1}));
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
    if (const auto value = literal(constant(argument.value)))
      return add(argument.name, *value, argument.line);
    if (const auto value = product(argument.value))
      return add(argument.name, std::to_string(*value), argument.line);
    // Nearly every GPU of the catalog has BF16, and those without are told apart by resolve.
    const bool asks_hardware = argument.value.find("bf16_supported") != std::string::npos ||
                               argument.value.find("bfloat16_supported") != std::string::npos;
    if (asks_hardware) return add(argument.name, "auto", argument.line);
    if (!base::contains(kMatters, argument.name)) {
      return {};
    }
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
  const std::string& file_;
  spec::FlatYaml values_;
  bool trl_ = false;
  size_t calls_ = 0, arguments_ = 0;
  std::optional<Leftover> other_;  ///< what it trains is no fine-tuning on texts
};

}  // namespace

Result<Reading> parse_trainer_python(const std::string& text, const std::string& file) {
  return PythonReader(text, file).read();
}

}  // namespace ergometer::intake
