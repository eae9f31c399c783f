#include "run/file/prediction.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "run/file/sqlite.h"

namespace ergometer::run {
namespace {

constexpr size_t kMostQuantities = 32, kMostText = 4096;

Predicted within(const char* name, const char* unit, double value, const Interval& interval) {
  return {name, unit, value, interval.low, interval.high};
}

/// Tokens of a step over the ends of its time.
Interval rate_interval(const Performance& p) {
  const double rate = p.tokens_per_s_per_gpu;
  if (!(p.step_time_s_low > 0)) return {rate, rate};
  const double tokens = rate * p.step_time_s;
  return {tokens / p.step_time_s_high, tokens / p.step_time_s_low};
}

bool read_text(const nlohmann::json& from, const char* key, std::string& text) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_string()) return false;
  text = found->get<std::string>();
  return text.size() <= kMostText;
}

bool read_number(const nlohmann::json& from, const char* key, double& number) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_number()) return false;
  number = found->get<double>();
  return std::isfinite(number);
}

bool read_quantity(const nlohmann::json& from, Predicted& read) {
  return from.is_object() && read_text(from, "name", read.name) &&
         read_text(from, "unit", read.unit) && read_number(from, "value", read.value) &&
         read_number(from, "low", read.low) && read_number(from, "high", read.high) &&
         read.low <= read.high;
}

}  // namespace

Place place_of(const Predicted& predicted, double measured, double error) {
  if (!predicted.has_interval()) return Place::kNoInterval;
  if (measured * (1 - error) > predicted.high) return Place::kAbove;
  return measured * (1 + error) < predicted.low && predicted.name != "max_gpu_c" ? Place::kBelow
                                                                                 : Place::kInside;
}

const char* to_word(Place place) {
  constexpr std::array kWords = {"inside", "above", "below", "no_interval"};
  return kWords[static_cast<size_t>(place)];
}

const Predicted* Prediction::find(std::string_view name) const {
  for (const Predicted& quantity : quantities)
    if (quantity.name == name) return &quantity;
  return nullptr;
}

Prediction prediction_of(const Run& run, std::string job, int64_t gpus) {
  const Performance& p = run.performance;
  Prediction of{std::move(job), gpus, {}};
  of.quantities = {
      within("step_time_s", "s", p.step_time_s, {p.step_time_s_low, p.step_time_s_high}),
      within("tokens_per_s_per_gpu", "", p.tokens_per_s_per_gpu, rate_interval(p))};
  if (!run.has_power) return of;
  of.quantities.push_back(
      within("mean_w_per_gpu", "W", run.power.mean_w_per_gpu, run.power.mean_interval_w));
  of.quantities.push_back(
      within("max_gpu_c", "C", run.thermal.max_gpu_c, run.thermal.max_interval_c));
  of.quantities.push_back(
      within("mean_clock_mhz", "MHz", run.thermal.mean_clock_mhz, run.thermal.clock_interval_mhz));
  return of;
}

std::string predicted_label(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"step_time_s", "step time"},
       {"tokens_per_s_per_gpu", "tokens/s a GPU"},
       {"mean_w_per_gpu", "power a GPU"},
       {"max_gpu_c", "hottest GPU"},
       {"mean_clock_mhz", "clock"}});
  for (const auto& [known, label] : kNames)
    if (known == name) return std::string(label);
  return std::string(name);
}

std::string predicted_text(double value, std::string_view unit) {
  if (unit == "s") return base::format_seconds(value);
  return fmt::format("{:.0f}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string prediction_json(const Prediction& prediction) {
  base::JsonWriter json;
  json.begin_object(base::kOneLine).member("job", prediction.job).member("gpus", prediction.gpus);
  json.objects("quantities", prediction.quantities, [&](const Predicted& q) {
    json.member("name", q.name).member("unit", q.unit).member("value", q.value);
    json.member("low", q.low).member("high", q.high);
  });
  json.end_object();
  std::string text = json.take();
  text.pop_back();  // the document's newline
  return text;
}

Result<Prediction> parse_prediction(std::string_view json) {
  constexpr double kMostGpus = 1e9;
  const auto wrong = [](const char* what) {
    return input_error(std::string("prediction: ") + what + " is missing or wrong");
  };
  const auto read = nlohmann::json::parse(json, nullptr, false);
  if (!read.is_object()) return input_error("prediction: is no JSON object");
  Prediction prediction;
  double gpus = 0;
  if (!read_text(read, "job", prediction.job)) return wrong("\"job\"");
  if (!read_number(read, "gpus", gpus) || gpus < 1 || gpus > kMostGpus) return wrong("\"gpus\"");
  prediction.gpus = static_cast<int64_t>(gpus);
  const auto list = read.find("quantities");
  if (list == read.end() || !list->is_array() || list->size() > kMostQuantities)
    return wrong("\"quantities\"");
  for (const nlohmann::json& item : *list)
    if (!read_quantity(item, prediction.quantities.emplace_back())) return wrong("a quantity");
  return prediction;
}

std::string fact_of(Database& db, std::string_view name) {
  Statement select(db, "SELECT value FROM run WHERE key = ?");
  select.bind(1, name);
  return select.step() ? select.text(0) : std::string();
}

std::string read_fact(const std::string& path, const std::string& name) {
  if (!is_run_file(path).value_or(false)) return {};
  Database db(path, Database::Access::kRead);
  return fact_of(db, name);
}

}  // namespace ergometer::run
