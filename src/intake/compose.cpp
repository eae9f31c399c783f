#include "intake/compose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/asked_gpus.h"
#include "intake/launch_script.h"
#include "intake/programs/launcher_options.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::intake {
namespace {

/// What a service reserves GPUs by; none where it reserves none.
YAML::Node devices_of(const YAML::Node& service) {
  YAML::Node found = service;
  for (const char* key : {"deploy", "resources", "reservations", "devices"}) {
    if (!found.IsMap() || !found[key]) return YAML::Node();
    found.reset(YAML::Node(found[key]));
  }
  return found;
}

/// What Compose writes into a file before it starts anything: ${NAME}, ${NAME:-DEFAULT} and $NAME
/// of the shell that starts it, which --env alone says; `$$` is a dollar.
class ComposeText {
 public:
  ComposeText(const std::string& file, const ScriptContext& context)
      : file_(file), context_(context) {}

  Result<std::string> read(const YAML::Node& node) {
    const std::string text = node.IsNull() ? "" : node.as<std::string>();
    return written(text, node.Mark().line + 1);
  }
  /// Names that nobody said and that have a default.
  const std::set<std::string>& taken() const { return taken_; }
  /// References that nobody said and that have none: what they are.
  const std::map<std::string, std::string>& unknown() const { return unknown_; }

 private:
  static bool is_of_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  static size_t behind_name(const std::string& text, size_t at) {
    while (at < text.size() && is_of_name(text[at])) ++at;
    return at;
  }
  Result<std::string> written(const std::string& text, int line) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      const size_t next = at + 1;
      if (text[at] != '$' || next >= text.size() ||
          (text[next] != '{' && !is_of_name(text[next]))) {
        result += text[at];
        at = text.compare(at, 2, "$$") == 0 ? at + 2 : next;
        continue;
      }
      const size_t begin = text[next] == '{' ? next + 1 : next, end = behind_name(text, begin);
      const size_t close = text[next] == '{' ? text.find('}', end) : end;
      const std::string otherwise =
          close == text.npos || close == end ? "" : text.substr(end, close - end);
      if (close == text.npos || base::contains(otherwise, "$"))
        return input_error("{}:{}: found {}; allowed: ${{NAME}} and ${{NAME:-DEFAULT}}", file_,
                           line, text.substr(at, 60));
      result += variable(text.substr(begin, end - begin), otherwise);
      at = text[next] == '{' ? close + 1 : end;
    }
    return result;
  }
  std::string variable(const std::string& name, const std::string& otherwise) {
    const auto given = context_.environment.find(name);
    const bool keeps_empty = !otherwise.starts_with(':');
    if (given != context_.environment.end() && (keeps_empty || !given->second.empty()))
      return given->second;
    const size_t size = keeps_empty ? 1 : 2;
    if (otherwise.size() >= size && otherwise[size - 1] == '-') {
      taken_.insert(fmt::format("{} = {}", name, otherwise.substr(size)));
      return otherwise.substr(size);
    }
    // ${NAME:?MESSAGE} has no value either.
    const std::string reference = "${" + name + "}";
    unknown_[reference] =
        fmt::format("{} of the shell that starts Compose or its .env file (--env {}=VALUE says it)",
                    reference, name);
    return reference;
  }

  const std::string& file_;
  const ScriptContext& context_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> unknown_;
};

/// A text in words by its quotes alone: a dollar that is left stands for itself.
std::vector<std::string> words_in_quotes(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool has_word = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool ends = quote == 0 && (c == ' ' || c == '\t');
    if (ends && has_word) words.push_back(std::exchange(word, ""));
    has_word = !ends;
    if (ends) continue;
    if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
    else if (c == '\\' && at + 1 < text.size() &&
             (quote == 0 || (quote == '"' && (text[at + 1] == '"' || text[at + 1] == '\\'))))
      word += text[++at];
    else
      word += c;
  }
  if (has_word) words.push_back(word);
  return words;
}

/// The words of an entrypoint or a command: a list, or a text that no shell reads.
Result<void> add_words(const YAML::Node& said, ComposeText& compose, StartedProgram& program) {
  if (!said || said.IsNull()) return {};
  const auto add = [&](std::string word, const YAML::Node& from) {
    program.words.push_back(std::move(word));
    program.lines.push_back(from.Mark().line + 1);
  };
  if (said.IsSequence()) {
    for (const YAML::Node& item : said) {
      ERGOMETER_ASSIGN(std::string word, compose.read(item));
      add(std::move(word), item);
    }
    return {};
  }
  ERGOMETER_ASSIGN(std::string text, compose.read(said));
  std::ranges::replace(text, '\n', ' ');
  for (std::string& word : words_in_quotes(text)) add(std::move(word), said);
  return {};
}

