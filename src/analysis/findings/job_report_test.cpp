#include "analysis/findings/job_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/findings/job_findings.h"
#include "analysis/telemetry/gpu_condition.h"
#include "analysis/trace/example_trace.h"
#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

run::Series series(run::Metric metric, const std::vector<double>& values, int64_t every_ns) {
  run::Series s;
  s.metric = metric;
  for (size_t i = 0; i < values.size(); ++i)
    s.samples.push_back({static_cast<int64_t>(i) * every_ns, values[i]});
  return s;
}

// 100 W, 400 W 100 ms later, 700 W at 1 s, 200 W at 1.1 s.
TEST(PowerSwings, WithinATime) {
  const std::vector<run::Sample> points = {
      {0, 100}, {100 * kMs, 400}, {1000 * kMs, 700}, {1100 * kMs, 200}};
  const Swing fast = largest_swing(points, 0.1);
  EXPECT_DOUBLE_EQ(fast.rise_w, 300);
  EXPECT_EQ(fast.rise_at_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(fast.fall_w, 500);
  EXPECT_EQ(fast.fall_at_ns, 1100 * kMs);
  const Swing slow = largest_swing(points, 1.0);
  EXPECT_DOUBLE_EQ(slow.rise_w, 600);
  EXPECT_DOUBLE_EQ(slow.fall_w, 500);
  EXPECT_DOUBLE_EQ(largest_swing({}, 1).rise_w, 0);
}

// A sensor that updates every 200 ms shows no swing within 100 ms.
TEST(PowerSwings, AreNotToldBelowTheSensorsUpdates) {
  run::DeviceLog log;
  log.devices.emplace_back().series.push_back(
      series(run::Metric::kInstantPower, {100, 300, 100, 300, 100, 300}, 200 * kMs));
  const auto swings = power_swings(log);
  ASSERT_EQ(swings.size(), 1u);
  ASSERT_EQ(swings[0].swings.size(), 1u);
  EXPECT_DOUBLE_EQ(swings[0].swings[0].over_s, 1);
  EXPECT_DOUBLE_EQ(swings[0].swings[0].rise_w, 200);
  EXPECT_DOUBLE_EQ(swings[0].mean_w, (100 * 3 + 300 * 2) / 5.0);
}

/// Readings of a metric once a second, 11 of `before`, then none for an hour, then 11 of `after`.
run::Series with_a_gap(run::Metric metric, double before, double last_before, double after) {
  run::Series s = series(metric, std::vector<double>(11, before), kSecond);
  s.samples.back().value = last_before;
  for (int64_t i = 0; i < 11; ++i) s.samples.push_back({(3610 + i) * kSecond, after});
  return s;
}

// 10 s at 700 W and, an hour later, 10 s at 300 W: a mean of 500 W, not of 699.
TEST(PowerSwings, WhatIsInAGapIsInNoMean) {
  run::DeviceLog log;
  log.devices.emplace_back().series.push_back(
      with_a_gap(run::Metric::kInstantPower, 700, 700, 300));
  const auto swings = power_swings(log);
  ASSERT_EQ(swings.size(), 1u);
  EXPECT_DOUBLE_EQ(swings[0].mean_w, 500);
  EXPECT_DOUBLE_EQ(swings[0].deviation_w, 200);
}

// Steps before, in and behind the hour without readings, and one that begins before it.
TEST(StepEnergy, AStepInAGapHasNone) {
  run::DeviceLog log;
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = 3;
  gpu.series.push_back(with_a_gap(run::Metric::kInstantPower, 700, 700, 300));
  TestTrace t(3);
  t.step(1, 2 * kSecond, 3 * kSecond).step(2, 9 * kSecond, 11 * kSecond);
  t.step(3, 1000 * kSecond, 1001 * kSecond).step(4, 3611 * kSecond, 3612 * kSecond);
  const auto energies = step_energies({t.trace}, log);
  ASSERT_EQ(energies.size(), 1u);
  EXPECT_EQ(energies[0].steps, 2);
  EXPECT_NEAR(energies[0].mean_j, 500, 1e-9);
}

// A CPU that marks its four steps in 40 ms while the GPU works a second each, 600 W throughout.
TEST(StepEnergy, IsTheGpusWhereTheCpuRunsAhead) {
  run::DeviceLog log;
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = 3;
  gpu.series.push_back(
      series(run::Metric::kInstantPower, std::vector<double>(61, 600.0), 100 * kMs));
  TestTrace t(3);
  for (int64_t i = 0; i < 4; ++i)
    t.step(i, i * 10 * kMs, (i + 1) * 10 * kMs)
        .kernel(100 * kMs + i * kSecond, 100 * kMs + (i + 1) * kSecond)
        .launched(i * 10 * kMs + kMs);
  const auto energies = step_energies({t.trace}, log);
  ASSERT_EQ(energies.size(), 1u);
  EXPECT_EQ(energies[0].steps, 4);
  EXPECT_NEAR(energies[0].mean_j, 600, 1e-9);
}

// Hot in the last reading before the hour: it held the clock for none of the 20 s that were read.
TEST(HeatCost, WhatIsInAGapCostsNothing) {
  run::DeviceLog log;
  run::Device& gpu = log.devices.emplace_back();
  gpu.series.push_back(with_a_gap(run::Metric::kSmClock, 1980, 1500, 1980));
  gpu.series.push_back(with_a_gap(run::Metric::kEventReasons, 0, 0x20, 0));
  EXPECT_TRUE(heat_costs(log).empty());
  const auto then = gpu_condition(log, gpu.rank, 1000 * kSecond, 1001 * kSecond);
  EXPECT_FALSE(then);
  std::vector<run::RankTrace> none;
  EXPECT_DOUBLE_EQ(report_job(none, log).recorded_s, 20);
}

// Steps of 1 s at 300 W and of 1 s at 500 W; the third lies behind the readings.
TEST(StepEnergy, IsTheReadingsBetweenMarks) {
  run::DeviceLog log;
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = 3;
  std::vector<double> watts(11, 300.0);
  watts.resize(21, 500.0);
  gpu.series.push_back(series(run::Metric::kInstantPower, watts, 100 * kMs));
  TestTrace t(3);
  t.step(1, 0, kSecond).step(2, kSecond + 100 * kMs, 2 * kSecond).step(3, 2 * kSecond, 3 * kSecond);
  const auto energies = step_energies({t.trace}, log);
  ASSERT_EQ(energies.size(), 1u);
  EXPECT_EQ(energies[0].steps, 2);
  EXPECT_NEAR(energies[0].lowest_j, 300, 1e-9);
  EXPECT_NEAR(energies[0].highest_j, 450, 1e-9);
  EXPECT_EQ(energies[0].number, 0U);
  EXPECT_GT(energies[0].error.unseen, 0);
}

// Throttled 4 of 10 s at 1500 MHz, else 1980: 0.4 (1 - 1500/1980) = 9.697 %.
TEST(HeatCost, ByHand) {
  run::DeviceLog log;
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = 1;
  gpu.series.push_back(series(run::Metric::kSmClock,
                              {1500, 1500, 1500, 1500, 1980, 1980, 1980, 1980, 1980, 1980, 1980},
                              kSecond));
  gpu.series.push_back(
      series(run::Metric::kEventReasons, {0x20, 0x20, 0x20, 0x20, 0, 0, 0, 0, 0, 0, 0}, kSecond));
  auto costs = heat_costs(log);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_DOUBLE_EQ(costs[0].throttled_fraction, 0.4);
  EXPECT_NEAR(costs[0].lost_fraction, 0.4 * (1 - 1500.0 / 1980), 1e-12);
  EXPECT_EQ(costs[0].reason, "sw_thermal_slowdown");
  EXPECT_FALSE(costs[0].free_clock_is_peers);

  // A GPU that is always throttled is held against the fastest of its kind.
  run::Device always;
  always.rank = 2;
  always.series.push_back(series(run::Metric::kSmClock, {1485, 1485, 1485}, kSecond));
  always.series.push_back(series(run::Metric::kEventReasons, {4, 4, 4}, kSecond));
  log.devices.push_back(always);
  costs = heat_costs(log);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].rank, 2);
  EXPECT_TRUE(costs[0].free_clock_is_peers);
  EXPECT_NEAR(costs[0].lost_fraction, 0.25, 1e-12);
}

