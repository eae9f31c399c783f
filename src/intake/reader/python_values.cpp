#include "intake/reader/python_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_expression.h"
#include "intake/reader/python_operators.h"

namespace ergometer::intake {
namespace {

using Json = nlohmann::json;
using Value = PythonValues::Value;

/// Names that are followed for one file, each of which looks through all of its text: whoever
/// writes by hand stays below.
int most_steps(size_t characters) {
  return static_cast<int>(std::clamp<size_t>(20'000'000 / (characters + 1), 100, 4'000));
}

/// Set by the launcher or the batch system, not by the file.
bool is_of_launcher(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "NNODES",
       "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "OMPI_COMM_WORLD_SIZE"});
  return base::contains(kNames, name) || name.starts_with("SLURM_") || name.starts_with("PBS_") ||
         name.starts_with("LSB_");
}

/// A word of a command line as the number or the yes and no that it is read as.
Json typed(const std::string& word) {
  if (const auto whole = base::parse_integer(word)) return *whole;
  if (const auto real = base::parse_number(word)) return *real;
  if (word == "True" || word == "true") return true;
  if (word == "False" || word == "false") return false;
  return word == "None" ? Json(nullptr) : Json(word);
}

/// A word as Fire reads it: a list's items need no quotes, "[q_proj,v_proj]", "('q', 'v')".
Json as_fire_reads(const Json& word) {
  const auto text = word.is_string() ? trimmed(word.get<std::string>()) : "";
  const bool list = (text.starts_with('[') && text.ends_with(']')) ||
                    (text.starts_with('(') && text.ends_with(')'));
  if (!list) return word;
  Json items = Json::array();
  for (const PythonArgument& it : arguments_of_call(text, 0)) {
    const auto written = literal(it.value);
    if (!it.value.empty()) items.push_back(typed(written ? *written : it.value));
  }
  return items;
}

std::optional<PythonArgument> find_argument(const std::vector<PythonArgument>& arguments,
                                            std::string_view name) {
  const auto it = std::ranges::find(arguments, name, &PythonArgument::name);
  return it == arguments.end() ? std::nullopt : std::optional(*it);
}

/// "Config" of `Config(batch=4)`; empty where the expression is no call alone.
std::string callee_of(const std::string& expression) {
  return std::string(base::last_part(called_name(expression), '.'));
}

/// The default of a dataclass' field: `4`, or that of `field(default=4)`.
std::optional<std::string> default_of(const std::string& value) {
  const std::string callee = callee_of(value);
  if (callee != "field" && callee != "Field" && callee != "HfArg") return value;
  const auto arguments = arguments_of_call(value, value.find('('));
  if (const auto named = find_argument(arguments, "default")) return named->value;
  if (callee == "Field" && !arguments.empty() && arguments.front().name.empty())
    return arguments.front().value;
  const auto made = find_argument(arguments, "default_factory");
  if (!made) return std::nullopt;
  constexpr std::string_view kLambda = "lambda:";
  if (made->value.starts_with(kLambda))
    return trimmed(std::string_view(made->value).substr(kLambda.size()));
  return made->value == "list" ? std::optional<std::string>("[]") : std::nullopt;
}

}  // namespace

/// Where a name comes from.
struct PythonValues::Source {
  std::string expression;
  size_t at = 0;
  int index = -1;
  Value value{};       ///< in place of the expression
  bool known = false;  ///< which statement gives it
};

Value PythonValues::argument_of(const std::string& class_name, const std::string& name) {
  return field(class_name, name, true);
}

PythonValues::PythonValues(const std::string& text, const PythonStatements& statements,
                           PythonStart start)
    : text_(text),
      statements_(statements),
      names_(text, statements),
      start_(std::move(start)),
      steps_left_(most_steps(text.size())) {}

Value PythonValues::unknown(std::string why) {
  why_ = std::move(why);
  return std::nullopt;
}

void PythonValues::take(const std::string& name, const Value& value) {
  const auto said = value ? yaml_text(*value) : std::nullopt;
  taken_.insert(fmt::format("{} = {}", name, said ? said->substr(0, 60) : "..."));
}

Value PythonValues::value(std::string_view expression, size_t at) {
  if (depth_ == 0) why_.clear();
  constexpr size_t kLongest = 20'000;
  if (expression.size() > kLongest || --steps_left_ < 0) return std::nullopt;
  return python_expression(*this, expression, at, true);
}

std::optional<std::string> PythonValues::text(std::string_view expression, size_t at) {
  const Value made = value(expression, at);
  return made ? yaml_text(*made) : std::nullopt;
}

std::optional<bool> PythonValues::condition(std::string_view expression, size_t at) {
  if (--steps_left_ < 0) return std::nullopt;
  const Value made = python_expression(*this, expression, at, false);
  return made ? std::optional(python_truth(*made)) : std::nullopt;
}

Value PythonValues::environment(const std::string& name, const Value& fallback, bool has_fallback) {
  if (const auto it = start_.environment.find(name); it != start_.environment.end()) {
    if (it->second.find('\x01') == std::string::npos) return Json(it->second);
    return unknown(fmt::format("the variable {}, which is not known here", name));
  }
  if (is_of_launcher(name) || !has_fallback)
    return unknown(fmt::format("the variable {}, which nothing sets here (--env {}=VALUE sets it)",
                               name, name));
  take(name, fallback);
  return fallback;
}

std::optional<bool> PythonValues::condition_of(size_t head) {
  const std::string_view statement = statements_.statement(head);
  if (base::contains(std::string(statement.substr(0, 40)), "__name__")) return true;
  const size_t begin = statement.starts_with("elif") ? 4 : 2;
  return condition(statement.substr(std::min(begin, statement.size())), head);
}

std::optional<bool> PythonValues::taken_branch(size_t head) {
  const bool otherwise = statements_.statement(head).starts_with("else");
  bool known = true;
  for (size_t before = head; !statements_.statement(before).starts_with("if");) {
    before = statements_.previous(before);
    if (before == std::string::npos) return std::nullopt;
    const std::string_view statement = statements_.statement(before);
    if (!statement.starts_with("if") && !statement.starts_with("elif")) return std::nullopt;
    const auto taken = condition_of(before);
    if (taken && *taken) return false;
    known = known && taken;
  }
  if (!known) return std::nullopt;
  return otherwise ? std::optional(true) : condition_of(head);
}

std::optional<bool> PythonValues::reached(size_t at, bool in_loops) {
  std::vector<size_t> heads = statements_.around(at);
  for (const size_t head : heads) {
    const std::string_view statement = statements_.statement(head);
    const auto begins = [&](std::string_view word) {
      return statement.starts_with(word) &&
             (statement.size() == word.size() || !is_word(statement[word.size()]));
    };
    if (begins("def") || begins("class") || statement.starts_with("async def")) break;
    if (begins("with") || begins("try") || begins("finally")) continue;
    const bool loop = begins("for") || begins("while");
    if (loop && in_loops) continue;
    if (!begins("if") && !begins("elif") && !begins("else")) return std::nullopt;
    const auto taken = taken_branch(head);
    if (!taken || !*taken) return taken;
  }
  return true;
}

std::optional<PythonValues::Source> PythonValues::find(const std::string& name, size_t at) {
  if (--steps_left_ < 0) return Source{};
  size_t scope = names_.scope(at);
  for (bool inner = true;; inner = false) {
    if (inner || !names_.is_class(scope))
      if (auto found = find_in(name, at, scope, inner)) return found;
    if (scope == PythonNames::kModule) return std::nullopt;
    scope = names_.scope(scope);
  }
}

std::optional<PythonValues::Source> PythonValues::find_in(const std::string& name, size_t at,
                                                          size_t scope, bool inner) {
  std::optional<Source> found;
  if (scope != PythonNames::kModule && !names_.is_class(scope)) found = parameter(name, scope);
  int live = 0;
  for (const PythonBinding& it : names_.bindings(name, scope)) {
    if (inner && it.at >= statements_.start(at)) break;
    const auto counts = reached(it.at, false);
    if (counts && !*counts) continue;
    ++live;
    found = Source{it.expression, it.at, it.index, std::nullopt,
                   counts.has_value() && !it.expression.empty()};
  }
  // Which of several is the last before a function is called is not followed.
  if (!inner && live > 1) found->known = false;
  return found;
}

/// `**kw` of a function that is called once: what it names besides the other parameters.
std::optional<PythonValues::Source> PythonValues::remaining_arguments(
    const std::string& name, size_t function, const std::vector<PythonField>& parameters) {
  if (std::ranges::find(parameters, "**" + name, &PythonField::name) == parameters.end())
    return std::nullopt;
  std::optional<Source> found;
  for (const auto& [at, open] : calls_of(text_, names_.name_of(function))) {
    if (statements_.start(at) == function) continue;
    if (found) return Source{};
    std::string items;
    for (const PythonArgument& it : arguments_of_call(text_, open)) {
      if (it.value.starts_with("**"))
        items += it.value + ", ";
      else if (it.value.starts_with('*'))
        return Source{};
      if (!it.name.empty() &&
          std::ranges::find(parameters, it.name, &PythonField::name) == parameters.end())
        items += fmt::format("{}={}, ", it.name, it.value);
    }
    found = Source{"dict(" + items + ")", at, -1, std::nullopt, true};
  }
  return found ? found : Source{};
}

/// The `train_loop_config` with which Ray's trainer calls a function.
std::optional<PythonValues::Source> PythonValues::handed_by_ray(const std::string& function) const {
  std::optional<Source> found;
  for (const auto& [at, open] : calls_of(text_, "TorchTrainer")) {
    const std::vector<PythonArgument> arguments = arguments_of_call(text_, open);
    const auto calls = [&](const PythonArgument& it) { return it.value == function; };
    if (std::ranges::none_of(arguments, calls)) continue;
    for (const PythonArgument& it : arguments)
      if (it.name == "train_loop_config") found = Source{it.value, at, -1, std::nullopt, !found};
  }
  return found;
}

std::optional<PythonValues::Source> PythonValues::parameter(const std::string& name,
                                                            size_t function) {
  const std::vector<PythonField> parameters = names_.parameters(function);
  const auto it = std::ranges::find(parameters, name, &PythonField::name);
  if (it == parameters.end()) return remaining_arguments(name, function, parameters);
  const auto position = static_cast<size_t>(it - parameters.begin());
  const std::vector<size_t> around = statements_.around(function);
  // A class is called in place of its constructor, without `self`.
  const bool constructs = names_.name_of(function) == "__init__" && !around.empty();
  const size_t called = constructs ? around.front() : function;
  const std::string own = names_.name_of(called);
  const Source by_default{it->value, function, -1, std::nullopt, !it->value.empty()};
  if (names_.is_decorated(function) || (parameters.front().name == "self" && !constructs))
    return Source{};
  for (const auto& [at, open] : calls_of(text_, "Fire"))
    if (base::contains(text_.substr(open, behind_bracket(text_, open) - open), own)) {
      if (Value word = said(name)) return Source{"", at, -1, as_fire_reads(*word), true};
      if (by_default.known) take("--" + name, value(it->value, function));
      return by_default;
    }
  if (const auto handed = handed_by_ray(own); handed && position == 0) return handed;
  std::optional<Source> given;
  for (const auto& [at, open] : calls_of(text_, own)) {
    if (statements_.start(at) == called || (at > 0 && text_[at - 1] == '.')) continue;
    Source source = by_default;
    bool is_given = false, spreads = false;
    const std::vector<PythonArgument> arguments = arguments_of_call(text_, open);
    for (size_t i = 0; i < arguments.size(); ++i) {
      spreads = spreads || arguments[i].value.starts_with("**");
      if (arguments[i].value.starts_with('*') && !arguments[i].value.starts_with("**"))
        return Source{};
      const bool placed = arguments[i].name.empty() && i + (constructs ? 1 : 0) == position;
      if (arguments[i].name != name && !placed) continue;
      source = {arguments[i].value, at, -1, std::nullopt, true};
      is_given = true;
    }
    if (spreads && !is_given) return Source{};
    if (given && given->expression != source.expression) return Source{};
    given = source;
  }
  return given ? given : by_default;
}

Value PythonValues::evaluated(const Source& source) {
  if (!source.known) return std::nullopt;
  if (source.value) return source.value->is_discarded() ? std::nullopt : source.value;
  if (source.index >= 0) {
    // `a, b = 4, 8`; else the parts of one value.
    const auto parts = arguments_of_call("(" + source.expression + ")", 0);
    if (parts.size() > 1 && static_cast<size_t>(source.index) < parts.size())
      return value(parts[static_cast<size_t>(source.index)].value, source.at);
  }
  const Value whole = value(source.expression, source.at);
  if (!whole || source.index < 0) return whole;
  const auto index = static_cast<size_t>(source.index);
  const bool there = whole->is_array() && index < whole->size() && !(*whole)[index].is_discarded();
  return there ? Value((*whole)[index]) : std::nullopt;
}

Value PythonValues::named(const std::string& path, size_t at) {
  constexpr std::array kTypes = std::to_array<std::string_view>(
      {"torch.bfloat16", "torch.float16", "torch.float32", "torch.half", "torch.float"});
  if (base::contains(kTypes, path)) return Json(path.substr(6));
  if (path == "sys.argv") {
    Json words = Json::array({"program"});
    for (const std::string& word : start_.words) words.push_back(word);
    return words;
  }
  const size_t dot = path.rfind('.');
  if (const auto source = find(path, at)) {
    const Value made = evaluated(*source);
    const bool moves = made && made->is_structured() && names_.is_mutated(path, names_.scope(at));
    if (made && !moves) return made;
    return why_.empty() || moves ? unknown(path) : std::nullopt;
  }
  if (dot == path.npos) return unknown(path);
  return attribute(path.substr(0, dot), path.substr(dot + 1), at);
}

bool PythonValues::is_made(const std::string& name, size_t at) {
  if (name.empty() || !std::ranges::all_of(name, is_word)) return false;
  const auto source = find(name, at);
  if (!source || !source->known || source->index >= 0) return false;
  const std::string callee = callee_of(source->expression);
  return !callee.empty() && callee[0] >= 'A' && callee[0] <= 'Z';
}

bool PythonValues::parses_arguments(const std::string& expression) const {
  const auto parses = [](std::string_view text) {
    return text.find("parse_args(") != text.npos || text.find("parse_known_args(") != text.npos;
  };
  if (parses(expression)) return true;
  const std::string callee = callee_of(expression);
  const size_t function = callee.empty() ? PythonNames::kModule : names_.definition("def", callee);
  return function != PythonNames::kModule && parses(names_.body(function));
}

std::vector<std::string> PythonValues::argument_classes() const {
  std::vector<std::string> classes;
  for (const char* parser : {"HfArgumentParser", "TrlParser", "H4ArgumentParser"})
    for (const auto& [at, open] : calls_of(text_, parser)) {
      std::vector<PythonArgument> given = arguments_of_call(text_, open);
      if (given.empty() || !classes.empty()) continue;
      const std::string first = given.front().value;
      if (first.starts_with('(') || first.starts_with('[')) given = arguments_of_call(first, 0);
      for (const PythonArgument& it : given)
        if (it.name.empty() || it.name == "dataclass_types")
          classes.emplace_back(base::last_part(it.value, '.'));
    }
  return classes;
}

std::optional<Value> PythonValues::own_field(const std::string& name, size_t at) {
  const size_t function = names_.scope(at);
  const size_t owner = function == PythonNames::kModule ? function : names_.scope(function);
  if (!names_.is_class(owner)) return std::nullopt;
  const std::string class_name = names_.name_of(owner);
  if (!base::contains(argument_classes(), class_name)) return std::nullopt;
  return field(class_name, name, true);
}

Value PythonValues::attribute(const std::string& object, const std::string& name, size_t at) {
  if (object == "self")
    if (auto own = own_field(name, at)) return *std::move(own);
  std::optional<Source> source = find(object, at);
  for (int i = 0; i < 8 && source && source->known && source->index < 0; ++i) {
    const std::string& text = source->expression;
    if (text.empty() || !std::ranges::all_of(text, is_word)) break;
    source = find(text, source->at);
  }
  const std::string path = object + "." + name;
  if (!source) {
    const bool own = names_.definition("class", object) != PythonNames::kModule;
    return own ? field(object, name, false) : unknown(path);
  }
  const std::string& text = source->expression;
  if (!source->known) return unknown(path);
  if (std::ranges::any_of(kArgumentParsers,
                          [&](std::string_view call) { return base::contains(text, call); })) {
    const std::vector<std::string> classes = argument_classes();
    size_t index = source->index < 0 ? 0 : static_cast<size_t>(source->index);
    // `...parse_args_into_dataclasses()[0]`
    if (const auto one =
            base::parse_integer(text.ends_with(']') ? text.substr(text.rfind('[') + 1,
                                                                  text.size() - text.rfind('[') - 2)
                                                    : "");
        one && *one >= 0)
      index = static_cast<size_t>(*one);
    return index < classes.size() ? field(classes[index], name, true) : unknown(path);
  }
  if (parses_arguments(text)) return argument(name);
  const std::string callee = callee_of(text);
  if (callee.empty()) return unknown(path);
  if (const auto given = find_argument(arguments_of_call(text, text.find('(')), name))
    return value(given->value, source->at);
  return names_.definition("class", callee) != PythonNames::kModule ? field(callee, name, false)
                                                                    : unknown(path);
}

Value PythonValues::field(const std::string& class_name, const std::string& name,
                          bool is_argument) {
  if (Value word = is_argument ? said(name) : std::nullopt) {
    if (word->is_discarded()) return unknown(fmt::format("--{}, which is not known here", name));
    return word;
  }
  // HfArgumentParser's own method, which argparse gives it.
  if (is_argument)
    for (const auto& [at, open] : calls_of(text_, "set_defaults"))
      if (const auto given = find_argument(arguments_of_call(text_, open), name))
        return value(given->value, at);
  const auto own = names_.field(class_name, name);
  const auto text = own ? default_of(own->value) : std::nullopt;
  if (!text) {
    if (Value made = trainer_default(class_name, name)) return made;
    return unknown(fmt::format("{}.{}", class_name, name));
  }
  Value made = value(*text, own->at);
  if (is_argument && made) take("--" + name, made);
  return made;
}

Value PythonValues::trainer_default(const std::string& class_name, std::string_view name) const {
  std::vector<std::string> classes = {class_name};
  bool of_trainer = false;
  for (size_t i = 0; i < classes.size() && i < 8; ++i) {
    of_trainer =
        of_trainer || classes[i] == "TrainingArguments" || classes[i] == "Seq2SeqTrainingArguments";
    for (std::string& base : names_.bases(classes[i])) classes.push_back(std::move(base));
  }
  if (!of_trainer) return std::nullopt;
  if (name == "bf16" || name == "fp16" || name == "gradient_checkpointing") return Json(false);
  if (name == "per_device_train_batch_size") return Json(8);
  if (name == "gradient_accumulation_steps") return Json(1);
  return name == "deepspeed" ? Value(Json(nullptr)) : std::nullopt;
}

Value PythonValues::said(std::string_view name) const {
  const std::vector<std::string>& words = start_.words;
  Value found;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) continue;
    const size_t equals = words[i].find('=');
    if (option_name(words[i].substr(0, equals)) != name) continue;
    const bool alone = equals == std::string::npos &&
                       (i + 1 == words.size() ||
                        (words[i + 1].starts_with('-') && !base::parse_number(words[i + 1])));
    const std::string text = equals != std::string::npos ? words[i].substr(equals + 1)
                             : alone                     ? "true"
                                                         : words[i + 1];
    found = text.find('\x01') == text.npos ? typed(text) : Json(Json::value_t::discarded);
  }
  const auto in_file = start_.file_words.find(name);
  if (!found && in_file != start_.file_words.end()) return typed(in_file->second);
  return found;
}

std::map<std::string, std::string> PythonValues::words() const {
  std::map<std::string, std::string> all;
  for (const std::string& word : start_.words) {
    if (!word.starts_with("--")) continue;
    const std::string name = option_name(word.substr(0, word.find('=')));
    const Value value = said(name);
    const auto text = value ? yaml_text(*value) : std::nullopt;
    if (text) all[name] = *text;
  }
  return all;
}

Value PythonValues::argument(const std::string& name) {
  for (const auto& [at, open] : calls_of(text_, "set_defaults"))
    if (find_argument(arguments_of_call(text_, open), name)) return unknown("args." + name);
  const auto calls = calls_of(text_, "add_argument");
  if (calls.size() > kMostPythonArguments) return unknown("args." + name);
  for (const auto& [at, open] : calls) {
    const std::vector<PythonArgument> given = arguments_of_call(text_, open);
    std::vector<std::string> spellings;
    for (const PythonArgument& it : given)
      if (const auto word = it.name.empty() ? literal(it.value) : std::nullopt)
        spellings.push_back(*word);
    const auto destination = find_argument(given, "dest");
    const auto named = std::ranges::find_if(
        spellings, [](const std::string& word) { return word.starts_with("--"); });
    const std::string own = destination                ? literal(destination->value).value_or("")
                            : named != spellings.end() ? option_name(*named)
                            : spellings.empty()        ? ""
                                                       : option_name(spellings.front());
    if (own != name) continue;
    const auto action = find_argument(given, "action");
    const std::string does = action ? literal(action->value).value_or("") : "";
    const bool off = does == "store_false";
    Value word;
    for (const std::string& spelling : spellings)
      if (Value one = said(option_name(spelling))) word = std::move(one);
    if (word && word->is_discarded())
      return unknown(fmt::format("--{}, which is not known here", name));
    if (word && (off || does == "store_true")) return Json(!off);
    if (word) return word;
    const auto fallback = find_argument(given, "default");
    if (find_argument(given, "required") && !fallback)
      return unknown(fmt::format("--{}, which the program is not given here", name));
    Value made = fallback                      ? value(fallback->value, at)
                 : off || does == "store_true" ? Value(Json(off))
                                               : Value(Json(nullptr));
    if (made) take("--" + name, made);
    return made;
  }
  return unknown("args." + name);
}

std::string python_literal(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (value.is_number()) {
    const std::string text = fmt::format("{}", value.get<double>());
    return text.find_first_of(".en") == text.npos ? text + ".0" : text;
  }
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const char quote = base::contains(text, "\"") ? '\'' : '"';
    return fmt::format("{}{}{}", quote, text, quote);
  }
  if (value.is_discarded()) return "...";
  const bool list = value.is_array();
  std::string all;
  for (const auto& [key, item] : value.items())
    all += (all.empty() ? "" : ", ") +
           (list ? python_literal(item)
                 : fmt::format("{}: {}", python_literal(Json(key)), python_literal(item)));
  return list ? "[" + all + "]" : "{" + all + "}";
}

std::optional<std::string> yaml_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() || value.is_discarded()) return std::nullopt;
  if (!value.is_array()) return python_literal(value);
  std::string joined;
  for (const Json& item : value) {
    const auto one = item.is_array() ? std::nullopt : yaml_text(item);
    if (!one) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *one;
  }
  return joined;
}

}  // namespace ergometer::intake
