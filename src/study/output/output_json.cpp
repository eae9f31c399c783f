#include <cmath>

#include "base/json_writer.h"
#include "run/study_columns.h"
#include "study/charllm/charllm.h"
#include "study/output/output.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

using base::JsonWriter;

void write_texts(JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  if (!texts.empty()) json.list(name, texts);
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
  json.array(name, base::kOneLine, numbers,
             [&](double number) { std::isfinite(number) ? json.value(number) : json.null(); });
}

void write_axis(JsonWriter& json, const char* name, const run::FigureAxis& axis) {
  json.key(name).begin_object(base::kOneLine);
  json.member("title", axis.title).member("unit", axis.unit).member("log", axis.logarithmic);
  json.list("categories", axis.categories).end_object();
}

void write_series(JsonWriter& json, const run::FigureSeries& series) {
  json.member("label", series.label);
  write_numbers(json, "x", series.x);
  write_numbers(json, "y", series.y);
  write_numbers(json, "low", series.low);
  write_numbers(json, "high", series.high);
  write_numbers(json, "value", series.value);
  json.list("point", series.point, base::kOneLine);
}

void write_figure(JsonWriter& json, const run::Figure& figure) {
  json.member("id", figure.id).member("title", figure.title);
  json.known("label", figure.label).member("caption", figure.caption);
  json.known("panel", figure.panel).known("reported", figure.reported);
  json.member("kind", run::kFigureKinds.at(static_cast<size_t>(figure.kind)));
  write_axis(json, "x", figure.x);
  write_axis(json, "y", figure.y);
  json.objects("series", figure.series, write_series);
}

void write_finding(JsonWriter& json, const run::StudyFinding& finding) {
  json.member("id", finding.id).member("title", finding.title);
  json.member("reported", finding.reported).member("source", finding.source);
  json.member("predicted", finding.predicted).member("agrees", to_word(finding.agrees));
  json.member("why", finding.why).list("points", finding.points, base::kOneLine);
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
  if (!study.figures.empty()) json.objects("figures", study.figures, write_figure);
  if (!study.findings.empty())
    json.member("agreement", agreement_text(study.findings))
        .objects("findings", study.findings, write_finding);
  json.end_object();
  return json.take();
}

std::string list_json(const Expansion& expansion) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("left_out", expansion.left_out);
  json.objects("points", expansion.points, [&](const Point& point) {
    const run::StudyPoint known = described(point);
    json.member("id", known.id).member("family", known.family);
    json.member("file", point.source);
    write_map(json, "axes", known.axes);
    write_map(json, "settings", known.settings);
    if (point.refusal) json.member("refusal", *point.refusal);
    write_texts(json, "notes", known.notes);
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::study
