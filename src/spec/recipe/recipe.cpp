#include "spec/recipe/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/parse_once.h"
#include "spec/catalog/read.h"
#include "spec/recipe/inferred_recipe.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {
namespace {

RecipeCondition condition_of(YamlMap& map) {
  auto condition = RecipeCondition::parse(map.text("when"));
  if (condition) return *std::move(condition);
  map.refuse("when", condition.error().message);
  return {};
}

Recipe::Profile read_profile(YamlMap& map) {
  map.allow({"when", "profile"});
  map.require("profile");
  return {condition_of(map), map.text("profile")};
}

void read_rule_settings(YamlMap& rule, Recipe::Rule& out) {
  auto set = rule.map("set");
  if (!set) return rule.refuse("set", "is missing; allowed: a mapping of settings to values");
  for (const YamlMap::Item& item : set->items()) {
    const SettingInfo* info = find_setting(item.key);
    if (info == nullptr) {
      set->refuse_at(item.line, item.key, "is not a setting");
      return;
    }
    out.settings.emplace_back(info->name, item.value);
  }
}

Recipe::Rule read_rule(YamlMap& map) {
  map.allow({"when", "workloads", "split_sequences", "set", "source", "grade"});
  Recipe::Rule rule;
  rule.when = condition_of(map);
  rule.workloads = map.has("workloads");
  rule.split_sequences = map.has("split_sequences");
  if (rule.workloads || rule.split_sequences) return rule;
  map.require("source");
  rule.source = map.text("source");
  constexpr std::array kGrades = {base::Grade::kDatasheet, base::Grade::kMeasured,
                                  base::Grade::kFitted, base::Grade::kAssumed};
  const int grade = map.choice("grade", {"datasheet", "measured", "fitted", "assumed"}, 3);
  rule.grade = kGrades[static_cast<size_t>(grade)];
  read_rule_settings(map, rule);
  return rule;
}

/// The rules of another recipe of the catalog, or with `setting` those that set it.
std::vector<Recipe::Rule> read_rules_of(YamlMap& map) {
  map.allow({"rules_of", "setting"});
  const std::string name = map.text("rules_of"), setting = map.text("setting");
  const CatalogEntry* entry = find_in_catalog(CatalogKind::kRecipe, name);
  if (entry == nullptr) {
    map.refuse("rules_of", fmt::format("found \"{}\"; allowed: a recipe of the catalog", name));
    return {};
  }
  auto other = parse_recipe(entry->text, std::string(entry->path));
  if (!other) {
    map.refuse("rules_of", other.error().message);
    return {};
  }
  if (!setting.empty())
    std::erase_if(other->rules, [&](const Recipe::Rule& rule) {
      return std::ranges::none_of(rule.settings,
                                  [&](const auto& it) { return it.first == setting; });
    });
  if (other->rules.empty())
    map.refuse("setting",
               fmt::format("found \"{}\"; allowed: what a rule of {} sets", setting, name));
  return std::move(other->rules);
}

/// What stands behind a name if it is a release: "25.07", "25.04.01", "v5.1"; nothing if it is
/// anything else.
std::optional<std::string> release_behind(std::string_view rest) {
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const size_t end = rest.find_first_not_of("0123456789.");
  const std::string_view behind = end == rest.npos ? "" : rest.substr(end);
  const bool candidate = behind.starts_with("rc") || behind.starts_with("post");
  if (!behind.empty() && !candidate) return std::nullopt;
  return std::string(rest.substr(0, end));
}

using Shared = std::shared_ptr<const Recipe>;

Result<Shared> parse_shared(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(Recipe recipe, parse_recipe(yaml, file));
  return std::make_shared<const Recipe>(std::move(recipe));
}

/// The recipe whose name or alias the words begin with, the longest; what follows is its release.
Result<RecipeChoice> choice_of_words(std::string_view words) {
  const std::string text = base::squashed(words);
  RecipeChoice choice;
  size_t longest = 0;
  const CatalogEntry* found = nullptr;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kRecipe) continue;
    std::vector<std::string_view> names = aliases_of(entry);
    names.push_back(entry.name);
    for (const std::string_view name : names) {
      const std::string key = base::squashed(name);
      if (key.size() <= longest || !text.starts_with(key)) continue;
      const auto release = release_behind(std::string_view(text).substr(key.size()));
      if (!release) continue;
      longest = key.size();
      found = &entry;
      choice.release = *release;
    }
  }
  if (found == nullptr) return choice;
  ERGOMETER_ASSIGN(choice.recipe, parse_once(*found, parse_shared));
  if (choice.release.empty()) choice.release = choice.recipe->release;
  return choice;
}

/// The recipe that goes with a profile.
Result<RecipeChoice> choice_of_profile(const std::string& name) {
  ERGOMETER_ASSIGN(const SoftwareProfile profile, read_software(name));
  RecipeChoice choice;
  if (!profile.recipe.empty()) {
    ERGOMETER_ASSIGN(choice, choice_of_words(profile.recipe));
  }
  choice.profile = name;
  return choice;
}

