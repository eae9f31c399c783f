#include <cmath>

#include "base/json_writer.h"
#include "run/study_columns.h"
#include "study/charllm/charllm.h"
#include "study/output/output.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

using base::JsonWriter;
using Layout = JsonWriter::Layout;

void write_texts(JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(name).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_map(JsonWriter& json, const char* name,
               const std::map<std::string, std::string>& texts) {
  if (texts.empty()) return;
  json.key(name).begin_object();
  for (const auto& [key, text] : texts) json.member(key, text);
  json.end_object();
}

void write_point(JsonWriter& json, const run::StudyPoint& point, const std::string& source) {
  json.begin_object().member("id", point.id).member("family", point.family);
  json.member("file", source);
  write_map(json, "axes", point.axes);
  json.member("status", to_word(point.status));
  if (!point.reason.empty()) json.member("reason", point.reason);
  write_texts(json, "notes", point.notes);
  json.key("run");
  point.summary_json.empty() ? json.null() : json.raw(point.summary_json);
  json.end_object();
}

void write_numbers(JsonWriter& json, const char* name, const std::vector<double>& numbers) {
  if (numbers.empty()) return;
  json.key(name).begin_array(Layout::kOneLine);
  for (const double number : numbers) std::isfinite(number) ? json.value(number) : json.null();
  json.end_array();
}

void write_axis(JsonWriter& json, const char* name, const run::FigureAxis& axis) {
  json.key(name).begin_object(Layout::kOneLine);
  json.member("title", axis.title).member("unit", axis.unit).member("log", axis.logarithmic);
  json.key("categories").begin_array();
  for (const std::string& category : axis.categories) json.value(category);
  json.end_array().end_object();
}

void write_series(JsonWriter& json, const run::FigureSeries& series) {
  json.begin_object().member("label", series.label);
  write_numbers(json, "x", series.x);
  write_numbers(json, "y", series.y);
  write_numbers(json, "low", series.low);
  write_numbers(json, "high", series.high);
  write_numbers(json, "value", series.value);
  json.key("point").begin_array(Layout::kOneLine);
  for (const int64_t point : series.point) json.value(point);
  json.end_array().end_object();
}

std::string_view kind_word(run::FigureKind kind) {
  switch (kind) {
    case run::FigureKind::kLine: return "line";
    case run::FigureKind::kBar: return "bar";
    case run::FigureKind::kStack: return "stack";
    case run::FigureKind::kScatter: return "scatter";
    case run::FigureKind::kHeatMap: return "heat-map";
  }
  return "";
}

std::string_view agreement_word(run::Agreement agreement) {
  switch (agreement) {
    case run::Agreement::kYes: return "yes";
    case run::Agreement::kInPart: return "in part";
    case run::Agreement::kNo: return "no";
  }
  return "";
}

void write_figures(JsonWriter& json, const run::Study& study) {
  if (study.figures.empty()) return;
  json.key("figures").begin_array();
  for (const run::Figure& figure : study.figures) {
    json.begin_object().member("id", figure.id).member("title", figure.title);
    if (!figure.label.empty()) json.member("label", figure.label);
    json.member("caption", figure.caption);
    if (!figure.panel.empty()) json.member("panel", figure.panel);
    if (!figure.reported.empty()) json.member("reported", figure.reported);
    json.member("kind", kind_word(figure.kind));
    write_axis(json, "x", figure.x);
    write_axis(json, "y", figure.y);
    json.key("series").begin_array();
    for (const run::FigureSeries& series : figure.series) write_series(json, series);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_findings(JsonWriter& json, const run::Study& study) {
  if (study.findings.empty()) return;
  json.member("agreement", agreement_text(study.findings)).key("findings").begin_array();
  for (const run::StudyFinding& finding : study.findings) {
    json.begin_object().member("id", finding.id).member("title", finding.title);
    json.member("reported", finding.reported).member("source", finding.source);
    json.member("predicted", finding.predicted).member("agrees", agreement_word(finding.agrees));
    json.member("why", finding.why).key("points").begin_array(Layout::kOneLine);
    for (const int64_t point : finding.points) json.value(point);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string points_json(const SessionResult& result) {
  const run::Study& study = *result.run.study;
  JsonWriter json;
  json.begin_object()
      .member("schema_version", run::kSchemaVersion)
      .member("name", study.name)
      .member("title", study.title)
      .member("question", study.question)
      .member("summary", count_text(study));
  json.key("refused_for").begin_object();
  for (const auto& [what, count] : refusals(study)) json.member(what, count);
  json.end_object();
  json.key("rows").begin_array();
  for (size_t i = 0; i < study.points.size(); ++i)
    write_point(json, study.points[i], result.sources[i]);
  json.end_array();
  write_figures(json, study);
  write_findings(json, study);
  json.end_object();
  return json.take();
}

std::string list_json(const Expansion& expansion) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("left_out", expansion.left_out).key("points").begin_array();
  for (const Point& point : expansion.points) {
    const run::StudyPoint known = described(point);
    json.begin_object().member("id", known.id).member("family", known.family);
    json.member("file", point.source);
    write_map(json, "axes", known.axes);
    write_map(json, "settings", known.settings);
    if (point.refusal) json.member("refusal", *point.refusal);
    write_texts(json, "notes", known.notes);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace ergometer::study