/// `NAME: value` or `- NAME=value`; a name alone is of the shell that starts Compose.
Result<void> add_variables(const YAML::Node& service, ComposeText& compose,
                           StartedProgram& program) {
  for (const auto& item : service["environment"]) {
    const bool named = item.first.IsDefined();
    ERGOMETER_ASSIGN(std::string line, compose.read(named ? item.first : item));
    if (named && !item.second.IsNull()) {
      ERGOMETER_ASSIGN(const std::string value, compose.read(item.second));
      line += "=" + value;
    }
    const size_t equals = line.find('=');
    const bool is_known =
        equals != line.npos && std::ranges::none_of(compose.unknown(), [&](const auto& reference) {
          return base::contains(line, reference.first);
        });
    if (is_known)
      program.environment[line.substr(0, equals)] = line.substr(equals + 1);
    else
      program.unknown.insert(line.substr(0, equals));
  }
  return {};
}

Result<StartedProgram> program_of_service(const YAML::Node& service, ComposeText& compose,
                                          const ScriptContext& context) {
  StartedProgram program;
  ERGOMETER_TRY(add_variables(service, compose, program));
  for (const char* key : {"entrypoint", "command"})
    ERGOMETER_TRY(add_words(service[key], compose, program));
  program.unknown_parts = compose.unknown();
  for (const auto& [name, value] : context.environment) {
    program.environment[name] = value;
    program.unknown.erase(name);
  }
  return program;
}

/// A service's GPUs: `count: 4`, `device_ids: ["0", "1"]`; 0: all that are there, or not said.
Result<int64_t> gpus_of_service(const YAML::Node& service, ComposeText& compose) {
  int64_t gpus = 0;
  for (const YAML::Node& device : devices_of(service)) {
    if (device["device_ids"])
      gpus += std::ssize(device["device_ids"].as<std::vector<std::string>>());
    if (!device["count"]) continue;
    ERGOMETER_ASSIGN(const std::string count, compose.read(device["count"]));
    gpus += launcher_number(count);
  }
  return gpus;
}

/// GPUs that a service reserves and its command starts: one of several nodes, or one that is shown
/// some of them, starts another number.
AskedGpus asked_of_service(const YAML::Node& service, int64_t gpus, const std::string& file,
                           const StartedProgram& program) {
  const std::string words = fmt::format("{}", fmt::join(program.words, " "));
  const bool of_nodes = base::contains(words, "nnodes") || base::contains(words, "num_machines");
  const bool is_shown = program.environment.contains("CUDA_VISIBLE_DEVICES");
  return {of_nodes || is_shown ? 0 : gpus,
          fmt::format("{}:{}", file, devices_of(service).Mark().line + 1), "devices", false};
}

}  // namespace

Result<Reading> parse_compose(const std::string& text, const std::string& file,
                              const ScriptContext& context) {
  std::vector<YAML::Node> found;
  try {
    const YAML::Node document = spec::yaml_node(text);
    for (const auto& service : document["services"])
      if ((service.second["command"] || service.second["entrypoint"]) &&
          devices_of(service.second).IsSequence())
        found.push_back(service.second);
    if (found.size() != 1)
      return input_error(
          "{}: is a file of Docker Compose in which {} services have a command and reserve GPUs "
          "(deploy.resources.reservations.devices); allowed: one",
          file, found.size());
    ComposeText compose(file, context);
    ERGOMETER_ASSIGN(StartedProgram program, program_of_service(found.front(), compose, context));
    ERGOMETER_ASSIGN(const int64_t gpus, gpus_of_service(found.front(), compose));
    const AskedGpus asked = asked_of_service(found.front(), gpus, file, program);
    if (asked.gpus > 0 && asked.gpus < spec::kMostRanks) {
      std::string seen = "0";
      for (int64_t gpu = 1; gpu < asked.gpus; ++gpu) seen += fmt::format(",{}", gpu);
      program.environment["CUDA_VISIBLE_DEVICES"] = seen;
    }
    ERGOMETER_ASSIGN(Reading reading, read_started_programs({program}, file, context));
    ERGOMETER_TRY(take_gpus(asked, reading));
    reading.form = "a service of Docker Compose";
    if (!compose.taken().empty())
      reading.notes.push_back(
          fmt::format("not set, taken as the file says: {} (--env NAME=VALUE sets a variable)",
                      fmt::join(compose.taken(), ", ")));
    return reading;
  } catch (const YAML::Exception& error) {
    return input_error("{}:{}: {}", file, error.mark.line + 1, error.msg);
  }
}

}  // namespace ergometer::intake