base::Error unknown_software(std::string_view words) {
  std::vector<std::string_view> known = catalog_names(CatalogKind::kRecipe);
  for (const std::string_view name : catalog_names(CatalogKind::kSoftware)) known.push_back(name);
  // The release is not what is misspelled.
  const auto near = base::nearest(words.substr(0, words.find_first_of(" 0123456789")), known);
  return {base::ErrorKind::kInput,
          fmt::format("software: found \"{}\"; allowed: a framework with or without its release "
                      "(nemo-25.07, \"MLPerf 5.1\", torchtitan), a software profile of the "
                      "catalog{}, or a YAML file (all names: ergometer catalog list software)",
                      words, near ? fmt::format(" (did you mean {}?)", *near) : "")};
}

struct Inference {
  RecipeCondition when;
  InferredRecipe recipe;
};

Result<std::vector<Inference>> read_inferences() {
  const CatalogEntry* entry = find_in_catalog(CatalogKind::kTable, "inferred_recipes");
  ERGOMETER_ASSIGN(const auto table, base::parse_csv(entry->text, std::string(entry->path)));
  std::vector<Inference> all;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    auto when = RecipeCondition::parse(table.cell(row, "when"));
    if (!when)
      return input_error("{}:{}: {}", entry->path, table.rows[row].line, when.error().message);
    all.push_back(
        {*std::move(when),
         {std::string(table.cell(row, "software")), table.cell(row, "only") == "yes", row}});
  }
  return all;
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(yaml, file));
  map.allow({"name", "aliases", "title", "release", "profiles", "rules"});
  for (const char* key : {"name", "title", "profiles"}) map.require(key);
  Recipe recipe{map.text("name"), map.text("title"), map.text("release"), {}, {}};
  for (YamlMap& profile : map.maps("profiles")) recipe.profiles.push_back(read_profile(profile));
  for (YamlMap& rule : map.maps("rules")) {
    if (!rule.has("rules_of")) {
      recipe.rules.push_back(read_rule(rule));
      continue;
    }
    for (Recipe::Rule& other : read_rules_of(rule)) recipe.rules.push_back(std::move(other));
  }
  if (map.error()) return tl::unexpected(*map.error());
  return recipe;
}

bool is_software_file(std::string_view words) {
  return find_in_catalog(CatalogKind::kSoftware, words) == nullptr &&
         (words.find('/') != words.npos || words.ends_with(".yaml") || words.ends_with(".yml"));
}

Result<RecipeChoice> find_recipe(std::string_view words) {
  const CatalogEntry* profile = find_in_catalog(CatalogKind::kSoftware, words);
  if (profile != nullptr && find_in_catalog(CatalogKind::kRecipe, words) == nullptr)
    return choice_of_profile(profile->name);
  if (words.starts_with('{') || is_software_file(words))
    return choice_of_profile(std::string(words));
  ERGOMETER_ASSIGN(RecipeChoice choice, choice_of_words(words));
  if (choice.recipe == nullptr) return tl::unexpected(unknown_software(words));
  return choice;
}

Result<RecipeChoice> choose_recipe(const Settings& said, const RecipeDraft& draft) {
  if (const Settings::Value* named = said.find("software")) {
    auto choice = find_recipe(named->text);
    if (!choice && !named->origin.text.starts_with("--"))
      return input_error("{}: {}", named->origin.text, choice.error().message);
    if (choice)
      choice->source = named->origin.text.starts_with(kFrameworkOf) ? "file"
                       : named->origin.text == kAssumedSoftware     ? "inferred"
                                                                    : "given";
    return choice;
  }
  ERGOMETER_ASSIGN(const InferredRecipe inferred, infer_recipe(draft));
  ERGOMETER_ASSIGN(RecipeChoice choice, find_recipe(inferred.software));
  choice.source = "inferred";
  return choice;
}

Result<InferredRecipe> infer_recipe(const RecipeDraft& draft) {
  static const Result<std::vector<Inference>> inferences = read_inferences();
  if (!inferences) return tl::unexpected(inferences.error());
  for (const Inference& it : *inferences)
    if (it.when.holds(draft)) return it.recipe;
  return input_error("catalog/tables/inferred_recipes.csv: no line holds for the job");
}

void set_framework(Settings& settings, const char* recipe, const std::string& file) {
  if (settings.find("software") == nullptr)
    settings.set("software", recipe, Origin{fmt::format("{}{}", kFrameworkOf, file), ""});
}

std::string name_of(const RecipeChoice& choice) {
  if (choice.recipe == nullptr) return choice.profile;
  if (choice.release.empty()) return choice.recipe->name;
  return fmt::format("{} {}", choice.recipe->name, choice.release);
}

}  // namespace ergometer::spec
