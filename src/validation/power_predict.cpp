#include "validation/power_predict.h"

#include "base/text.h"
#include "engine/simulate.h"
#include "validation/model_table.h"
#include "validation/power_row.h"

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

double sum(const std::vector<run::PowerPart>& parts, std::string_view but) {
  double watts = 0;
  for (const run::PowerPart& part : parts)
    if (part.name != but) watts += part.watts;
  return watts;
}

/// What of a predicted Run the measurement saw.
PowerQuantity quantity_of(const run::Run& run, const spec::Job& job, PowerScope scope,
                          PowerStatistic statistic) {
  const run::Power& power = run.power;
  const bool mean = statistic == PowerStatistic::kMean;
  PowerQuantity result;
  const run::Interval& interval = mean ? power.mean_interval_w : power.peak_interval_w;
  const double gpu_w = mean ? power.mean_w_per_gpu : power.peak_w_per_gpu;
  if (scope == PowerScope::kGpu) {
    result.name = "power_w_per_gpu";
    result.predicted = gpu_w;
    result.low = interval.low;
    result.high = interval.high;
    return result;
  }
  const auto nodes = static_cast<double>(job.nodes());
  const double ac_w = (mean ? power.cluster_mean_w : power.cluster_peak_w) / nodes;
  const double behind_supplies = sum(power.node_parts, "supply_losses") / sum(power.node_parts, "");
  const double share = scope == PowerScope::kNodeDc ? behind_supplies : 1;
  const double gpus = static_cast<double>(job.gpus) / nodes;
  result.name = "node_power_w";
  result.predicted = share * ac_w;
  result.low = result.predicted + gpus * (interval.low - gpu_w);
  result.high = result.predicted + gpus * (interval.high - gpu_w);
  return result;
}

base::Result<PowerQuantity> predicted_power(const spec::Job& job, PowerScope scope,
                                            PowerStatistic statistic) {
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, {}));
  if (!run.has_power)
    return base::input_error("the catalog says too little about power of " +
                             job.cluster.node.gpu.name);
  return quantity_of(run, job, scope, statistic);
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
  const auto made = power_job({row}, layouts());
  if (!made) {
    out.skipped_reason = made.error().message;
    return out;
  }
  const spec::Job& job = made->run.job;
  out.fills = made->run.fills;
  out.gpus = job.gpus;
  add_traits(job, out);
  auto power = predicted_power(job, made->scope, made->statistic);
  if (!power) {
    out.skipped_reason = power.error().message;
    return out;
  }
  power->measured = made->watts;
  out.power = *std::move(power);
  return out;
}

base::Result<std::optional<PowerQuantity>> power_of_run(const MeasuredRun& row,
                                                        const spec::Job& job) {
  const auto watts = base::parse_number(row.cell("power_w_per_gpu"));
  if (!watts || *watts <= 0) return std::nullopt;
  const std::string_view written = row.cell("power_scope");
  const bool node = written.find("node") != written.npos || written.find("system") != written.npos;
  const bool peak = written.find("peak") != written.npos || written.find("max") != written.npos;
  const PowerStatistic statistic = peak ? PowerStatistic::kMax : PowerStatistic::kMean;
  ERGOMETER_ASSIGN(PowerQuantity result,
                   predicted_power(job, node ? PowerScope::kNodeAc : PowerScope::kGpu, statistic));
  if (node) {
    const double gpus = static_cast<double>(job.gpus) / static_cast<double>(job.nodes());
    for (double* value : {&result.predicted, &result.low, &result.high}) *value /= gpus;
    result.name = "power_w_per_gpu";
  }
  result.measured = *watts;
  return result;
}

}  // namespace ergometer::validation
