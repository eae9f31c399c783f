#include "analysis/energy/kernel_energy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/energy/power_windows.h"
#include "analysis/trace/example_trace.h"
#include "analysis/trace/test_traces.h"
#include "base/random.h"

namespace ergometer::analysis {
namespace {

run::DeviceLog log_of(run::Metric metric, std::vector<run::Sample> samples) {
  run::DeviceLog log;
  run::Device device;
  device.rank = device.index = 0;
  device.host = "node";
  device.series.push_back({metric, false, std::move(samples)});
  log.devices.push_back(std::move(device));
  return log;
}

RankEnergy energy_of(const run::RankTrace& trace, const run::DeviceLog& log) {
  return kernel_energy({trace}, {Attribution(trace)}, log).front();
}

const EnergyRow* row(const std::vector<EnergyRow>& rows, std::string_view name) {
  for (const EnergyRow& r : rows)
    if (r.name == name) return &r;
  return nullptr;
}

/// Work of a known power, and what an energy counter shows of it.
struct Truth {
  ExampleTrace t;
  std::vector<run::Sample> counter;
  double joules = 0;

  /// Runs a kernel (nothing: idle) for a time at a power.
  void run(const std::string& name, int64_t ns, double watts) {
    if (!name.empty()) t.alone(name, now_, now_ + ns);
    const int64_t end = now_ + ns;
    while (next_ < end) {
      joules += watts * static_cast<double>(next_ - now_) * 1e-9;
      now_ = next_;
      counter.push_back({now_, joules});
      next_ += kPeriod;
    }
    joules += watts * static_cast<double>(end - now_) * 1e-9;
    now_ = end;
  }

  static constexpr int64_t kPeriod = 20 * kMs;

 private:
  int64_t now_ = 0, next_ = 0;
};

/// Two seconds of gemm, elementwise, collective and idle in changing proportion.
Truth mixed(uint64_t seed, double noise_w) {
  const base::Random random(seed, 0, "kernel energy test");
  uint64_t draw = 0;
  Truth truth;
  for (int i = 0; i < 400; ++i) {
    const auto ms = [&] { return static_cast<int64_t>(random.uniform(draw++) * 4 * kMs) + 1000; };
    truth.run("sm90_gemm", ms(), 700);
    truth.run("elementwise_kernel", ms(), 450);
    truth.run("ncclDevKernel_AllReduce", ms(), 250);
    truth.t.trace.events.back().kind = run::GpuClass::kCommunication;
    truth.run("", ms(), 100);
  }
  truth.run("sm90_gemm", kMs, 700);
  double error_j = 0;  // grows, so that every window's power has an error of its own
  for (run::Sample& sample : truth.counter)
    sample.value += error_j += noise_w * 0.02 * random.normal(draw++);
  return truth;
}

TEST(KernelEnergy, FindsTheWattsThatWereThere) {
  const Truth truth = mixed(1, 0);
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  EXPECT_EQ(energy.refused, "");
  EXPECT_EQ(energy.matched_by, "only one of each");
  ASSERT_EQ(energy.classes.size(), 4u);
  EXPECT_NEAR(row(energy.classes, "gemm")->watts, 700, 0.01);
  EXPECT_NEAR(row(energy.classes, "elementwise")->watts, 450, 0.01);
  EXPECT_NEAR(row(energy.classes, "collective")->watts, 250, 0.01);
  EXPECT_NEAR(row(energy.classes, "idle")->watts, 100, 0.01);
}

// Classes and residual are what was measured, to the last digit that a double has.
TEST(KernelEnergy, AddsUpToWhatWasMeasured) {
  const Truth truth = mixed(2, 20);
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  double classes = energy.residual_j, phases = 0;
  for (const EnergyRow& r : energy.classes) classes += r.joules;
  for (const EnergyRow& r : energy.phases) phases += r.joules;
  EXPECT_NEAR(classes, energy.measured_j, 1e-9);
  EXPECT_NEAR(phases, energy.measured_j - energy.residual_j, 1e-9);
  EXPECT_LT(std::abs(energy.residual_j), 0.01 * energy.measured_j);
}

// Of 60 traces with noise, the true watts lie within two standard errors in about 95 %.
TEST(KernelEnergy, ErrorsCoverTheTruth) {
  int covered = 0, stated = 0;
  for (uint64_t seed = 10; seed < 70; ++seed) {
    const Truth truth = mixed(seed, 20);
    const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
    for (const auto& [name, watts] : {std::pair("gemm", 700.0), std::pair("elementwise", 450.0),
                                      std::pair("collective", 250.0), std::pair("idle", 100.0)}) {
      const EnergyRow* r = row(energy.classes, name);
      ASSERT_NE(r, nullptr);
      ++stated;
      covered += std::abs(r->watts - watts) <= 2 * r->watts_error ? 1 : 0;
    }
  }
  EXPECT_GT(covered, 0.90 * stated);
  EXPECT_LT(covered, stated);
}

// A sensor that shows the mean of the last 50 ms 30 ms late.
TEST(KernelEnergy, FollowsASensorThatLags) {
  const Truth truth = mixed(3, 0);
  const auto joules_at = [&](double s) {
    const double place = std::clamp(s / 0.02, 0.0, static_cast<double>(truth.counter.size() - 2));
    const auto i = static_cast<size_t>(place);
    const double part = place - static_cast<double>(i);
    return truth.counter[i].value * (1 - part) + truth.counter[i + 1].value * part;
  };
  std::vector<run::Sample> readings;
  for (int i = 4; i < 60; ++i) {
    const double end = 0.1 * i - 0.04;  // multiples of 20 ms, where the counter is exact
    readings.push_back(
        {static_cast<int64_t>((end + 0.04) * 1e9), (joules_at(end) - joules_at(end - 0.1)) / 0.1});
  }
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kInstantPower, readings));
  EXPECT_EQ(energy.refused, "");
  EXPECT_NEAR(energy.lag_s, 0.04, 1e-3);
  EXPECT_NEAR(energy.window_s, 0.1, 1e-3);
  EXPECT_NEAR(row(energy.classes, "gemm")->watts, 700, 5);
}

