#include "base/json_writer.h"
#include "run/run.h"
#include "validation/score_output.h"

namespace ergometer::validation {
namespace {

using base::JsonWriter;

void write_fills(JsonWriter& json, const std::vector<Fill>& fills) {
  json.rows("fills", fills, [&](const Fill& fill) {
    json.member("setting", fill.setting).member("value", fill.value).member("reason", fill.reason);
  });
}

void write_row(JsonWriter& json, const ScoredRow& row, const Prediction& prediction,
               const ScoreOutput& output) {
  const bool explains = output.explain && (output.explain->empty() || *output.explain == row.id);
  json.begin_object(explains ? JsonWriter::Layout::kLines : base::kOneLine);
  json.member("id", row.id).member("quantity", row.quantity);
  json.member("measured", row.measured);
  json.member("predicted", row.predicted);
  json.member("low", row.predicted ? std::optional(row.low) : std::nullopt);
  json.member("high", row.predicted ? std::optional(row.high) : std::nullopt);
  if (row.predicted && row.quantity == "step_time_s") {
    json.list("interval_reasons", prediction.performance.interval_reasons);
  }
  json.member("error_pct", row.error_pct);
  json.key("skipped_reason");
  row.skipped_reason.empty() ? json.null() : json.value(row.skipped_reason);
  json.member("group", row.group);
  if (prediction.measured.outcome)
    json.member("outcome", *prediction.measured.outcome == Outcome::kFits ? "fits" : "OOM");
  if (row.predicted)
    json.member("fits", prediction.memory.fits)
        .member("fit_probability", prediction.memory.fit_probability);
  for (const auto& [name, value] : prediction.traits) json.member(name, value);
  if (explains) write_fills(json, prediction.fills);
  json.end_object();
}

/// Members of the object that is open.
void write_statistics(JsonWriter& json, const ErrorStatistics& e) {
  json.member("rows", e.rows).member("skipped", e.skipped).member("groups", e.groups);
  json.member("mape_pct", e.mean_pct).member("median_ape_pct", e.median_pct);
  json.member("group_mape_pct", e.group_mean_pct);
  json.member("group_median_ape_pct", e.group_median_pct);
  json.member("bias_pct", e.bias_pct).member("group_bias_pct", e.group_bias_pct);
  json.member("within_15_fraction", e.within_15_fraction);
  json.member("inside_interval_fraction", e.inside_interval_fraction);
}

void write_called(JsonWriter& json, std::string_view name, const Called& called,
                  std::string_view share, double percent) {
  json.key(name).begin_object(base::kOneLine);
  json.member("rows", called.rows).member("does_not_fit", called.does_not_fit);
  json.member("at_risk", called.at_risk).member(share, percent).end_object();
}

void write_outcomes(JsonWriter& json, const OutcomeScore& outcomes) {
  const auto& [out_of_memory, near_misses, ran] = outcomes;
  json.key("outcomes").begin_object();
  write_called(json, "out_of_memory", out_of_memory, "recognised_pct", out_of_memory.warned_pct());
  write_called(json, "near_misses", near_misses, "recognised_pct", near_misses.warned_pct());
  write_called(json, "ran", ran, "false_alarm_pct", ran.does_not_fit_pct());
  json.end_object();
}

void write_lines(JsonWriter& json, std::string_view name, std::string_view key,
                 const std::vector<ScoreLine>& lines) {
  json.rows(name, lines, [&](const ScoreLine& line) {
    json.member(key, line.value);
    write_statistics(json, line.errors);
  });
}

void write_table(JsonWriter& json, const ScoreTable& table) {
  json.member("by", table.dimension).member("quantity", table.quantity);
  write_lines(json, "lines", "value", table.lines);
}

}  // namespace

std::string to_json(const Score& score, const std::vector<Prediction>& predictions,
                    const ScoreOutput& output) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.array("rows", score.rows,
             [&](const ScoredRow& row) { write_row(json, row, predictions[row.run], output); });
  const ErrorStatistics& time = score.step_time;
  json.member("mape_pct", time.mean_pct)
      .member("group_mape_pct", time.group_mean_pct)
      .member("median_ape_pct", time.median_pct);
  json.member("accepted", score.accepted).member("total", score.total);
  json.key("step_time_s").begin_object(base::kOneLine);
  write_statistics(json, time);
  json.end_object();
  json.key("memory_bytes").begin_object(base::kOneLine);
  write_statistics(json, score.memory);
  json.end_object();
  json.key("power_w").begin_object(base::kOneLine);
  write_statistics(json, score.power);
  json.end_object();
  json.key("fits").begin_object(base::kOneLine);
  json.member("known", score.fits_known).member("right", score.fits_right).end_object();
  write_outcomes(json, score.outcomes);
  write_lines(json, "groups", "group", score.groups);
  json.objects("tables", score.tables, write_table);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
