#include "compare/measured.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"

namespace ergometer::compare {
namespace {

double amount(const Comparison& comparison, const std::string& id, const char* of = "step_time_s") {
  for (const Cause& cause : comparison.causes)
    if (cause.id == id) return cause.amount.contains(of) ? cause.amount.at(of) : 0;
  return 0;
}

/// A step of 50 ms: 10 GEMMs of 2 ms, 20 ms of exposed all-reduce, 10 ms idle.
Measured first() {
  Measured job;
  job.steps_marked = true;
  job.ranks = 1;
  job.performance.step_time_s = 0.050;
  job.performance.breakdown_s.compute = 0.020;
  job.performance.breakdown_s.exposed_all_reduce = 0.020;
  job.performance.breakdown_s.idle = 0.010;
  job.compute["gemm"] = {.count = 10, .seconds = 0.020};
  job.idle_s = {0.004, 0.005, 0.001};
  job.gpus_w = 100;
  return job;
}

/// A step of 80 ms: 12 GEMMs of 3 ms and 4 ms of something else that runs half beside them, the
/// all-reduce as before, 22 ms idle.
Measured second() {
  Measured job = first();
  job.performance.step_time_s = 0.080;
  job.performance.breakdown_s.compute = 0.038;
  job.performance.breakdown_s.idle = 0.022;
  job.compute["gemm"] = {.count = 12, .seconds = 0.036};
  job.compute["norm"] = {.count = 2, .seconds = 0.004};
  job.idle_s = {0.016, 0.005, 0.001};
  job.gpus_w = 120;
  return job;
}

TEST(CompareMeasured, NumberAndDurationByHand) {
  const Comparison result = *compare_measured(first(), second());
  EXPECT_NEAR(amount(result, "gemm.count"), 2 * 0.0025, 1e-15);
  EXPECT_NEAR(amount(result, "gemm.duration"), 0.001 * 11, 1e-15);
  EXPECT_NEAR(amount(result, "norm.count"), 0.004, 1e-15) << "all of it is new";
  EXPECT_EQ(amount(result, "norm.duration"), 0);
  EXPECT_NEAR(amount(result, "side_by_side"), -0.002, 1e-15);
  EXPECT_NEAR(amount(result, "idle.launch"), 0.012, 1e-15);
  EXPECT_EQ(amount(result, "exposed_all_reduce"), 0) << "parts that do not differ are no cause";
}

/// Of 20 ms of exposed all-reduce A waits 2 ms and B 15 of 30 ms: 13 ms more waiting, 3 ms less of
/// the rest.
TEST(CompareMeasured, WaitingForTheLastRankIsNoTransfer) {
  Measured a = first(), b = first();
  b.performance.breakdown_s.exposed_all_reduce = 0.030;
  a.waiting_s = {{"exposed_all_reduce", 0.002}};
  b.waiting_s = {{"exposed_all_reduce", 0.015}};
  const Comparison result = *compare_measured(a, b);
  EXPECT_NEAR(amount(result, "exposed_all_reduce.waiting"), 0.013, 1e-15);
  EXPECT_NEAR(amount(result, "exposed_all_reduce"), -0.003, 1e-15);
  b.waiting_s.reset();
  const Comparison unknown = *compare_measured(a, b);
  EXPECT_NEAR(amount(unknown, "exposed_all_reduce"), 0.010, 1e-15);
  ASSERT_FALSE(unknown.notes.empty());
  EXPECT_TRUE(unknown.notes.front().starts_with("no collective of B")) << unknown.notes.front();
}

/// 10 s at 700 W, an hour without readings, 10 s at 300 W: 20 s at 500 W.
TEST(CompareMeasured, AGapIsInNoLengthOfARecording) {
  run::DeviceLog log;
  run::Series power{run::Metric::kPower, false, {}};
  constexpr int64_t kS = 1'000'000'000;
  for (int64_t s = 0; s <= 10; ++s) power.samples.push_back({s * kS, 700});
  for (int64_t s = 0; s <= 10; ++s) power.samples.push_back({(3610 + s) * kS, 300});
  log.devices.emplace_back().series.push_back(std::move(power));
  const auto measured = measure({}, log, "gap");
  ASSERT_TRUE(measured);
  EXPECT_NEAR(measured->performance.step_time_s, 20, 1e-9);
  EXPECT_NEAR(measured->gpus_w.value_or(0), 500, 1e-9);
}

/// 100 W before and behind the two seconds of the trace, 600 W in them.
TEST(CompareMeasured, PowerIsThatOfTheTimeOfTheTraces) {
  using analysis::kSecond;
  run::DeviceLog log;
  run::Series power{run::Metric::kPower, false, {}};
  for (int64_t s = 0; s <= 100; ++s)
    power.samples.push_back({s * kSecond, s >= 10 && s <= 12 ? 600.0 : 100.0});
  log.devices.emplace_back().series.push_back(std::move(power));
  analysis::TestTrace t;
  t.trace.base_time_ns = 10 * kSecond;
  t.step(0, 0, 2 * kSecond).kernel(0, 2 * kSecond);
  const auto measured = measure({t.trace}, log, "a");
  ASSERT_TRUE(measured);
  EXPECT_NEAR(measured->gpus_w.value_or(0), 600, 1e-9);
  t.trace.base_time_ns = 1000 * kSecond;  // nothing was read then: the whole recording
  EXPECT_LT(measure({t.trace}, log, "a")->gpus_w.value_or(0), 120);
}

TEST(CompareMeasured, EnergyByHand) {
  // 5 J become 9.6 J: 30 ms more at 110 W are 3.3 J, 20 W more over 65 ms are 1.3 J.
  const Comparison result = *compare_measured(first(), second());
  EXPECT_NEAR(amount(result, "power", "gpu_energy_j_per_step"), 1.3, 1e-12);
  double time = 0;
  for (const Cause& cause : result.causes)
    if (cause.id != "power") time += cause.amount.at("gpu_energy_j_per_step");
  EXPECT_NEAR(time, 3.3, 1e-12);
}

TEST(CompareMeasured, SumsAndFlipsSigns) {
  const Comparison there = *compare_measured(first(), second());
  const Comparison back = *compare_measured(second(), first());
  double sum = 0;
  for (const Cause& cause : there.causes) {
    sum += cause.amount.at("step_time_s");
    for (const auto& [name, value] : cause.amount)
      EXPECT_EQ(value, -amount(back, cause.id, name.c_str()));
  }
  EXPECT_NEAR(sum, 0.030, 1e-9 * 0.030);
  EXPECT_NEAR(there.residual.at("step_time_s"), 0, 1e-15);
}

// Measured 0.9 s and 640 W; predicted 1 s in [0.8, 1.2] s and 500 W in [450, 600] W.
TEST(CompareMeasured, NamesWhatLiesOutsideItsInterval) {
  Measured measured = first(), predicted = first();
  measured.performance.step_time_s = 0.9;
  measured.facts = {{"mean_w_per_gpu", "W", 640, 0}, {"mean_gpu_c", "C", 90, 0}};
  predicted.performance.step_time_s = 1;
  predicted.performance.step_time_s_low = 0.8;
  predicted.performance.step_time_s_high = 1.2;
  predicted.facts = {{"mean_w_per_gpu", "W", 500, 0, {450, 600}}, {"mean_gpu_c", "C", 60, 0}};
  const std::vector<std::string> power = {"mean_w_per_gpu"};
  EXPECT_EQ(compare_measured(measured, predicted)->outside, power);
  EXPECT_EQ(compare_measured(predicted, measured)->outside, power);
  // Two predictions are not held to each other, and neither are two measurements.
  EXPECT_TRUE(compare_measured(predicted, predicted)->outside.empty());
  EXPECT_TRUE(compare_measured(measured, measured)->outside.empty());
}

TEST(CompareMeasured, RecordingsWithoutTracesTellTimeAndPower) {
  Measured a, b;
  a.performance.step_time_s = 10;
  b.performance.step_time_s = 12;
  a.gpus_w = 100;
  b.gpus_w = 90;
  const Comparison result = *compare_measured(a, b);
  EXPECT_EQ(amount(result, "time"), 2);
  EXPECT_EQ(amount(result, "time", "gpu_energy_j_per_step"), 2 * 95);
  EXPECT_EQ(amount(result, "power", "gpu_energy_j_per_step"), -10 * 11);
  EXPECT_FALSE(compare_measured(a, first()).has_value());
}

}  // namespace
}  // namespace ergometer::compare
