#include "validation/power_predict.h"

#include <cmath>

#include "base/collection.h"
#include "base/text.h"
#include "engine/outcome/interval.h"
#include "engine/simulate.h"
#include "physics/silicon.h"
#include "validation/rows/model_table.h"
#include "validation/rows/power_row.h"

namespace ergometer::validation {
namespace {

/// Layouts that the logs and configurations of MLPerf submissions state.
const std::vector<MeasuredRun>& layouts() {
  static const std::vector<MeasuredRun> rows = [] {
    const auto table =
        std::shared_ptr<const base::CsvTable>(&catalog_table("mlperf_layouts"), [](auto*) {});
    std::vector<MeasuredRun> result;
    for (size_t row = 0; row < table->rows.size(); ++row)
      result.push_back({table->rows[row].line, table, row});
    return result;
  }();
  return rows;
}

/// What was measured of a job's power.
struct PowerSeen {
  PowerScope scope = PowerScope::kNodeAc;
  PowerStatistic statistic = PowerStatistic::kMean;
  double pause_deviation = 0;
};

double sum(const std::vector<run::PowerPart>& parts, std::string_view but) {
  double watts = 0;
  for (const run::PowerPart& part : parts)
    if (part.name != but) watts += part.watts;
  return watts;
}

/// The interval, with another uncertainty of the same quantity, +- at 90 %.
run::Interval wider(double value, const run::Interval& interval, double by) {
  return {.low = value - std::hypot(value - interval.low, by),
          .high = value + std::hypot(interval.high - value, by)};
}

/// A reading of single GPUs is off as their sensors are.
PowerQuantity gpu_quantity(const run::Power& power, bool mean) {
  const double watts = mean ? power.mean_w_per_gpu : power.peak_w_per_gpu;
  const double sensor_w = engine::kNormal90 * physics::SiliconSpread{}.sensor_gain * watts;
  const run::Interval interval =
      wider(watts, mean ? power.mean_interval_w : power.peak_interval_w, sensor_w);
  return {
      .name = "power_w_per_gpu", .predicted = watts, .low = interval.low, .high = interval.high};
}

/// The mean of a whole run: as uncertain as a step's, and as its pauses are.
double run_mean_w(const run::Power& power, double pause_deviation, run::Interval& interval) {
  const std::vector<run::RunPhase>& phases = power.run_phases;
  const double mean_w = run::mean_w(phases), step_w = power.cluster_mean_w;
  const double length_s =
      base::sum(phases, [&](const run::RunPhase& phase) { return phase.seconds; });
  // A second more of pauses is one less of training.
  const run::RunPhase& last = phases.back();
  const double pauses_s = last.name == "pauses" ? last.seconds : 0;
  const double pauses_w =
      engine::kNormal90 * pause_deviation * pauses_s / length_s * (step_w - last.cluster_w);
  interval = wider(mean_w,
                   {.low = mean_w * power.cluster_mean_interval_w.low / step_w,
                    .high = mean_w * power.cluster_mean_interval_w.high / step_w},
                   pauses_w);
  return mean_w;
}

/// What of a predicted Run the measurement saw.
PowerQuantity quantity_of(const run::Run& run, const spec::Job& job, const PowerSeen& seen) {
  const run::Power& power = run.power;
  const bool mean = seen.statistic == PowerStatistic::kMean;
  if (seen.scope == PowerScope::kGpu) return gpu_quantity(power, mean);
  run::Interval interval = mean ? power.cluster_mean_interval_w : power.cluster_peak_interval_w;
  double ac_w = mean ? power.cluster_mean_w : power.cluster_peak_w;
  if (mean && !power.run_phases.empty()) ac_w = run_mean_w(power, seen.pause_deviation, interval);
  const double behind_supplies = sum(power.node_parts, "supply_losses") / sum(power.node_parts, "");
  const double share =
      (seen.scope == PowerScope::kNodeDc ? behind_supplies : 1) / static_cast<double>(job.nodes());
  return {.name = "node_power_w",
          .predicted = share * ac_w,
          .low = share * interval.low,
          .high = share * interval.high};
}

Result<PowerQuantity> predicted_power(const spec::Job& job, const PowerSeen& seen) {
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, {}));
  if (!run.has_power)
    return input_error("the catalog says too little about power of " + job.cluster.node.gpu.name);
  return quantity_of(run, job, seen);
}

}  // namespace

bool is_power_row(const MeasuredRun& row) {
  return !row.cell("metric").empty() && !row.cell("value").empty();
}

Prediction predict_power(const MeasuredRun& row) {
  Prediction out;
  out.traits = {{"gpu", std::string(row.cell("device"))},
                {"source", std::string(row.cell("source"))},
                {"parallelism", "unknown"},
                {"scale", "unknown"},
                {"model", std::string(row.cell("workload"))},
                {"precision", "unknown"},
                {"framework", "unknown"},
                {"tier", "unknown"}};
  const auto made = power_job(row, layouts());
  if (!made) {
    out.skipped_reason = made.error().message;
    return out;
  }
  const spec::Job& job = made->run.job;
  out.fills = made->run.fills;
  out.gpus = job.gpus;
  add_traits(job, out);
  auto power = predicted_power(job, {made->scope, made->statistic, made->pause_deviation});
  if (!power) {
    out.skipped_reason = power.error().message;
    return out;
  }
  power->measured = made->watts;
  out.power = *std::move(power);
  return out;
}

Result<std::optional<PowerQuantity>> power_of_run(const MeasuredRun& row, const spec::Job& job) {
  const auto watts = base::parse_number(row.cell("power_w_per_gpu"));
  if (!watts || *watts <= 0) return std::nullopt;
  const std::string_view written = row.cell("power_scope");
  const bool node = written.find("node") != written.npos || written.find("system") != written.npos;
  const bool peak = written.find("peak") != written.npos || written.find("max") != written.npos;
  const PowerStatistic statistic = peak ? PowerStatistic::kMax : PowerStatistic::kMean;
  ERGOMETER_ASSIGN(
      PowerQuantity result,
      predicted_power(job, {node ? PowerScope::kNodeAc : PowerScope::kGpu, statistic}));
  if (node) {
    const double gpus = static_cast<double>(job.gpus) / static_cast<double>(job.nodes());
    for (double* value : {&result.predicted, &result.low, &result.high}) *value /= gpus;
    result.name = "power_w_per_gpu";
  }
  result.measured = *watts;
  return result;
}

}  // namespace ergometer::validation
