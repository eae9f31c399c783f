#include "calibration/twin/recording.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/trace/test_traces.h"

namespace ergometer::calibration::twin {
namespace {

using analysis::kMs;
using analysis::kSecond;

run::DeviceLog steps_of(const std::vector<double>& seconds) {
  run::DeviceLog log;
  run::TrainingLog& training = log.training.emplace_back();
  for (size_t i = 0; i < seconds.size(); ++i)
    training.steps.push_back({static_cast<int64_t>(i), seconds[i], 0, 0});
  return log;
}

void add(run::Device& device, run::Metric metric, int64_t from_s, int64_t to_s, double value) {
  run::Series* series = nullptr;
  for (run::Series& s : device.series)
    if (s.metric == metric) series = &s;
  if (series == nullptr) series = &device.series.emplace_back();
  series->metric = metric;
  for (int64_t s = from_s; s < to_s; ++s) series->samples.push_back({s * kSecond, value});
}

/// Two steps of a product of 30 ms and attention of 10 ms, an optimizer of 5 ms behind each, 5 ms
/// of nothing in between.
analysis::TestTrace two_steps() {
  analysis::TestTrace test;
  for (int64_t at : {0 * kMs, 50 * kMs}) {
    test.kernel(at, at + 30 * kMs, 7, "sm90_xmma_gemm_bf16");
    test.kernel(at + 30 * kMs, at + 40 * kMs, 7, "flash_fwd_kernel");
    test.kernel(at + 40 * kMs, at + 45 * kMs, 7, "multi_tensor_apply_kernel<FusedAdam>");
  }
  return test;
}

TEST(TwinRecording, ATraceWithoutMarksIsAsManyStepsAsOptimizersSay) {
  analysis::TestTrace test = two_steps();
  const auto refused = recording_of({test.trace}, {}, "trace.json");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "trace.json: the trace marks neither steps (torch.profiler's step()) nor an "
            "optimizer's; --trace-steps N says how many it holds");
  EXPECT_NEAR(recording_of({test.trace}, {}, "trace.json", 1)->values.at("gemm"), 0.060, 1e-9);
  test.trace.names.emplace_back("Optimizer.step#AdamW.step");
  const auto name = static_cast<uint32_t>(test.trace.names.size() - 1);
  for (int64_t at : {40 * kMs, 90 * kMs}) test.trace.ranges.push_back({name, false, 1, at, kMs});
  const auto recording = recording_of({test.trace}, {}, "trace.json");
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_NEAR(recording->values.at("gemm"), 0.030, 1e-9);
  EXPECT_NEAR(recording->values.at("attention"), 0.010, 1e-9);
  EXPECT_NEAR(recording->values.at("memory"), 0.005, 1e-9) << "the optimizer";
  EXPECT_NEAR(recording->values.at("step"), 0.0475, 1e-9) << "95 ms are two steps";
  EXPECT_NEAR(recording->values.at("idle"), 5.0 / 95, 1e-9);
  EXPECT_EQ(recording->notes.size(), 1u);
}

TEST(TwinRecording, ATraceThatTellsNoStepIsRefused) {
  analysis::TestTrace instant;
  instant.kernel(5, 5, 7, "sm90_xmma_gemm_bf16");
  EXPECT_EQ(recording_of({instant.trace}, {}, "trace.json", 1).error().message,
            "trace.json: the trace's kernels take no time");
  EXPECT_EQ(recording_of({two_steps().trace}, {}, "trace.json", 7).error().message,
            "trace.json: the trace of a rank holds 6 kernels; --trace-steps N is at most as many, "
            "found 7");
}

TEST(TwinRecording, TheLogsStepCountsBesideATrace) {
  analysis::TestTrace test = two_steps();
  test.step(1, 0, 50 * kMs).step(2, 50 * kMs, 100 * kMs);
  const auto recording =
      recording_of({test.trace}, steps_of({9, 9, 0.04, 0.041, 0.039, 0.04}), "both");
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_EQ(recording->steps, 6);
  EXPECT_DOUBLE_EQ(recording->values.at("step"), 0.04) << "median of the second half";
  EXPECT_NEAR(recording->values.at("gemm"), 0.030, 1e-9);
  EXPECT_LT(recording->noises.at("step"), 0.03) << "surer than a profiled step";
  EXPECT_GE(recording->noises.at("step"), 0.005);
}

TEST(TwinRecording, AStepOfAllButNoTimeLeavesTheNoiseFinite) {
  const auto recording = recording_of({}, steps_of({1, 1, 1, 1, 1e-311, 1e-311}), "log");
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_TRUE(std::isfinite(recording->noises.at("step")));
}

TEST(TwinRecording, RestIsWhereAContextHoldsTheClockAndNothingRuns) {
  run::DeviceLog log = steps_of({});
  for (int64_t i = 0; i < 20; ++i)
    log.training.front().steps.push_back({i, 1, (30 + i) * kSecond, 0});
  run::Device gpu;
  // 19 s at rest, then steps.
  add(gpu, run::Metric::kGpuUtilization, 1, 20, 0);
  add(gpu, run::Metric::kGpuUtilization, 20, 50, 100);
  add(gpu, run::Metric::kPower, 1, 20, 120);
  add(gpu, run::Metric::kPower, 20, 50, 600);
  add(gpu, run::Metric::kGpuTemperature, 1, 20, 35);
  add(gpu, run::Metric::kGpuTemperature, 20, 50, 60);
  add(gpu, run::Metric::kSmClock, 1, 50, 1980);
  log.devices.push_back(gpu);
  const auto recording = recording_of({}, log, "recorded.run");
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_NEAR(recording->values.at("power"), 600, 1);
  EXPECT_NEAR(recording->values.at("die"), 60, 0.5);
  EXPECT_NEAR(recording->values.at("rest power"), 120, 1);
  EXPECT_NEAR(recording->values.at("rest die"), 35, 0.5);
  for (run::Series& series : log.devices.front().series)
    if (series.metric == run::Metric::kSmClock)
      for (run::Sample& sample : series.samples)
        if (sample.time_ns < 20 * kSecond) sample.value = 345;
  EXPECT_FALSE(recording_of({}, log, "recorded.run")->values.contains("rest power"))
      << "at its lowest clock no job holds the GPU";
}

TEST(TwinRecording, WithoutALogOfStepsItsSettledPartCounts) {
  const auto cold_start = [](int64_t seconds) {
    run::DeviceLog log;
    log.source = "recorded";
    run::Device gpu;
    add(gpu, run::Metric::kPower, 0, seconds, 600);
    add(gpu, run::Metric::kGpuTemperature, 0, seconds, 0);
    for (run::Sample& sample : gpu.series.back().samples)
      sample.value = 60 - 30 * std::exp(-1e-9 * static_cast<double>(sample.time_ns) / 40);
    log.devices.push_back(gpu);
    return recording_of({two_steps().trace}, log, "both", 2);
  };
  const auto settled = cold_start(400);
  ASSERT_TRUE(settled.has_value()) << settled.error().message;
  EXPECT_NEAR(settled->values.at("die"), 60, 0.5) << "its mean is 57 C";
  EXPECT_FALSE(settled->noises.contains("die"));
  const auto cold = cold_start(60);
  ASSERT_TRUE(cold.has_value());
  EXPECT_GT(cold->noises.at("die"), 5) << "8 to 12 K were to come";
  EXPECT_GT(cold->noises.at("power"), 0.02);
  EXPECT_NE(cold->notes.back().find("had not settled, by about"), std::string::npos)
      << cold->notes.back();
}

TEST(TwinRecording, TelemetryAloneIsRefused) {
  run::DeviceLog log;
  run::Device gpu;
  add(gpu, run::Metric::kPower, 1, 50, 600);
  log.devices.push_back(gpu);
  const auto refused = recording_of({}, log, "power.csv");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "power.csv: tells neither how long a step takes nor which kernels it has; allowed: a "
            "recording with a training log (record --step-log), a profiler's trace, or a simulated "
            "Run");
}

}  // namespace
}  // namespace ergometer::calibration::twin
