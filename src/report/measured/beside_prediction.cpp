#include "report/measured/beside_prediction.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/telemetry/telemetry.h"

namespace ergometer::report {
namespace {

/// What was measured; of power with the error of its sensors, relative.
struct Value {
  double value = 0, error = 0;
};

std::optional<Value> measured_of(const std::optional<compare::Measured>& from,
                                 const std::string& name) {
  if (!from) return std::nullopt;
  const run::Performance& p = from->performance;
  if (name == "step_time_s" && from->steps_marked) return Value{p.step_time_s};
  if (name == "tokens_per_s_per_gpu" && p.tokens_per_s_per_gpu > 0)
    return Value{p.tokens_per_s_per_gpu};
  for (const compare::Quantity& fact : from->facts)
    if (fact.name == name) return Value{fact.a, fact.a_error};
  return std::nullopt;
}

const char* verdict(const run::Predicted& predicted, const std::optional<Value>& measured) {
  if (!measured) return "not_measured";
  return run::to_word(run::place_of(predicted, measured->value, measured->error));
}

}  // namespace

std::optional<BesidePrediction> beside_prediction(std::string_view fact,
                                                  const std::vector<run::RankTrace>& ranks,
                                                  const run::DeviceLog& log,
                                                  const std::string& name) {
  auto kept = run::parse_prediction(fact);
  if (!kept) return std::nullopt;
  BesidePrediction beside{*std::move(kept), {}};
  if (auto measured = compare::measure(ranks, log, name)) {
    if (ranks.empty())
      measured->performance.tokens_per_s_per_gpu = analysis::logged_steps(log).tokens_per_s_per_gpu;
    beside.measured = *std::move(measured);
  }
  return beside;
}

std::string beside_prediction_text(const BesidePrediction& beside, const TextStyle& style) {
  const auto& [prediction, measured] = beside;
  std::string out = heading(style, fmt::format("{:<16}{:>14}{:>24}{:>14}", "Beside", "predicted",
                                               "90 % interval", "measured"));
  for (const run::Predicted& p : prediction.quantities) {
    const auto value = measured_of(measured, p.name);
    const auto text = [&](double number) { return run::predicted_text(number, p.unit); };
    const std::string interval =
        p.has_interval() ? fmt::format("{} to {}", text(p.low), text(p.high)) : "-";
    out += fmt::format("{:<16}{:>14}{:>24}{:>14}", run::predicted_label(p.name), text(p.value),
                       interval, value ? text(value->value) : "-");
    if (value && value->error > 0) out += fmt::format(" +-{:.1f} %", 100 * value->error);
    out += value && p.has_interval() ? fmt::format("  {}\n", verdict(p, value)) : "\n";
  }
  return out + fmt::format("  predicted of {} before it ran\n", prediction.job);
}

void write_beside_prediction(base::JsonWriter& json, const BesidePrediction& beside) {
  const auto& [prediction, measured] = beside;
  json.key("prediction").begin_object().member("job", prediction.job);
  json.member("gpus", prediction.gpus);
  json.rows("quantities", prediction.quantities, [&](const run::Predicted& p) {
    const auto value = measured_of(measured, p.name);
    json.member("name", p.name).member("unit", p.unit);
    json.member("value", p.value).member("low", p.low).member("high", p.high).key("measured");
    value ? json.value(value->value) : json.null();
    if (value && value->error > 0) json.member("measured_error_pct", 100 * value->error);
    json.member("state", verdict(p, value));
  });
  json.end_object();
}

}  // namespace ergometer::report
