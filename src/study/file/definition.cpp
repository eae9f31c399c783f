#include "study/file/definition.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "run/study_values.h"
#include "run/summary_fields.h"
#include "spec/catalog/read.h"
#include "study/file/definition_reader.h"

namespace ergometer::study {
namespace {

using spec::YamlMap;

constexpr size_t kLargestFile = 4 << 20;
constexpr int64_t kLargestSeed = 1'000'000'000'000'000;

void read_constraints(YamlMap& map, std::vector<Expression>& constraints) {
  for (const YamlMap::Element& element : map.elements("constraints")) {
    auto expression = Expression::parse(element.text);
    if (!expression) return map.refuse_at(element.line, "constraints", expression.error().message);
    constraints.push_back(*std::move(expression));
  }
}

void check_constraints(YamlMap& map, const PointSet& set, const Definition& definition) {
  for (const Expression& constraint : set.constraints)
    for (const std::string& name : constraint.names()) {
      const bool is_result = run::find_summary_field(name) != nullptr;
      if (is_known_name(name, definition) && !is_result) continue;
      std::vector<std::string_view> known;
      for (const Axis& axis : set.axes) known.push_back(axis.name);
      for (const spec::SettingInfo& setting : spec::setting_table()) {
        known.push_back(setting.name);
        if (!setting.short_name.empty()) known.push_back(setting.short_name);
      }
      return map.refuse("constraints", "\"{}\": {} is neither an axis nor a setting{}",
                        constraint.text(), name, base::did_you_mean(name, known));
    }
}

void read_sets(YamlMap& map, Definition& definition) {
  std::vector<Expression> shared;
  read_constraints(map, shared);
  if (map.has("axes") || (!map.has("sets") && !map.has("rows"))) {
    if (map.has("sets")) map.refuse("axes", "stand beside sets; allowed: one of the two");
    definition.sets.push_back({"", {}, read_axes(map, definition.file), {}});
  }
  for (YamlMap& item : map.maps("sets")) {
    item.allow({"name", "base", "axes", "constraints"});
    item.require("name");
    PointSet set;
    set.name = item.text("name");
    if (auto base = item.map("base")) set.base = read_change(*base, definition.file);
    set.axes = read_axes(item, definition.file);
    read_constraints(item, set.constraints);
    for (const PointSet& other : definition.sets)
      if (other.name == set.name) item.refuse("name", "\"{}\" is another set's too", set.name);
    definition.sets.push_back(std::move(set));
  }
  for (PointSet& set : definition.sets)
    set.constraints.insert(set.constraints.begin(), shared.begin(), shared.end());
}

/// A matrix's path starts from the study file's folder; catalog names stay.
std::string relocated_rows(const std::string& rows, const std::string& file) {
  if (spec::find_in_catalog(spec::CatalogKind::kStudy, rows) != nullptr) return rows;
  const std::filesystem::path moved = std::filesystem::path(file).parent_path() / rows;
  std::error_code ignored;
  return std::filesystem::exists(moved, ignored) ? moved.string() : rows;
}

void read_corrections(YamlMap& map, Definition& definition) {
  for (YamlMap& item : map.maps("corrections")) {
    item.allow({"defect", "where", "set", "note"});
    item.require("defect");
    item.require("note");
    Correction correction;
    correction.defect = item.text("defect");
    correction.note = item.text("note");
    correction.where = read_expression(item, "where");
    if (auto set = item.map("set")) correction.change = read_change(*set, definition.file);
    definition.corrections.push_back(std::move(correction));
  }
  if (!definition.corrections.empty() && definition.rows.empty())
    map.refuse("corrections", "correct rows of a matrix; rows is missing");
}

void read_seeds(YamlMap& map, Definition& definition) {
  auto repeats = map.map("repeats", "a mapping, {seeds: [1, 2, 3]}");
  if (!repeats) return;
  repeats->allow({"seeds"});
  repeats->require("seeds");
  definition.seeds = repeats->integers("seeds", 0, kLargestSeed);
  for (const PointSet& set : definition.sets)
    for (const Axis& axis : set.axes)
      if (const auto* setting = spec::find_setting(axis.name);
          setting != nullptr && setting->name == "seed")
        repeats->refuse("seeds", "stand beside an axis of seeds; allowed: one of the two");
  std::vector<int64_t> sorted = definition.seeds;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    repeats->refuse("seeds", "hold the same seed twice: that is no repeat");
}

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

bool ends_like_a_matrix(std::string_view word) { return word.ends_with(".csv"); }

/// A matrix alone is a study of its rows.
Result<Definition> matrix_alone(const std::string& rows) {
  base::JsonWriter json;
  json.begin_object().member("name", stem(rows)).member("rows", rows).end_object();
  return parse_definition(json.take(), rows);
}

Result<Definition> unknown(const std::string& word) {
  return input_error(
      "sweep: there is no study and no file '{}'{} (all studies: ergometer catalog list studies)",
      word, base::did_you_mean(word, spec::catalog_names(spec::CatalogKind::kStudy)));
}

}  // namespace

bool is_known_name(std::string_view name, const Definition& definition) {
  if (name == "id" || name == "family" || name == "status" || name == "seed") return true;
  for (const PointSet& set : definition.sets)
    for (const Axis& axis : set.axes)
      if (axis.name == name) return true;
  if (const spec::SettingInfo* setting = spec::find_setting(name))
    return name == setting->name || name == setting->short_name;
  return run::is_study_value(name);
}

Result<Definition> parse_definition(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(text, file));
  map.allow({"name", "aliases", "title", "question", "base", "axes", "sets", "constraints",
             "repeats", "rows", "corrections", "figures"});
  Definition definition;
  definition.file = file;
  definition.text = text;
  definition.name = map.text("name", stem(file));
  definition.title = map.text("title", definition.name);
  definition.question = map.text("question");
  if (map.has("rows")) definition.rows = relocated_rows(map.text("rows"), file);
  if (auto base = map.map("base", "a mapping of settings"))
    definition.base = read_change(*base, file);
  if (!map.error()) read_sets(map, definition);
  if (!map.error()) read_corrections(map, definition);
  if (!map.error()) read_seeds(map, definition);
  for (const PointSet& set : definition.sets)
    if (!map.error()) check_constraints(map, set, definition);
  if (!map.error()) read_figures(map, definition);
  if (map.error()) return tl::unexpected(*map.error());
  return definition;
}

Result<Definition> read_definition(const std::string& name_or_path) {
  if (const auto* entry = spec::find_in_catalog(spec::CatalogKind::kStudy, name_or_path)) {
    if (ends_like_a_matrix(entry->path)) return matrix_alone(entry->name);
    return parse_definition(std::string(entry->text), std::string(entry->path));
  }
  ERGOMETER_ASSIGN(const std::filesystem::file_type type, base::file_type(name_or_path));
  if (type == std::filesystem::file_type::not_found) return unknown(name_or_path);
  if (ends_like_a_matrix(name_or_path)) return matrix_alone(name_or_path);
  ERGOMETER_ASSIGN(const std::string text, base::read_file(name_or_path, kLargestFile));
  return parse_definition(text, name_or_path);
}

}  // namespace ergometer::study
