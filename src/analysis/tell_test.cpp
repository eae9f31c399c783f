#include "analysis/tell.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

/// An MI300X that draws 500 W for 10 s, by its counter and by its power.
run::DeviceLog mi300x(const char* source) {
  run::DeviceLog log;
  log.source = source;
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = gpu.index = 0;
  gpu.name = "AMD Instinct MI300X";
  run::Series counter, power;
  counter.metric = run::Metric::kEnergy;
  power.metric = run::Metric::kPower;
  for (int64_t i = 0; i <= 100; ++i) {
    counter.samples.push_back({i * 100 * kMs, 50 * static_cast<double>(i)});
    power.samples.push_back({i * 100 * kMs, 500});
  }
  gpu.series = {counter, power};
  return log;
}

Told told_with(const run::DeviceLog& log) {
  TestTrace t;
  t.kernel(0, 10 * kSecond).step(1, kSecond, 2 * kSecond).step(2, 2 * kSecond, 3 * kSecond);
  std::vector<run::RankTrace> ranks = {t.trace};
  return tell(ranks, log, {.peak = {}, .energy = energy_of(ranks, log)});
}

// Of AMD's counter 2.5 % of a board and 2 % of all are assumed, of its power 3 % and 3 %: each
// energy has the gain of the sensor that it is by.
TEST(Tell, PartsHaveTheGainOfTheirOwnSensor) {
  const Told told = told_with(mi300x("recorded"));
  ASSERT_EQ(told.power.devices[0].energies.front().way, "counter");
  ASSERT_EQ(told.summary.energy.size(), 1U);
  const run::EnergyError& kernels = told.summary.energy[0].error;
  EXPECT_TRUE(kernels.stated && kernels.known);
  EXPECT_EQ(kernels.own, 0.025);
  EXPECT_EQ(kernels.common, 0.02);
  EXPECT_EQ(told.summary.energy[0].step_error.own, 0.025);
  EXPECT_GT(told.summary.energy[0].step_error.unseen, 0);
  ASSERT_EQ(told.job.step_energies.size(), 1U);
  const run::EnergyError& steps = told.job.step_energies[0].error;
  EXPECT_TRUE(steps.stated);
  EXPECT_EQ(steps.own, 0.03);
  EXPECT_EQ(steps.common, 0.03);
}

TEST(Tell, PartsOfASimulatedEnergyHaveNone) {
  const Told told = told_with(mi300x("simulated"));
  EXPECT_FALSE(told.summary.energy.at(0).error.stated);
  EXPECT_FALSE(told.job.step_energies.at(0).error.stated);
}

// The trace counts from its beginning; readings of a date cannot be laid beside it.
TEST(Tell, SaysWhyTelemetryIsNotLaidBesideTraces) {
  EXPECT_TRUE(told_with(mi300x("recorded")).summary.notes.empty());
  run::DeviceLog log = mi300x("recorded");
  for (run::Series& series : log.devices[0].series)
    for (run::Sample& sample : series.samples) sample.time_ns += 1'700'000'000 * kSecond;
  const Told told = told_with(log);
  ASSERT_EQ(told.summary.notes.size(), 1U);
  EXPECT_TRUE(told.summary.notes[0].ends_with("counts from its own beginning and tells no date"))
      << told.summary.notes[0];
}

}  // namespace
}  // namespace ergometer::analysis
