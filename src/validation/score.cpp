#include "validation/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/collection.h"
#include "validation/power_predict.h"

namespace ergometer::validation {
namespace {

constexpr std::string_view kStepTime = "step_time_s", kMemory = "memory_bytes",
                           kPower = "power_w_per_gpu", kFits = "fits";

struct Weighted {
  double value = 0, weight = 0;
};

/// Where half of the weight lies below; exactly at half, the mean of the two neighbours.
double weighted_median(std::vector<Weighted> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values, {}, &Weighted::value);
  const double total = base::sum(values, [&](const Weighted& v) { return v.weight; });
  // Weights are sums of thirds and sevenths: half is half only within rounding.
  const double tolerance = 1e-9 * total;
  double below = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    below += values[i].weight;
    if (std::abs(below - total / 2) <= tolerance && i + 1 < values.size())
      return (values[i].value + values[i + 1].value) / 2;
    if (below > total / 2) return values[i].value;
  }
  return values.back().value;
}

ScoredRow scored(const std::string& id, const std::string& group, std::string_view quantity,
                 size_t run) {
  ScoredRow row;
  row.id = id;
  row.group = group;
  row.quantity = quantity;
  row.run = run;
  return row;
}

void compare(ScoredRow& row, std::optional<double> measured, double predicted, double low,
             double high) {
  row.measured = measured;
  row.predicted = predicted;
  row.low = low;
  row.high = high;
  if (!measured) return;
  row.error_pct = kPercent * (predicted / *measured - 1);
}

/// Whether the job ran: what the row says, and of a row that gives a measurement that it did.
void add_outcome(Score& score, const MeasuredRun& run, const Prediction& prediction, size_t index) {
  const Outcome outcome = prediction.measured.outcome.value_or(Outcome::kFits);
  score.outcomes.add(run, outcome, prediction.memory.fit_probability);
  if (outcome == Outcome::kFits) {
    ++score.fits_known;
    if (prediction.memory.fits) ++score.fits_right;
  }
  if (!prediction.measured.outcome) return;
  ScoredRow row = scored(id_of(run), group_of(run), kFits, index);
  row.measured = outcome == Outcome::kFits ? 1 : 0;
  row.predicted = prediction.memory.fit_probability;
  row.low = row.high = *row.predicted;
  score.rows.push_back(std::move(row));
}

/// A line for each quantity the row gives; a row that gives none, or has no prediction, has one
/// line that says so.
void add_rows(Score& score, const MeasuredRun& run, const Prediction& prediction, size_t index) {
  const std::string id = id_of(run);
  const std::string group = group_of(run);
  const Measurement& measured = prediction.measured;
  ++score.total;
  if (!prediction.skipped_reason.empty()) {
    score.rows.push_back(scored(id, group, is_power_row(run) ? kPower : kStepTime, index));
    score.rows.back().skipped_reason = prediction.skipped_reason;
    return;
  }
  if (!prediction.power_skipped_reason.empty()) {
    score.rows.push_back(scored(id, group, kPower, index));
    score.rows.back().skipped_reason = prediction.power_skipped_reason;
  }
  if (prediction.power) {
    const PowerQuantity& power = *prediction.power;
    ScoredRow row = scored(id, group, power.name, index);
    compare(row, power.measured, power.predicted, power.low, power.high);
    score.rows.push_back(std::move(row));
    if (!measured.step_time_s && !measured.memory_bytes) {
      ++score.accepted;
      return;
    }
  }
  const run::Performance& p = prediction.performance;
  ScoredRow time = scored(id, group, kStepTime, index);
  compare(time, measured.step_time_s, p.step_time_s, p.step_time_s_low, p.step_time_s_high);
  const bool has_number = measured.step_time_s || measured.memory_bytes;
  if (!has_number && !measured.outcome)
    time.skipped_reason =
        "the row gives no step time, no throughput, no memory and no power to compare with";
  if (measured.step_time_s || !time.skipped_reason.empty()) score.rows.push_back(std::move(time));
  if (!has_number && !measured.outcome) return;
  ++score.accepted;
  add_outcome(score, run, prediction, index);
  if (!measured.memory_bytes) return;
  ScoredRow memory = scored(id, group, kMemory, index);
  const double peak = prediction.memory_bytes;
  compare(memory, measured.memory_bytes, peak, peak, peak);
  score.rows.push_back(std::move(memory));
}

std::vector<const ScoredRow*> rows_of(const Score& score, std::string_view quantity) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& row : score.rows)
    if (row.quantity == quantity || (quantity == kPower && row.quantity == "node_power_w"))
      rows.push_back(&row);
  return rows;
}

