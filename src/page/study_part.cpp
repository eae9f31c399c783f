#include "page/study_part.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "page/columns.h"
#include "run/study_columns.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;
using Json = nlohmann::ordered_json;

/// Empty: the text is no JSON object.
std::string without_long_arrays(const std::string& summary_json) {
  Json summary = Json::parse(summary_json, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return "";
  for (const char* name : {"cluster_power", "ranks"}) summary.erase(name);
  return base::json_line(summary);
}

void write_point(JsonWriter& json, const run::StudyPoint& point) {
  json.member("id", point.id).known("family", point.family);
  json.object("axes", point.axes, base::kOneLine);
  json.member("status", to_word(point.status)).known("reason", point.reason);
  if (!point.notes.empty()) column(json, "notes", point.notes);
  json.object("settings", point.settings, base::kOneLine);
  if (const std::string summary = without_long_arrays(point.summary_json); !summary.empty())
    json.key("summary").raw(summary);
}

void write_axis(JsonWriter& json, std::string_view name, const run::FigureAxis& axis) {
  json.key(name).begin_object(base::kOneLine);
  json.member("title", axis.title).known("unit", axis.unit);
  if (axis.logarithmic) json.member("log", true);
  if (!axis.categories.empty()) column(json, "categories", axis.categories);
  json.end_object();
}

void write_series(JsonWriter& json, const run::FigureSeries& series) {
  json.member("label", series.label);
  column(json, "x", series.x);
  column(json, "y", series.y);
  if (!series.low.empty()) column(json, "low", series.low);
  if (!series.high.empty()) column(json, "high", series.high);
  if (!series.value.empty()) column(json, "value", series.value);
  if (!series.point.empty()) column(json, "point", series.point);
}

void write_figure(JsonWriter& json, const run::Figure& figure) {
  json.member("id", figure.id).member("label", figure.label);
  json.member("title", figure.title).member("caption", figure.caption);
  json.member("kind", run::kFigureKinds.at(static_cast<size_t>(figure.kind)));
  write_axis(json, "x", figure.x);
  write_axis(json, "y", figure.y);
  json.objects("series", figure.series, write_series);
  json.known("reported", figure.reported).known("panel", figure.panel);
}

void write_finding(JsonWriter& json, const run::StudyFinding& finding) {
  json.member("id", finding.id).member("title", finding.title);
  json.member("reported", finding.reported).member("source", finding.source);
  json.member("predicted", finding.predicted).member("agrees", to_word(finding.agrees));
  json.member("why", finding.why);
  if (!finding.points.empty()) column(json, "points", finding.points);
}

}  // namespace

void write_study(JsonWriter& json, const run::Study& study) {
  json.key("study").begin_object().member("name", study.name).member("title", study.title);
  json.member("question", study.question);
  json.rows("axes", study.axes, [&](const run::StudyAxis& axis) {
    json.member("name", axis.name);
    column(json, "values", axis.labels);
  });
  json.objects("points", study.points, write_point);
  json.objects("figures", study.figures, write_figure);
  json.objects("findings", study.findings, write_finding).end_object();
}

}  // namespace ergometer::page