TEST(KernelEnergy, SaysNothingOfAShortTrace) {
  Truth truth;
  for (int i = 0; i < 10; ++i) truth.run(i % 2 == 0 ? "sm90_gemm" : "", 25 * kMs, 100 + 50 * i);
  truth.run("sm90_gemm", kMs, 700);
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  EXPECT_NE(energy.refused.find("covers 12 updates"), std::string::npos) << energy.refused;
  EXPECT_TRUE(energy.classes.empty());
  EXPECT_GT(energy.measured_j, 0);
}

// The same 10 ms of gemm and 10 of elementwise in every window.
TEST(KernelEnergy, SaysNothingOfAMixThatNeverChanges) {
  Truth truth;
  for (int i = 0; i < 100; ++i) {
    truth.run("sm90_gemm", 10 * kMs, 700);
    truth.run("elementwise_kernel", 10 * kMs, 300);
  }
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  EXPECT_NE(energy.refused.find("same mix"), std::string::npos) << energy.refused;
  EXPECT_NEAR(energy.mean_w, 500, 1e-6);
}

// gemm and elementwise always half and half, idle in changing shares: two of three are one.
TEST(KernelEnergy, StatesClassesThatComeTogetherAsOne) {
  Truth truth;
  for (int i = 0; i < 100; ++i) {
    const int64_t busy = (2 + i % 8) * kMs;
    for (int piece = 0; piece < 10; ++piece) {
      truth.run("sm90_gemm", busy / 10, 700);
      truth.run("elementwise_kernel", busy / 10, 300);
    }
    truth.run("", 20 * kMs - 2 * busy, 100);
  }
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  ASSERT_EQ(energy.refused, "");
  ASSERT_EQ(energy.classes.size(), 2u);
  const EnergyRow* both = row(energy.classes, "gemm + elementwise");
  ASSERT_NE(both, nullptr);
  EXPECT_NEAR(both->watts, 500, 1);
  EXPECT_NEAR(row(energy.classes, "idle")->watts, 100, 1);
}

// Collectives beside gemm are neither's: [0, 10) gemm alone, [10, 20) both.
TEST(KernelEnergy, CommunicationBesideComputeIsAClass) {
  Truth truth;
  for (int i = 0; i < 100; ++i) {
    const int64_t alone = (4 + i % 9) * kMs;
    truth.run("sm90_gemm", alone, 700);
    const int64_t start = truth.t.trace.events.back().end_ns();
    truth.run("sm90_gemm", 20 * kMs - alone, 600);
    truth.t.alone("ncclDevKernel_AllReduce", start, start + 20 * kMs - alone);
    truth.t.trace.events.back().kind = run::GpuClass::kCommunication;
    truth.t.trace.events.back().stream = 20;
  }
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  ASSERT_EQ(energy.refused, "");
  EXPECT_NEAR(row(energy.classes, "gemm")->watts, 700, 1e-3);
  EXPECT_NEAR(row(energy.classes, "communication beside other work")->watts, 600, 1e-3);
}

