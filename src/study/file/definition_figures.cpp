
#include "base/nearest.h"
#include "run/summary_fields.h"
#include "study/file/definition_reader.h"

namespace ergometer::study {
namespace {

using run::FigureKind;
using spec::YamlMap;

/// `x: gpus` or `x: {value: gpus, title: GPUs, unit: "", log: true}`.
std::optional<Expression> read_axis(YamlMap& figure, std::string_view key, run::FigureAxis& axis) {
  auto map = figure.map(key);
  if (!map) {
    auto value = read_expression(figure, key);
    if (value) axis.title = value->text();
    return value;
  }
  map->allow({"value", "title", "unit", "log"});
  map->require("value");
  axis.title = map->text("title", map->text("value"));
  axis.unit = map->text("unit");
  axis.logarithmic = map->choice("log", {"false", "true"}, 0) == 1;
  return read_expression(*map, "value");
}

void read_stack(YamlMap& figure, FigureRequest& request) {
  figure.require("parts");
  for (YamlMap& part : figure.maps("parts")) {
    part.allow({"label", "value"});
    part.require("label");
    part.require("value");
    if (auto value = read_expression(part, "value"))
      request.y_values.push_back({part.text("label"), *std::move(value)});
  }
  if (request.y_values.empty() && !figure.error())
    figure.refuse("parts", "are none; allowed: mappings with label and value");
}

void read_y(YamlMap& figure, FigureRequest& request) {
  if (request.kind == FigureKind::kStack) {
    read_stack(figure, request);
    if (auto y = figure.map("y")) {
      y->allow({"title", "unit"});
      request.y.title = y->text("title");
      request.y.unit = y->text("unit");
    }
    return;
  }
  figure.require("y");
  if (auto value = read_axis(figure, "y", request.y))
    request.y_values.push_back({"", *std::move(value)});
}

void check_names(YamlMap& figure, std::string_view key, const Expression& expression,
                 const Definition& definition) {
  for (const std::string& name : expression.names()) {
    if (is_known_name(name, definition)) continue;
    std::vector<std::string_view> known;
    for (const run::SummaryField& field : run::summary_fields()) known.push_back(field.name);
    for (const spec::SettingInfo& setting : spec::setting_table()) known.push_back(setting.name);
    for (const PointSet& set : definition.sets)
      for (const Axis& axis : set.axes) known.push_back(axis.name);
    return figure.refuse(key, "{} is neither an axis, a setting nor a number of the summary{}",
                         name, base::did_you_mean(name, known));
  }
}

void check_figure(YamlMap& figure, const FigureRequest& request, const Definition& definition) {
  check_names(figure, "x", request.x_value, definition);
  for (const FigureQuantity& y : request.y_values)
    check_names(figure, request.kind == FigureKind::kStack ? "parts" : "y", y.value, definition);
  if (request.where) check_names(figure, "where", *request.where, definition);
  if (request.cell) check_names(figure, "cell", *request.cell, definition);
  for (const char* key : {"series", "panel"})
    if (figure.has(key) && !is_known_name(figure.text(key), definition))
      figure.refuse(key, "found \"{}\"; allowed: an axis, a setting or family", figure.text(key));
}

FigureRequest read_figure(YamlMap& figure, const Definition& definition) {
  figure.allow({"id", "title", "caption", "kind", "x", "y", "parts", "cell", "series", "panel",
                "where", "relative_to"});
  for (const char* key : {"id", "title", "caption", "kind", "x"}) figure.require(key);
  FigureRequest request;
  request.id = figure.text("id");
  request.title = figure.text("title");
  request.caption = figure.text("caption");
  request.series = figure.text("series");
  request.panel = figure.text("panel");
  request.kind = static_cast<FigureKind>(figure.choice(
      "kind", std::vector<std::string>(run::kFigureKinds.begin(), run::kFigureKinds.end()), 0));
  request.relative =
      static_cast<Relative>(figure.choice("relative_to", {"none", "max", "first"}, 0));
  if (auto x = read_axis(figure, "x", request.x)) request.x_value = *std::move(x);
  read_y(figure, request);
  if (request.kind == FigureKind::kHeatMap) figure.require("cell");
  if (figure.has("cell")) request.cell = read_axis(figure, "cell", request.z);
  request.where = read_expression(figure, "where");
  if (request.kind == FigureKind::kStack && !request.series.empty())
    figure.refuse("series", "stands in a stack, whose series are its parts; allowed: panel");
  if (!figure.error()) check_figure(figure, request, definition);
  return request;
}

}  // namespace

void read_figures(YamlMap& map, Definition& definition) {
  for (YamlMap& figure : map.maps("figures")) {
    FigureRequest request = read_figure(figure, definition);
    if (map.error()) return;
    for (const FigureRequest& other : definition.figures)
      if (other.id == request.id)
        return figure.refuse("id", "\"{}\" is another figure's too", request.id);
    definition.figures.push_back(std::move(request));
  }
}

}  // namespace ergometer::study
