#include "report/decision/comparison_json.h"

#include "base/json_writer.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using base::kOneLine;

void write_quantities(JsonWriter& json, const char* name,
                      const std::vector<compare::Quantity>& quantities) {
  json.rows(name, quantities, [&](const compare::Quantity& quantity) {
    json.member("name", quantity.name).member("unit", quantity.unit);
    json.member("a", quantity.a).member("b", quantity.b);
    if (quantity.a_range.known())
      json.member("a_low", quantity.a_range.low).member("a_high", quantity.a_range.high);
    if (quantity.b_range.known())
      json.member("b_low", quantity.b_range.low).member("b_high", quantity.b_range.high);
    if (quantity.a_error > 0) json.member("a_error_pct", 100 * quantity.a_error);
    if (quantity.b_error > 0) json.member("b_error_pct", 100 * quantity.b_error);
  });
}

void write_differences(JsonWriter& json, const char* name,
                       const std::vector<compare::Difference>& differences) {
  json.rows(name, differences, [&](const compare::Difference& it) {
    json.member("name", it.name).member("a", it.a).member("b", it.b);
  });
}

void write_cause(JsonWriter& json, const compare::Cause& cause) {
  json.member("id", cause.id).member("title", cause.title).member("detail", cause.detail);
  json.object("amount", cause.amount, kOneLine);
  if (!cause.parts.empty()) json.object("parts", cause.parts, kOneLine);
  write_differences(json, "differences", cause.differences);
}

}  // namespace

void write_comparison(JsonWriter& json, const compare::Comparison& comparison) {
  json.member("a", comparison.a).member("b", comparison.b);
  json.member("method",
              comparison.method == compare::Method::kMeasured ? "measured" : "counterfactual");
  json.member("simulations", comparison.simulations).member("verdict", comparison.verdict);
  write_quantities(json, "quantities", comparison.quantities);
  write_quantities(json, "parts", comparison.parts);
  if (!comparison.facts.empty()) write_quantities(json, "facts", comparison.facts);
  json.list("outside", comparison.outside, kOneLine);
  json.objects("causes", comparison.causes, write_cause);
  json.object("residual", comparison.residual, kOneLine);
  json.object("parts_residual", comparison.parts_residual, kOneLine);
  write_differences(json, "differences", comparison.differences);
  write_differences(json, "derived", comparison.derived);
  json.list("notes", comparison.notes);
}

std::string comparison_json(const std::vector<compare::Comparison>& comparisons) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  if (comparisons.size() == 1) {
    write_comparison(json, comparisons.front());
  } else {
    json.objects("comparisons", comparisons, [&](const compare::Comparison& comparison) {
      write_comparison(json, comparison);
    });
  }
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
