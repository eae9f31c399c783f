#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/text.h"
#include "base/wrap.h"
#include "run/fit_words.h"
#include "run/labels.h"
#include "validation/score_output.h"

namespace ergometer::validation {
namespace {

std::string format_value(const std::string& quantity, std::optional<double> value) {
  if (!value) return "-";
  if (quantity == "memory_bytes") return base::format_binary_bytes(*value);
  if (quantity.find("power") != quantity.npos) return fmt::format("{:.0f} W", *value);
  return base::format_seconds(*value);
}

std::string row_line(const ScoredRow& row, size_t width, size_t columns) {
  std::string line = fmt::format("{:<{}}  {:<15}  ", row.id, width, run::label_of(row.quantity));
  if (!row.skipped_reason.empty())
    return base::hanging(line, "skipped: " + row.skipped_reason, columns);
  if (!row.error_pct) {
    const std::string_view called = run::fit_words(run::fit_state(*row.predicted));
    return line + fmt::format("{:>9}  {:>7.0f} %  {}\n", *row.measured > 0 ? "fits" : "OOM",
                              100 * *row.predicted, called);
  }
  return line + fmt::format("{:>9}  {:>9}  {:>+7.1f} %\n", format_value(row.quantity, row.measured),
                            format_value(row.quantity, row.predicted), *row.error_pct);
}

size_t id_width(const Score& score) {
  return base::largest(score.rows, size_t{3}, [](const ScoredRow& row) { return row.id.size(); });
}

std::string head(size_t width) {
  return fmt::format("{:<{}}  {:<15}  {:>9}  {:>9}  {:>9}\n", "row", width, "quantity", "measured",
                     "predicted", "error");
}

std::string fills_text(const Prediction& prediction, const std::string& id) {
  std::string out = id + '\n';
  for (const Fill& fill : prediction.fills)
    out += fmt::format("  {} = {}: {}\n", fill.setting, fill.value, fill.reason);
  if (prediction.fills.empty()) out += "  nothing is filled in\n";
  return out;
}

std::string explanation(const Score& score, const std::vector<Prediction>& predictions,
                        const std::string& only) {
  std::string out = "\nFilled in where the row is blank\n";
  size_t last = predictions.size();
  for (const ScoredRow& row : score.rows) {
    if (row.run == last || (!only.empty() && row.id != only)) continue;
    last = row.run;
    out += fills_text(predictions[row.run], row.id);
  }
  return out;
}

std::string statistics_head(std::string_view first, size_t width) {
  return fmt::format("{:<{}}  {:>5} {:>7} {:>6}   {:>7} {:>7} {:>10} {:>7}\n", first, width, "rows",
                     "skipped", "groups", "mean", "median", "group mean", "bias");
}

std::string statistics_line(const std::string& name, size_t width, const ErrorStatistics& e) {
  std::string line =
      fmt::format("{:<{}}  {:>5} {:>7} {:>6}   ", name, width, e.rows, e.skipped, e.groups);
  if (e.rows == 0) return line + fmt::format("{:>7} {:>7} {:>10} {:>7}\n", "-", "-", "-", "-");
  return line + fmt::format("{:>5.1f} % {:>5.1f} % {:>8.1f} % {:>+5.1f} %\n", e.mean_pct,
                            e.median_pct, e.group_mean_pct, e.bias_pct);
}

std::string table_text(const ScoreTable& table) {
  const std::string title = "by " + table.dimension;
  const size_t width = base::largest(table.lines, title.size(),
                                     [](const ScoreLine& line) { return line.value.size(); });
  std::string out =
      "\n" + std::string(run::label_of(table.quantity)) + "\n" + statistics_head(title, width);
  for (const ScoreLine& line : table.lines) out += statistics_line(line.value, width, line.errors);
  return out;
}

std::string statistics_text(std::string_view quantity, const ErrorStatistics& e) {
  if (e.rows == 0) return "";
  std::string out =
      fmt::format("\n{}: {} rows in {} groups\n", run::label_of(quantity), e.rows, e.groups);
  const auto line = [&](std::string_view what, double mean, double median, double bias) {
    out += fmt::format("  absolute error by {:<6} mean {:.2f} %, median {:.2f} %, bias {:+.2f} %\n",
                       what, mean, median, bias);
  };
  line("row:", e.mean_pct, e.median_pct, e.bias_pct);
  line("group:", e.group_mean_pct, e.group_median_pct, e.group_bias_pct);
  out += fmt::format("  within 15 %: {:.1f} % of the rows\n", 100 * e.within_15_fraction);
  if (quantity != "memory_bytes")
    out += fmt::format("  inside the 90 % interval: {:.1f} % of the rows\n",
                       100 * e.inside_interval_fraction);
  return out;
}

std::string called_line(std::string_view what, const Called& called, std::string_view share,
                        double percent) {
  return fmt::format("  {:<22} {:>5}: {} do not fit, {} at risk; {} {:.1f} %\n", what, called.rows,
                     called.does_not_fit, called.at_risk, share, percent);
}

std::string outcomes_text(const OutcomeScore& outcomes) {
  const auto& [out_of_memory, near_misses, ran] = outcomes;
  if (out_of_memory.rows == 0) return "";
  return "\noutcomes: how likely to fit the jobs are said to be\n" +
         called_line("ran out of memory", out_of_memory, "recognised", out_of_memory.warned_pct()) +
         called_line("  a smaller batch ran", near_misses, "recognised", near_misses.warned_pct()) +
         called_line("ran", ran, "false alarms", ran.does_not_fit_pct());
}

std::string totals(const Score& score) {
  const auto share = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string out = fmt::format("\n{} of {} rows accepted ({:.1f} %)\n", score.accepted,
                                score.total, share(score.accepted, score.total));
  out += statistics_text("step_time_s", score.step_time);
  out += statistics_text("memory_bytes", score.memory);
  out += statistics_text("power_w", score.power);
  if (score.fits_known > 0)
    out +=
        fmt::format("\nruns that did fit in memory, and are said to: {} of {} ({:.1f} %)\n",
                    score.fits_right, score.fits_known, share(score.fits_right, score.fits_known));
  return out + outcomes_text(score.outcomes);
}

}  // namespace

std::string to_text(const Score& score, const std::vector<Prediction>& predictions,
                    const ScoreOutput& output) {
  const size_t width = id_width(score);
  std::string out = head(width);
  for (const ScoredRow& row : score.rows) out += row_line(row, width, output.columns);
  if (output.explain) out += explanation(score, predictions, *output.explain);
  for (const ScoreTable& table : score.tables) out += table_text(table);
  out += totals(score);
  const auto worst = worst_rows(score, output.worst);
  if (!worst.empty()) out += "\nLargest errors\n" + head(width);
  for (const ScoredRow* row : worst) out += row_line(*row, width, output.columns);
  return out;
}

}  // namespace ergometer::validation