template <class KeyOf>
std::vector<ScoreLine> lines_by(const std::vector<const ScoredRow*>& rows, KeyOf key_of) {
  std::map<std::string, std::vector<const ScoredRow*>> parts;
  for (const ScoredRow* row : rows) parts[key_of(*row)].push_back(row);
  std::vector<ScoreLine> lines;
  for (const auto& [value, part] : parts) lines.push_back({value, error_statistics(part)});
  return lines;
}

ScoreTable table_by(const std::vector<const ScoredRow*>& rows, std::string_view quantity,
                    const std::vector<Prediction>& predictions, const std::string& dimension) {
  ScoreTable table{dimension, std::string(quantity), {}};
  table.lines = lines_by(
      rows, [&](const ScoredRow& row) { return predictions[row.run].traits.at(dimension); });
  std::ranges::stable_sort(table.lines, [](const ScoreLine& a, const ScoreLine& b) {
    return std::pair(a.errors.groups, a.errors.rows) > std::pair(b.errors.groups, b.errors.rows);
  });
  return table;
}

}  // namespace

std::string id_of(const MeasuredRun& run) {
  const std::string_view id = run.cell("id");
  return id.empty() ? fmt::format("line {}", run.line) : std::string(id);
}

std::string group_of(const MeasuredRun& run) {
  const std::string_view group = run.cell("group");
  return group.empty() ? "row " + id_of(run) : std::string(group);
}

ErrorStatistics error_statistics(const std::vector<const ScoredRow*>& rows) {
  ErrorStatistics s;
  std::map<std::string_view, double> group_rows;
  for (const ScoredRow* row : rows) {
    if (!row->error_pct) {
      ++s.skipped;
      continue;
    }
    ++s.rows;
    group_rows[row->group] += 1;
  }
  s.groups = static_cast<int64_t>(group_rows.size());
  if (s.rows == 0) return s;
  const double each = 1 / static_cast<double>(s.rows);
  std::vector<Weighted> by_row, by_group;
  for (const ScoredRow* row : rows) {
    if (!row->error_pct) continue;
    const double error = *row->error_pct;
    const double share = 1 / group_rows[row->group] / static_cast<double>(s.groups);
    by_row.push_back({std::abs(error), 1});
    by_group.push_back({std::abs(error), share});
    s.mean_pct += each * std::abs(error);
    s.group_mean_pct += share * std::abs(error);
    s.bias_pct += each * error;
    s.group_bias_pct += share * error;
    constexpr double kNear = 15;
    if (std::abs(error) <= kNear) s.within_15_fraction += each;
    if (*row->measured >= row->low && *row->measured <= row->high)
      s.inside_interval_fraction += each;
  }
  s.median_pct = weighted_median(std::move(by_row));
  s.group_median_pct = weighted_median(std::move(by_group));
  return s;
}

Score score(const std::vector<MeasuredRun>& runs, const std::vector<Prediction>& predictions,
            const std::vector<std::string>& by) {
  Score result;
  for (size_t i = 0; i < runs.size(); ++i) add_rows(result, runs[i], predictions[i], i);
  const auto times = rows_of(result, kStepTime);
  const auto memories = rows_of(result, kMemory);
  const auto powers = rows_of(result, kPower);
  result.step_time = error_statistics(times);
  result.memory = error_statistics(memories);
  result.power = error_statistics(powers);
  for (const std::string& dimension : by) {
    if (!times.empty() || powers.empty())
      result.tables.push_back(table_by(times, kStepTime, predictions, dimension));
    if (!powers.empty())
      result.tables.push_back(table_by(powers, "power_w", predictions, dimension));
    if (!memories.empty())
      result.tables.push_back(table_by(memories, kMemory, predictions, dimension));
  }
  result.groups = lines_by(times, [](const ScoredRow& row) { return row.group; });
  std::ranges::stable_sort(result.groups, [](const ScoreLine& a, const ScoreLine& b) {
    return a.errors.mean_pct > b.errors.mean_pct;
  });
  return result;
}

std::vector<const ScoredRow*> worst_rows(const Score& score, size_t count) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& row : score.rows)
    if (row.error_pct && row.quantity == kStepTime) rows.push_back(&row);
  std::ranges::stable_sort(rows, [](const ScoredRow* a, const ScoredRow* b) {
    return std::abs(*a->error_pct) > std::abs(*b->error_pct);
  });
  if (rows.size() > count) rows.resize(count);
  return rows;
}

}  // namespace ergometer::validation