// No clock was ever free: beside what the power cap allows, 1900 MHz, heat holds the first GPU at
// 1200 for 4 s of 10 (it loses 0.4 (1 - 1200/1900) = 14.7 %), always the second (1 - 1200/1900).
TEST(HeatCost, IsHeldAgainstThePowerCap) {
  run::DeviceLog log;
  const auto add = [&](int64_t rank, const std::vector<double>& clocks,
                       const std::vector<double>& reasons) {
    run::Device gpu;
    gpu.rank = rank;
    gpu.series.push_back(series(run::Metric::kSmClock, clocks, kSecond));
    gpu.series.push_back(series(run::Metric::kEventReasons, reasons, kSecond));
    log.devices.push_back(gpu);
  };
  std::vector<double> clocks(11, 1900), reasons(11, 0x4);
  add(0, clocks, reasons);
  std::fill_n(clocks.begin(), 4, 1200);
  std::fill_n(reasons.begin(), 4, 0x40 | 0x4);
  add(1, clocks, reasons);
  add(2, std::vector<double>(11, 1200), std::vector<double>(11, 0x40));
  const auto costs = heat_costs(log);
  ASSERT_EQ(costs.size(), 4u);
  EXPECT_EQ(costs[0].rank, 2);
  EXPECT_NEAR(costs[0].lost_fraction, 1 - 1200.0 / 1900, 1e-12);
  EXPECT_TRUE(costs[0].free_clock_is_peers);
  EXPECT_TRUE(costs[0].free_clock_is_capped);
  EXPECT_EQ(costs[1].rank, 1);
  EXPECT_EQ(costs[1].reason, "hw_thermal_slowdown");
  EXPECT_DOUBLE_EQ(costs[1].throttled_fraction, 0.4);
  EXPECT_NEAR(costs[1].lost_fraction, 0.4 * (1 - 1200.0 / 1900), 1e-12);
  EXPECT_FALSE(costs[1].free_clock_is_peers);
  // The cap itself: what it costs is not known, for no clock was free.
  for (size_t i : {2u, 3u}) {
    EXPECT_EQ(costs[i].reason, "sw_power_cap");
    EXPECT_EQ(costs[i].lost_fraction, 0);
  }
}

