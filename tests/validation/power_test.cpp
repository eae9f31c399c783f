// Predicted against measured node power (tests/data/mlperf-power/README.md says where the numbers
// are from). The job is read from the run's log; no power of these runs entered a parameter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/simulate.h"
#include "validation/rows/measured_run.h"
#include "validation/rows/run_job.h"

namespace ergometer {
namespace {

struct Measured {
  std::string id;
  double watts = 0;  ///< a node at its plug, mean over training blocks without the first
  double predicted = 0;
  double time_error_pct = 0;
  double error_pct() const { return 100 * (predicted / watts - 1); }
};

Measured compare(const std::string& id, spec::Cooling cooling) {
  const auto rows = validation::read_measured_runs(std::string(ERGOMETER_SOURCE_DIR) +
                                                   "/tests/data/mlperf-power/runs.csv");
  EXPECT_TRUE(rows.has_value()) << (rows ? "" : rows.error().message);
  for (const validation::MeasuredRun& row : *rows) {
    if (row.cell("id") != id) continue;
    auto made = validation::make_job(row);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    made->job.conditions.cooling = cooling;
    const auto run = engine::simulate(made->job, {});
    EXPECT_TRUE(run.has_value()) << (run ? "" : run.error().message);
    Measured result;
    result.id = id;
    result.watts = std::stod(std::string(row.cell("node_power_steady_w")));
    result.predicted = run->power.cluster_mean_w / static_cast<double>(made->job.nodes());
    const double measured_s = static_cast<double>(made->job.training.global_batch) /
                              std::stod(std::string(row.cell("samples_per_s")));
    result.time_error_pct = 100 * (run->performance.step_time_s / measured_s - 1);
    fmt::print(
        "{}: node power measured {:.0f} W, predicted {:.0f} W ({:+.1f} %); step time {:+.1f} %\n",
        id, result.watts, result.predicted, result.error_pct(), result.time_error_pct);
    return result;
  }
  ADD_FAILURE() << "no run " << id;
  return {};
}

TEST(NodePower, OneAirCooledNodeOfH100) {
  EXPECT_LT(
      std::abs(compare("1xSMC-H100-SXM-80GB-llama2_70b_lora", spec::Cooling::kAir).error_pct()), 8);
}

// The step is predicted too short (context parallelism over eight GPUs with FP8), so the work is
// too dense and power too high by as much.
TEST(NodePower, EightNodesOfH100) {
  const Measured run = compare("8xSMC-H100-SXM-80GB-llama2_70b_lora", spec::Cooling::kAir);
  EXPECT_LT(std::abs(run.error_pct()), 20);
  EXPECT_LT(run.error_pct() * run.time_error_pct, 0) << "too much power goes with too short a step";
}

// Lenovo's SR780a V3 is liquid-cooled.
TEST(NodePower, OneLiquidCooledNodeOfB200) {
  EXPECT_LT(
      std::abs(
          compare("SR780aV3-8xB200_SXM_180GB-llama2_70b_lora", spec::Cooling::kLiquid).error_pct()),
      8);
}

}  // namespace
}  // namespace ergometer
