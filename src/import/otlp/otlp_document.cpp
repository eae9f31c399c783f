#include "import/otlp/otlp_document.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "run/exported_names.h"

// OTLP in JSON, as its protocol buffers map to it: names in lower camel case, 64-bit whole numbers
// as text or as numbers.
//
//   {"resourceMetrics": [{"resource": {"attributes": [{"key": "host.name", "value":
//     {"stringValue": "node1"}}]}, "scopeMetrics": [{"metrics": [{"name": "ergometer.gpu.power",
//     "unit": "W", "gauge": {"dataPoints": [{"timeUnixNano": "1764190001000000000", "asDouble":
//     512.5, "attributes": [...]}]}}]}]}]}
//   {"resourceSpans": [{"resource": ..., "scopeSpans": [{"spans": [{"name":
//     "training_single_iteration", "startTimeUnixNano": "1764190000000000000", "endTimeUnixNano":
//     "1764190001000000000", "attributes": [...]}]}]}]}

namespace ergometer::importer {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

template <class Each>
void for_each_in(element of, const char* key, Each each) {
  array found;
  if (of[key].get(found) != simdjson::SUCCESS) return;
  for (const element one : found) each(one);
}

std::string otlp_text(element of, const char* key) {
  std::string_view text;
  return of[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

/// A whole number that may be text; nothing: neither.
std::optional<int64_t> otlp_whole(element of, const char* key) {
  int64_t number = 0;
  if (of[key].get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (of[key].get(text) != simdjson::SUCCESS) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Attributes of a kind that may stand for text; lists of them do not.
void add_attributes(element of, std::vector<Label>& labels) {
  for_each_in(of, "attributes", [&](element attribute) {
    element value;
    const std::string key = otlp_text(attribute, "key");
    if (key.empty() || attribute["value"].get(value) != simdjson::SUCCESS) return;
    Label label{key == "host.name" ? "host" : key, otlp_text(value, "stringValue")};
    if (const auto whole = otlp_whole(value, "intValue")) label.value = std::to_string(*whole);
    if (!label.value.empty()) labels.push_back(std::move(label));
  });
}

std::vector<Label> labels_of_resource(element of) {
  std::vector<Label> labels;
  element resource;
  if (of["resource"].get(resource) == simdjson::SUCCESS) add_attributes(resource, labels);
  return labels;
}

/// What OpenTelemetry's rules make of a metric's name for Prometheus, but for "_total". "1" is a
/// ratio of gauges alone: of sums it is a count.
std::string prometheus_name(std::string_view name, std::string_view unit, bool gauge) {
  std::string made(name);
  for (char& c : made)
    if (!base::is_letter_or_digit(c) && c != ':') c = '_';
  for (const run::UnitName& known : run::unit_names())
    if (known.otlp == unit && (gauge || unit != "1") && !made.ends_with(known.prometheus))
      return made.append("_").append(known.prometheus);
  return made;
}

class DocumentReader {
 public:
  Result<OtlpDocument> read(element document);

 private:
  void metric(element metric, const std::vector<Label>& resource);
  void point(element of, OtlpPoint point, const std::vector<Label>& resource);
  void span(element span, const std::vector<Label>& resource);
  void miss(std::string_view where, std::string_view allowed) {
    if (problem_.empty()) problem_ = fmt::format("{}, allowed: {}", where, allowed);
  }

  OtlpDocument found_;
  std::string problem_;
};

Result<OtlpDocument> DocumentReader::read(element document) {
  for_each_in(document, "resourceMetrics", [&](element of) {
    const std::vector<Label> resource = labels_of_resource(of);
    for_each_in(of, "scopeMetrics", [&](element scope) {
      for_each_in(scope, "metrics", [&](element one) { metric(one, resource); });
    });
  });
  for_each_in(document, "resourceSpans", [&](element of) {
    const std::vector<Label> resource = labels_of_resource(of);
    for_each_in(of, "scopeSpans", [&](element scope) {
      for_each_in(scope, "spans", [&](element one) { span(one, resource); });
    });
  });
  if (!problem_.empty()) return input_error(problem_);
  return std::move(found_);
}

void DocumentReader::metric(element metric, const std::vector<Label>& resource) {
  OtlpPoint made;
  made.name = otlp_text(metric, "name");
  if (made.name.empty()) return miss("found a metric without a name", "\"name\": TEXT");
  const std::string unit = otlp_text(metric, "unit");
  made.milliseconds = unit == "ms";
  for (const char* const kind : {"gauge", "sum"}) {
    element points;
    if (metric[kind].get(points) != simdjson::SUCCESS) continue;
    made.named = prometheus_name(made.name, unit, std::string_view(kind) == "gauge");
    for_each_in(points, "dataPoints", [&](element of) { point(of, made, resource); });
  }
}

/// Its own attributes come first, and hold where the resource, who tells it, has others.
void DocumentReader::point(element of, OtlpPoint point, const std::vector<Label>& resource) {
  const auto whole = otlp_whole(of, "asInt");
  if (whole) point.value = static_cast<double>(*whole);
  if (!whole && of["asDouble"].get(point.value) != simdjson::SUCCESS) {
    std::string_view text;  // "NaN" and the like, or a point that says that it has no value
    if (of["asDouble"].get(text) != simdjson::SUCCESS && of["flags"].error() != simdjson::SUCCESS)
      miss("found a point of '" + point.name + "' without a value",
           "\"asDouble\" or \"asInt\": a number");
    return;
  }
  point.time_ns = otlp_whole(of, "timeUnixNano").value_or(-1);
  add_attributes(of, point.labels);
  point.labels.insert(point.labels.end(), resource.begin(), resource.end());
  if (std::isfinite(point.value)) found_.points.push_back(std::move(point));
}

void DocumentReader::span(element span, const std::vector<Label>& resource) {
  const auto start = otlp_whole(span, "startTimeUnixNano"),
             end = otlp_whole(span, "endTimeUnixNano");
  OtlpSpan made{otlp_text(span, "name"), {}, start.value_or(0), end.value_or(0)};
  if (made.name.empty() || !start || !end || *start < 0 || *end < *start)
    return miss("found span '" + made.name + "' without a start, or that ends before it",
                "\"name\", \"startTimeUnixNano\" and a later \"endTimeUnixNano\"");
  add_attributes(span, made.labels);
  made.labels.insert(made.labels.end(), resource.begin(), resource.end());
  found_.spans.push_back(std::move(made));
}

}  // namespace

bool is_otlp_start(std::string_view text) {
  constexpr size_t kNear = 64;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  text = text.substr(first, kNear);
  return text.find("\"resourceMetrics\"") != std::string_view::npos ||
         text.find("\"resourceSpans\"") != std::string_view::npos ||
         text.find("\"resourceLogs\"") != std::string_view::npos;
}

Result<OtlpDocument> otlp_document(const element& document) {
  return DocumentReader().read(document);
}

}  // namespace ergometer::importer
