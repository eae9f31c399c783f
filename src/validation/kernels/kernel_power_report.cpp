#include <fmt/format.h>

#include <map>

#include "base/json_writer.h"
#include "base/table.h"
#include "validation/kernels/kernel_power.h"

namespace ergometer::validation {
namespace {

using base::JsonWriter;

std::string one_digit_or_none(const KernelPowerError& error, double number, bool sign) {
  if (error.rows == 0) return "-";
  return sign ? fmt::format("{:+.1f}", number) : fmt::format("{:.1f}", number);
}

void error_member(JsonWriter& json, std::string_view name, const KernelPowerError& error) {
  json.key(name).begin_object(base::kOneLine);
  json.member("rows", error.rows).member("mean_pct", error.mean_pct);
  json.member("bias_pct", error.bias_pct);
  json.end_object();
}

std::string skipped_kernels(const KernelPowerReport& report) {
  std::map<std::string, int64_t> by_reason;
  for (const KernelPowerRow& row : report.rows)
    if (!row.skipped_reason.empty()) by_reason[row.skipped_reason] += 1;
  std::string text;
  for (const auto& [reason, rows] : by_reason)
    text += fmt::format("not predicted: {} rows: {}\n", rows, reason);
  return text;
}

}  // namespace

std::string kernel_power_text(const KernelPowerReport& report) {
  std::string text =
      "Errors of power and time of kernels over 0.5 ms, mean of the absolute ones and bias, in "
      "per cent\n";
  base::Table table("<8 <20 <12 <9 >6 >6 >7 >8 >6 >7 >6 >7 >6 >7");
  table.row("kind", "precision", "platform", "framework", "rows", "power", "bias", "settled",
            "power", "bias", "shape", "bias", "time", "bias");
  for (const KernelPowerLine& line : report.lines) {
    const auto mean = [](const KernelPowerError& error) {
      return one_digit_or_none(error, error.mean_pct, false);
    };
    const auto bias = [](const KernelPowerError& error) {
      return one_digit_or_none(error, error.bias_pct, true);
    };
    table.row(line.kind, line.precision, line.platform, line.framework, line.every.rows,
              mean(line.every), bias(line.every), line.settled.rows, mean(line.settled),
              bias(line.settled), mean(line.alone), bias(line.alone), mean(line.time),
              bias(line.time));
  }
  text += table.text();
  text +=
      "power: at the measured time; settled: rows whose reading is within 7 % of the highest of "
      "their\nlikes, whatever is predicted, and their power; shape: theirs with the time predicted "
      "too\n";
  text += fmt::format("{} rows scored, {} of 0.5 ms or less not, {} not predicted\n", report.scored,
                      report.short_ones, report.skipped);
  return text + skipped_kernels(report);
}

std::string kernel_power_json(const KernelPowerReport& report) {
  JsonWriter json;
  json.begin_object();
  json.member("scored_rows", report.scored).member("short_rows", report.short_ones);
  json.member("skipped", report.skipped);
  json.rows("summary", report.lines, [&](const KernelPowerLine& line) {
    json.member("kind", line.kind).member("precision", line.precision);
    json.member("platform", line.platform).member("framework", line.framework);
    error_member(json, "power", line.every);
    error_member(json, "settled_power", line.settled);
    error_member(json, "settled_power_from_shape", line.alone);
    error_member(json, "time", line.time);
  });
  json.rows("rows", report.rows, [&](const KernelPowerRow& row) {
    json.member("line", row.line).member("kind", row.kind).member("precision", row.precision);
    json.member("device", row.device).member("platform", row.platform);
    json.member("framework", row.framework);
    json.member("measured_s", row.measured_s).member("measured_w", row.measured_w);
    json.member("limit_w", row.limit_w);
    if (row.skipped_reason.empty()) {
      json.member("predicted_s", row.predicted_s);
      json.member("at_measured_time_w", row.at_measured_w);
      json.member("from_shape_w", row.at_predicted_w);
      json.member("scored", row.scored).member("settled", row.settled);
    } else {
      json.member("skipped_reason", row.skipped_reason);
    }
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
