// NeMo 1 under Hydra, and NeMo 2's recipes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "intake/config/hydra_defaults.h"
#include "intake/config/nemo_files.h"
#include "intake/config/recipe_python.h"
#include "intake/program_reader.h"
#include "intake/programs/launcher_options.h"
#include "intake/script/inner_shell.h"

namespace ergometer::intake {

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

ProgramReader::HydraWords ProgramReader::hydra_words() const {
  HydraWords said;
  said.line = launch_.line;
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    const size_t equals = word.text.find('=');
    const bool joined = equals != word.text.npos;
    const std::string next = value_of(i);
    if (names_[i] == "config_path") said.folder = next;
    if (names_[i] == "config_name") {
      said.name = next;
      said.line = word.line;
    }
    const bool plain = joined && sets_variable(word.text.substr(0, equals) + "=");
    const size_t begin = std::min(word.text.find_first_not_of('+'), word.text.size());
    const std::string key = word.text.substr(begin, equals - begin);
    // A name without a dot is a group whose file it chooses, or a key of the file.
    if (plain && !ShellUnknowns::in(next)) said.choices[key] = next;
    if (!is_override(word.text) && !word.text.starts_with('~')) continue;
    said.overrides[key] = {next, word.line, run_.session.where(word.line)};
  }
  return said;
}

Result<void> ProgramReader::settle_overrides(spec::FlatYaml& overrides) const {
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
  return {};
}

Result<Reading> ProgramReader::nemo() {
  HydraWords said = hydra_words();
  const int line = said.line;
  if (said.name.empty() && has_any({"recipe", "config_file"}))
    return refuse(
        "takes its job from a recipe in Python, which is not read; give the configuration "
        "that Megatron-Bridge writes of it as YAML");
  if (said.name.empty())
    return refuse(
        "without --config-name: its own file is not known here; put it beside the script and name "
        "it (--script-adds \"--config-name FILE\"), or give --model and sizes as options");
  const std::string name = said.name + (said.name.ends_with(".yaml") ? "" : ".yaml");
  const std::filesystem::path program = std::filesystem::path(launch_.program).parent_path();
  Result<std::string> text = input_error("");
  std::string found;
  for (const std::filesystem::path& path :
       {program / said.folder / name, std::filesystem::path(said.folder) / name,
        std::filesystem::path(name)}) {
    text = text_of(path.string(), line, "--config-name");
    found = path.string();
    if (text) break;
  }
  if (!text) return tl::unexpected(text.error());
  const auto read = [&](const std::string& path) { return text_of(path, line, "defaults"); };
  ERGOMETER_ASSIGN(spec::FlatYaml composed, hydra_defaults(*text, found, read, said.choices));
  ERGOMETER_TRY(settle_overrides(said.overrides));
  for (const char* section : {"model", "trainer"})
    if (const auto left = said.choices.find(section); left != said.choices.end())
      return input_error("{}: {}={} chooses a file of a group that {} has not in its defaults",
                         run_.session.where(line), section, left->second, name);
  if (!composed.empty()) composed["~defaults"] = {};
  for (const auto& [key, value] : said.overrides) composed[key] = value;
  return parse_nemo_1(*text, name, context(), composed);
}

}  // namespace ergometer::intake