// A port of 50 GB/s: 49, 10, 49, 49 GB in a second each; above 45 GB/s in 3 of 4.
TEST(LinkUse, SaturationOfAPort) {
  run::DeviceLog log;
  run::Device& port = log.devices.emplace_back();
  port.kind = run::DeviceKind::kPort;
  port.index = 2;
  port.host = "n1";
  port.series.push_back(series(run::Metric::kNetSent, {0, 49e9, 59e9, 108e9, 157e9}, kSecond));
  port.series.push_back(series(run::Metric::kLineRate, {50e9}, kSecond));
  run::Device& gpu = log.devices.emplace_back();
  gpu.rank = 0;
  gpu.series.push_back(series(run::Metric::kPcieSentRate, {2e9, 2e9, 2e9}, kSecond));
  const auto links = link_use(log);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].kind, "nic");
  EXPECT_DOUBLE_EQ(links[0].bytes, 157e9);
  EXPECT_DOUBLE_EQ(links[0].peak_gb_per_s, 49);
  EXPECT_DOUBLE_EQ(*links[0].saturated_fraction, 0.75);
  EXPECT_DOUBLE_EQ(*links[0].utilization, 157.0 / 200);
  EXPECT_EQ(links[1].kind, "pcie");
  EXPECT_DOUBLE_EQ(links[1].bytes, 4e9);
  EXPECT_FALSE(links[1].utilization);
}

