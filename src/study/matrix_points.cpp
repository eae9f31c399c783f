#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "spec/files/matrix.h"
#include "study/change.h"
#include "study/expand.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

bool has_defect(const spec::MatrixRow& row, const std::string& defect) {
  const std::string ending = fmt::format("({})", defect);
  const auto named = [&](const std::string& text) { return text.ends_with(ending); };
  return std::any_of(row.contradictions.begin(), row.contradictions.end(), named) ||
         std::find(row.flags.begin(), row.flags.end(), defect) != row.flags.end();
}

bool applies(const Correction& correction, const spec::MatrixRow& row, const Point& point) {
  if (!has_defect(row, correction.defect)) return false;
  if (!correction.where) return true;
  const run::StudyPoint described_point = described(point);
  const auto lookup = [&](std::string_view name) { return point_value(name, described_point); };
  return correction.where->number(lookup).value_or(0) != 0;
}

/// A copy that lies in another model's folder has its original's name.
std::string id_of(const spec::MatrixRow& row) {
  if (!has_defect(row, "stray-copy-of-other-model")) return row.config_id;
  return fmt::format("{} in {}", row.config_id, row.model);
}

/// Rows that are called the same are numbered.
void number_names(std::vector<Point>& points) {
  std::map<std::pair<std::string, std::string>, int> seen;
  for (Point& point : points)
    if (const int count = ++seen[{point.family, point.id}]; count > 1)
      point.id += fmt::format(" #{}", count);
}

Point point_of(const spec::MatrixRow& row, const Definition& definition) {
  Point point;
  point.id = id_of(row);
  point.family = row.family;
  point.settings = row.settings;
  point.notes = row.notes;
  point.source = row.yaml;
  Change change = definition.base;
  std::vector<std::string> contradictions = row.contradictions;
  for (const Correction& correction : definition.corrections) {
    if (!applies(correction, row, point)) continue;
    add(change, correction.change);
    point.notes.push_back(fmt::format("corrected: {} ({})", correction.note, correction.defect));
    const std::string ending = fmt::format("({})", correction.defect);
    std::erase_if(contradictions, [&](const std::string& c) { return c.ends_with(ending); });
  }
  apply(change, point.settings);
  if (!contradictions.empty()) point.refusal = contradictions.front();
  return point;
}

}  // namespace

Result<std::vector<Point>> matrix_points(const Definition& definition) {
  std::vector<Point> points;
  if (definition.rows.empty()) return points;
  ERGOMETER_ASSIGN(const std::vector<spec::MatrixRow> rows, spec::read_matrix(definition.rows));
  for (const spec::MatrixRow& row : rows) points.push_back(point_of(row, definition));
  number_names(points);
  return points;
}

}  // namespace ergometer::study