TEST(KernelEnergy, NeedsTelemetryOfTheSameTimeAndRank) {
  Truth truth = mixed(4, 0);
  run::DeviceLog log = log_of(run::Metric::kEnergy, truth.counter);
  truth.t.trace.base_time_ns = 3'600'000 * kMs;
  EXPECT_NE(energy_of(truth.t.trace, log).refused.find("begins 60.0 min before"), std::string::npos)
      << energy_of(truth.t.trace, log).refused;

  truth.t.trace.base_time_ns = 0;
  truth.t.trace.rank = 5;
  log.devices.push_back(log.devices.front());
  log.devices.back().rank = log.devices.back().index = 1;
  EXPECT_EQ(energy_of(truth.t.trace, log).matched_by, "device index");
  log.devices.back().rank = 5;
  EXPECT_EQ(energy_of(truth.t.trace, log).matched_by, "rank");
  truth.t.trace.rank = 7;
  for (run::GpuEvent& event : truth.t.trace.events) event.device = 3;
  EXPECT_NE(energy_of(truth.t.trace, log).refused.find("no GPU of the telemetry"),
            std::string::npos);
}

// Steps of 200 ms at 700 and 300 W: 140 and 60 J, 100 in the mean.
TEST(KernelEnergy, MeasuresSteps) {
  Truth truth;
  for (int i = 0; i < 10; ++i) truth.run("sm90_gemm", 200 * kMs, i % 2 == 0 ? 700 : 300);
  for (int i = 1; i < 9; ++i)
    truth.t.trace.steps.push_back({i, i * 200 * kMs, (i + 1) * 200 * kMs});
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  EXPECT_EQ(energy.steps, 8);
  EXPECT_NEAR(energy.step_j, 100, 1e-6);
}

// A sensor whose gain is off by 3 % of its board and 4 % of all, standard deviations: 1.645 x 5 % =
// 8.2 % of every watt. Of 1.6 s of steps by a counter of 20 ms what is missing at the ends comes to
// 0.02 / 1.6 / sqrt(6) = 0.51 %; a row has the standard error of its watts.
TEST(KernelEnergy, HasTheSensorsGain) {
  Truth truth;
  for (int i = 0; i < 10; ++i) truth.run("sm90_gemm", 200 * kMs, i % 2 == 0 ? 700 : 300);
  for (int i = 1; i < 9; ++i)
    truth.t.trace.steps.push_back({i, i * 200 * kMs, (i + 1) * 200 * kMs});
  RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  EXPECT_FALSE(energy.error.stated) << "what its sensor is, the caller knows";
  EXPECT_EQ(energy.number, 0U);
  EXPECT_EQ(energy.error.unseen, 0);
  EXPECT_NEAR(energy.step_error.unseen, 0.02 / 1.6 / std::sqrt(6), 1e-6);
  EXPECT_FALSE(error_by_fit(energy, 100, 5).stated);

  energy.error = {0.03, 0.04, energy.error.unseen, true, true};
  EXPECT_NEAR(energy.gain().percent(), 164.485 * 0.05, 1e-3);
  EXPECT_NEAR(error_by_fit(energy, 100, 12).percent(), 164.485 * 0.13, 1e-3);  // 5, 12, 13
  EXPECT_FALSE(error_by_fit(energy, 0, 5).stated);
}

// One operator that runs for a second fills windows whole: its power is read, not fitted.
TEST(KernelEnergy, ReadsTheWattsOfAnOperatorThatFillsWindows) {
  Truth truth;
  truth.t.shaped("aten::mm", 0, 10, "[[4, 8], [8, 16]]", "[]");
  truth.run("sm90_gemm", 1000 * kMs, 650);
  truth.t.trace.events[0].correlation = 9;
  truth.t.trace.launches = {{.correlation = 9, .start_ns = 5, .duration_ns = 1, .thread = 1}};
  truth.run("", 100 * kMs, 100);
  truth.run("elementwise_kernel", kMs, 300);
  const RankEnergy energy = energy_of(truth.t.trace, log_of(run::Metric::kEnergy, truth.counter));
  ASSERT_EQ(energy.shapes.size(), 1u);
  EXPECT_EQ(energy.shapes[0].name, "aten::mm");
  EXPECT_NEAR(energy.shapes[0].watts, 650, 1e-6);
  EXPECT_GE(energy.shapes[0].windows, 45);
}

TEST(PowerWindows, DoNotSayHowLongAPlainReadingIsAMean) {
  std::vector<run::Sample> samples;
  for (int i = 0; i < 40; ++i) samples.push_back({i * 100 * kMs, 100.0 + i % 7});
  const auto windows = [&](run::Metric metric) {
    return power_windows(log_of(metric, samples).devices[0]);
  };
  EXPECT_EQ(windows(run::Metric::kInstantPower).lengths_s.size(), 1u);
  EXPECT_EQ(windows(run::Metric::kPower).lengths_s.size(), 2u);
  EXPECT_EQ(windows(run::Metric::kAveragePower).lengths_s, std::vector<double>{1});
  EXPECT_EQ(windows(run::Metric::kGpuTemperature).metric, "");
  const auto first = windows(run::Metric::kInstantPower).windows(0.1, 0.02).front();
  EXPECT_EQ(first.start_ns, -120 * kMs);
  EXPECT_EQ(first.end_ns, -20 * kMs);
}

}  // namespace
}  // namespace ergometer::analysis
