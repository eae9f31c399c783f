#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/cluster/cluster_files.h"
#include "study/file/definition_reader.h"

namespace ergometer::study {
namespace {

using spec::YamlMap;

constexpr std::string_view kClusterPrefix = "cluster.";
constexpr size_t kMostValues = 10'000;
constexpr std::array kClusterKeys = std::to_array<std::string_view>(
    {"nodes", "domain_gpus", "gpu", "nic_bandwidth", "node_bandwidth", "intra_bandwidth",
     "oversubscription", "collectives"});

/// The key of a number of the cluster; nothing, and an error, when there is no such.
std::optional<std::string> cluster_key(YamlMap& map, std::string_view key) {
  const std::string_view name = key.substr(kClusterPrefix.size());
  if (std::find(kClusterKeys.begin(), kClusterKeys.end(), name) != kClusterKeys.end())
    return std::string(name);
  const auto near = base::nearest(name, kClusterKeys);
  map.refuse(key, "is no number of a cluster{}; allowed: cluster.{}",
             near ? fmt::format("; did you mean cluster.{}?", *near) : "",
             fmt::join(kClusterKeys, ", cluster."));
  return std::nullopt;
}

/// What an axis changes where it does not say so itself.
struct Target {
  std::string cluster;                         ///< the cluster's number; empty: a setting
  const spec::SettingInfo* setting = nullptr;  ///< null: values name their settings
};

AxisValue plain_value(const Target& target, const std::string& axis,
                      const YamlMap::Element& element, const std::string& file) {
  AxisValue value;
  value.label = element.text;
  if (target.setting != nullptr) {
    value.change.settings.set(target.setting->name,
                              spec::relocated_value(*target.setting, element.text, file),
                              {fmt::format("{}:{}", file, element.line), axis});
  } else {
    value.change.cluster[target.cluster] = spec::relocated_part(target.cluster, element.text, file);
  }
  return value;
}

AxisValue read_value(YamlMap& axes, const Target& target, const std::string& axis,
                     YamlMap::Element& element, const std::string& file) {
  if (element.map && element.map->has("label"))
    return {element.map->text("label"), read_change(*element.map, file, {"label"})};
  const bool is_inline = target.setting != nullptr &&
                         (target.setting->name == "model" || target.setting->name == "cluster");
  if (element.map && is_inline) {
    AxisValue value = plain_value(target, axis, element, file);
    value.label = element.map->text("name", fmt::format("{} at line {}", axis, element.line));
    return value;
  }
  if (element.map || (target.setting == nullptr && target.cluster.empty())) {
    const std::string meant = base::did_you_mean(spec::nearest_setting(axis));
    axes.refuse_at(element.line, axis,
                   element.map ? "found a mapping without a label; allowed: values, or mappings of "
                                 "settings with a label"
                               : fmt::format("found \"{}\"; allowed: mappings of settings with a "
                                             "label, since {} is no setting{}",
                                             element.text, axis, meant));
    return {};
  }
  return plain_value(target, axis, element, file);
}

/// `{from: 8, to: 1024, factor: 2}` or `{from: 15, to: 40, step: 5}`.
std::vector<YamlMap::Element> read_range(YamlMap& range, int line) {
  constexpr double kLargest = 1e15;
  range.allow({"from", "to", "step", "factor"});
  const double from = range.real("from", 0, -kLargest, kLargest);
  const double to = range.real("to", from, from, kLargest);
  const double step = range.real("step", 0, 1e-9, kLargest);
  const double factor = range.real("factor", 0, 1.0001, 1e6);
  std::vector<YamlMap::Element> elements;
  range.require("to");
  if (range.has("step") == range.has("factor"))
    range.refuse("from", "lacks step or factor, or has both; allowed: one of the two");
  if (range.has("factor") && from <= 0)
    range.refuse("from", "is not above 0, which a factor needs");
  if (range.error()) return elements;
  for (size_t i = 0; i <= kMostValues; ++i) {
    const double value = step > 0 ? from + static_cast<double>(i) * step
                                  : from * std::pow(factor, static_cast<double>(i));
    if (value > to * (1 + 1e-12)) return elements;
    elements.push_back({base::shortest(value), line, std::nullopt});
  }
  range.refuse("from", "makes more than {} values", kMostValues);
  return {};
}

void check_labels(YamlMap& axes, const Axis& axis) {
  if (axis.values.empty()) axes.refuse(axis.name, "has no value; allowed: a list of them");
  for (size_t i = 0; i < axis.values.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (axis.values[i].label == axis.values[j].label)
        return axes.refuse(axis.name, "has the value \"{}\" twice", axis.values[i].label);
}

Axis read_axis(YamlMap& axes, const std::string& name, const std::string& file) {
  Axis axis{name, {}};
  Target target;
  if (name.starts_with(kClusterPrefix)) {
    const auto key = cluster_key(axes, name);
    if (!key) return axis;
    target.cluster = *key;
  } else {
    target.setting = spec::find_setting(name);
  }
  std::vector<YamlMap::Element> elements = axes.elements(name);
  if (elements.size() == 1 && elements[0].map && elements[0].map->has("from"))
    elements = read_range(*elements[0].map, elements[0].line);
  if (elements.size() > kMostValues) axes.refuse(name, "has more than {} values", kMostValues);
  for (YamlMap::Element& element : elements) {
    if (axes.error()) return axis;
    axis.values.push_back(read_value(axes, target, name, element, file));
  }
  check_labels(axes, axis);
  return axis;
}

}  // namespace

Change read_change(YamlMap& map, const std::string& file, std::vector<std::string_view> skip) {
  Change change;
  const std::vector<std::string> keys = map.keys();
  for (const std::string& key : keys) {
    if (!key.starts_with(kClusterPrefix)) continue;
    skip.push_back(key);
    if (const auto name = cluster_key(map, key))
      change.cluster[*name] = spec::relocated_part(*name, map.text(key), file);
  }
  change.settings = spec::read_settings(map, file, skip);
  return change;
}

std::vector<Axis> read_axes(YamlMap& map, const std::string& file) {
  std::vector<Axis> list;
  auto axes = map.map("axes", "a mapping of axes");
  if (!axes) return list;
  std::map<const spec::SettingInfo*, std::string> axis_of;
  for (const std::string& name : axes->keys()) {
    if (map.error()) return list;
    // Of two axes of one setting the later would win in silence.
    if (const spec::SettingInfo* setting = spec::find_setting(name)) {
      const auto [first, is_new] = axis_of.emplace(setting, name);
      if (!is_new) {
        axes->refuse(name, "is the setting that the axis {} varies already", first->second);
        return list;
      }
    }
    list.push_back(read_axis(*axes, name, file));
  }
  return list;
}

std::optional<Expression> read_expression(YamlMap& map, std::string_view key) {
  if (!map.has(key)) return std::nullopt;
  auto expression = Expression::parse(map.text(key));
  if (expression) return *std::move(expression);
  map.refuse(key, expression.error().message);
  return std::nullopt;
}

}  // namespace ergometer::study
