#include "study/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "spec/files/fingerprint.h"
#include "spec/settings/assumed_software.h"
#include "study/by_code.h"
#include "study/change.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

constexpr size_t kMostPoints = 200'000;

void note_axis(std::vector<run::StudyAxis>& axes, const std::string& name,
               const std::string& label) {
  auto axis = std::find_if(axes.begin(), axes.end(), [&](const auto& a) { return a.name == name; });
  if (axis == axes.end()) axis = axes.insert(axes.end(), {name, {}});
  if (std::find(axis->labels.begin(), axis->labels.end(), label) == axis->labels.end())
    axis->labels.push_back(label);
}

/// The point of a product at these positions on its axes.
Point product_point(const Definition& definition, const PointSet& set,
                    const std::vector<size_t>& at) {
  Point point;
  point.family = set.name;
  Change change = definition.base;
  add(change, set.base);
  for (size_t i = 0; i < set.axes.size(); ++i) {
    const AxisValue& value = set.axes[i].values[at[i]];
    add(change, value.change);
    point.axes[set.axes[i].name] = value.label;
    point.id += fmt::format("{}{}={}", i == 0 ? "" : ",", set.axes[i].name, value.label);
  }
  if (point.id.empty()) point.id = "base";
  apply(change, point.settings);
  return point;
}

/// Whether all constraints hold; one that has no value is an error.
Result<bool> holds(const Definition& definition, const PointSet& set, const Point& point) {
  const run::StudyPoint known = described(point);
  const auto lookup = [&](std::string_view name) { return point_value(name, known); };
  for (const Expression& constraint : set.constraints) {
    const auto value = constraint.number(lookup);
    if (!value)
      return input_error(
          "{}: constraints: \"{}\" has no value at {}: a setting of it is not given, "
          "or is no number",
          definition.file, constraint.text(), point.id);
    if (*value == 0) return false;
  }
  return true;
}

/// Points differ in what the axes say, not in software that nobody names. Settings that are no job
/// are told where the point is predicted.
void share_software(std::span<Point> points) {
  std::vector<spec::Settings*> jobs;
  for (Point& point : points) jobs.push_back(&point.settings);
  const std::vector<std::string> software = spec::share_assumed_software(jobs);
  const auto first = std::ranges::find_if(software, [](const auto& it) { return !it.empty(); });
  for (size_t i = 0; i < points.size(); ++i)
    if (!software[i].empty() && software[i] != *first)
      points[i].notes.push_back(
          fmt::format("assumed to run under {}, the first row under {}", software[i], *first));
}

Result<void> add_product(const Definition& definition, const PointSet& set, Expansion& expansion) {
  double size = 1;
  for (const Axis& axis : set.axes) size *= static_cast<double>(axis.values.size());
  if (size + static_cast<double>(expansion.points.size()) > kMostPoints)
    return input_error("{}: axes: make {:.0f} points; allowed: at most {}", definition.file, size,
                       kMostPoints);
  std::vector<size_t> at(set.axes.size(), 0);
  const size_t begin = expansion.points.size();
  for (bool more = true; more;) {
    Point point = product_point(definition, set, at);
    ERGOMETER_ASSIGN(const bool kept, holds(definition, set, point));
    if (kept)
      expansion.points.push_back(std::move(point));
    else
      ++expansion.left_out;
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      more = ++at[i] < set.axes[i].values.size();
      if (!more) at[i] = 0;
    }
  }
  share_software(std::span(expansion.points).subspan(begin));
  return {};
}

std::vector<Point> repeated(std::vector<Point> points, const std::vector<int64_t>& seeds) {
  if (seeds.empty()) return points;
  std::vector<Point> all;
  for (const Point& point : points)
    for (const int64_t seed : seeds) {
      Point repeat = point;
      repeat.id += fmt::format(",seed={}", seed);
      repeat.axes["seed"] = std::to_string(seed);
      repeat.settings.set("seed", std::to_string(seed), {"repeats", "seeds"});
      all.push_back(std::move(repeat));
    }
  return all;
}

Result<void> check_names(const Definition& definition, const std::vector<Point>& points) {
  std::set<std::pair<std::string, std::string>> names;
  for (const Point& point : points)
    if (!names.emplace(point.family, point.id).second)
      return input_error("{}: two points are called {}{}{}", definition.file, point.family,
                         point.family.empty() ? "" : "/", point.id);
  return {};
}

}  // namespace

Result<Expansion> expand(const Definition& definition) {
  Expansion expansion;
  ERGOMETER_ASSIGN(expansion.points, matrix_points(definition));
  for (const PointSet& set : definition.sets) {
    ERGOMETER_TRY(add_product(definition, set, expansion));
    for (const Axis& axis : set.axes)
      for (const AxisValue& value : axis.values) note_axis(expansion.axes, axis.name, value.label);
  }
  if (const StudyCode* code = code_of(definition.name);
      code != nullptr && code->points != nullptr) {
    ERGOMETER_ASSIGN(const std::vector<Point> more, code->points());
    for (const Point& point : more) {
      for (const auto& [axis, label] : point.axes) note_axis(expansion.axes, axis, label);
      expansion.points.push_back(point);
    }
  }
  expansion.points = repeated(std::move(expansion.points), definition.seeds);
  for (const int64_t seed : definition.seeds)
    note_axis(expansion.axes, "seed", std::to_string(seed));
  if (expansion.points.size() > kMostPoints)
    return input_error("{}: makes {} points; allowed: at most {}", definition.file,
                       expansion.points.size(), kMostPoints);
  if (expansion.points.empty())
    return input_error("{}: constraints leave no point of {}", definition.file, expansion.left_out);
  ERGOMETER_TRY(check_names(definition, expansion.points));
  return expansion;
}

std::string fingerprint(const Definition& definition, const Expansion& expansion) {
  spec::Fingerprint hash;
  hash.add_program();
  hash.add(definition.name);
  for (const Point& point : expansion.points) {
    hash.add(point.family);
    hash.add(point.id);
    hash.add(point.refusal.value_or(""));
    for (const auto& [name, value] : point.settings.all()) hash.add_setting(name, value.text);
    for (const auto& [name, label] : point.axes) hash.add(name + '=' + label);
    for (const std::string& note : point.notes) hash.add(note);
  }
  return hash.hex();
}

}  // namespace ergometer::study