// Rank 1 computes 40 ms a step where rank 0 computes 10, then both reduce for 1 ms. As fast as rank
// 0, it would make every step 11 ms instead of 41: 30 ms, and 6 J on two GPUs that draw 90 and 110
// W in collectives. The finding takes the place of the plain one.
TEST(JobFindings, ArePricedAStep) {
  std::vector<run::RankTrace> ranks = {TestTrace(0).trace, TestTrace(1).trace};
  for (int64_t rank = 0; rank < 2; ++rank) {
    TestTrace t(rank);
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t at = i * 41 * kMs, ready = at + (rank == 1 ? 40 : 10) * kMs;
      t.kernel(at, ready).collective(ready, at + 41 * kMs, i).step(i, at, at + 41 * kMs);
    }
    ranks[static_cast<size_t>(rank)] = t.trace;
  }
  const JobReport report = report_job(ranks, {});
  TraceSummary summary = summarize(ranks);
  for (const double watts : {90.0, 110.0}) {
    EnergyRow collectives;
    collectives.name = "collective";
    collectives.watts = watts;
    summary.energy.emplace_back().classes = {collectives};
    summary.energy.back().error = {0.02, 0.01, 0, true, true};
  }
  add_job_findings(report, {}, summary);
  const auto named = [&](const char* name) {
    return std::find_if(summary.findings.begin(), summary.findings.end(),
                        [&](const Finding& f) { return f.name == name; });
  };
  ASSERT_NE(named("straggler"), summary.findings.end());
  EXPECT_EQ(named("late_arrival"), summary.findings.end());
  const Finding& f = *named("straggler");
  EXPECT_NEAR(f.cost_s, 0.3, 1e-12);
  EXPECT_NEAR(f.fraction, 0.3 / 0.41, 1e-12);
  EXPECT_NEAR(*f.step_s, 0.03, 1e-12);
  EXPECT_NEAR(*f.step_j, 6, 1e-9);
  // Gains of 90 and 110 W, 2 % each by itself and 1 % together: sqrt(1.8^2 + 2.2^2) of 200 W.
  EXPECT_NEAR(f.watts_error.own, std::sqrt(1.8 * 1.8 + 2.2 * 2.2) / 200, 1e-12);
  EXPECT_NEAR(f.watts_error.common, 0.01, 1e-12);
  EXPECT_NE(f.what.find("Rank 1 holds up"), std::string::npos) << f.what;
}

const Finding* named(const TraceSummary& summary, std::string_view name) {
  const auto found = std::ranges::find(summary.findings, name, &Finding::name);
  return found == summary.findings.end() ? nullptr : &*found;
}

TraceSummary told_of(std::vector<run::RankTrace> ranks) {
  TraceSummary summary = summarize(ranks);
  add_job_findings(report_job(ranks, {}), {}, summary);
  return summary;
}

// By shapes mul and add hand over 30 ns of their time; but the product behind them is launched at
// 180 and starts 10 later, so that it ends at 290 instead of 300, 10 of 200 sooner.
TEST(JobFindings, PromiseOfRoundTripsWhatTheReplayKeeps) {
  ExampleTrace t;
  t.trace.rank = 0;
  const std::string two = "[[4, 8], [4, 8]]", types = R"(["c10::BFloat16", "c10::BFloat16"])";
  t.shaped("aten::mul", 0, 10, two, types);
  t.shaped("aten::add", 10, 20, two, types);
  t.kernel("elementwise_mul", 5, 100, 130).kernel("elementwise_add", 15, 130, 190);
  t.kernel("gemm", 180, 200, 300);
  const TraceSummary summary = told_of({t.trace});
  EXPECT_EQ(summary.taxes.round_trips.saved_ns, 30);
  const Finding* f = named(summary, "memory_round_trips");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->cost_s, 10e-9, 1e-15);
  EXPECT_NEAR(f->fraction, 10.0 / 200, 1e-12);
}

// The CPU waits from 10 to 110 for a kernel that ends at 100, of that 90 while it runs, and
// launches the next at 150. It would have called at 60: the next kernel starts 10 behind the first,
// not 60.
TEST(JobFindings, PromiseOfWaitsWhatTheReplayKeeps) {
  ExampleTrace t;
  t.trace.rank = 0;
  t.kernel("a", 0, 0, 100).kernel("b", 150, 160, 260);
  t.trace.waits = {{.start_ns = 10, .duration_ns = 100, .thread = 1}};
  const TraceSummary summary = told_of({t.trace});
  const Finding* f = named(summary, "host_synchronization");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->cost_s, 50e-9, 1e-15);
  EXPECT_EQ(named(summary, "late_launch"), nullptr);  // no launch call lies in the gap
  ASSERT_NE(named(summary, "cpu_elsewhere"), nullptr);
  EXPECT_NEAR(named(summary, "cpu_elsewhere")->cost_s, 40e-9, 1e-15);
}

TEST(JobFindings, OfNothingAreNone) {
  std::vector<run::RankTrace> none;
  TraceSummary summary = summarize(none);
  add_job_findings(report_job(none, {}), {}, summary);
  EXPECT_TRUE(summary.findings.empty());
}

}  // namespace
}  // namespace ergometer::analysis
