// Frameworks around PyTorch's own parallelism: torchtitan, torchtune, Lightning, LLM Foundry.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/text.h"
#include "intake/config/foundry.h"
#include "intake/config/lightning.h"
#include "intake/config/torchtitan.h"
#include "intake/config/torchtune.h"
#include "intake/program_reader.h"
#include "intake/reader/framework_options.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {

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
    // Of torchrun's words the counts alone are read: where the nodes meet may be known only there.
    const std::string& option = names_[i].empty() ? names_[i - 1] : names_[i];
    const bool idle = !option.empty() && option != "config" && !counts.contains(option);
    if (!idle) ERGOMETER_TRY(check_word(word, "torchtune"));
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

}  // namespace ergometer::intake
