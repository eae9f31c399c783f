#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"
#include "base/test_support.h"
#include "calibration/twin/boards.h"
#include "engine/simulate.h"
#include "physics/silicon.h"
#include "spec/job/overrides.h"
#include "spec/resolve/test_jobs.h"

/// Jobs on boards that differ, and what recorders of their nodes would read.
namespace ergometer::calibration::twin::test {

constexpr int64_t kReadings = 8, kBeat = 1'000'000'000;

inline spec::Job capped(const std::string& cap) {
  return spec::test::job_of({{"model", "llama3-8b"},
                             {"num_layers", "8"},
                             {"cluster", "charllm-h200"},
                             {"gpus", "16"},
                             {"tp", "4"},
                             {"gbs", "16"},
                             {"seq_length", "4096"},
                             {"power_cap", cap}});
}

inline void with(spec::Job& job, const char* override_text) {
  job.conditions.overrides.push_back(*spec::parse_override(override_text));
}

/// What recorders of its nodes would read: power off by its sensor's gain, dies by 1 K from board
/// to board, whole degrees.
inline run::DeviceLog recorded(const spec::Job& job, double sensor_k = 0) {
  const auto run = engine::simulate(job, {.kernels = false, .all_ranks = true, .intervals = false});
  EXPECT_TRUE(run.has_value());
  const auto silicon = physics::draw_silicon(job.conditions.seed, job.gpus,
                                             physics::silicon_spread(job.cluster.node.gpu));
  run::DeviceLog log;
  log.source = "recorded";
  run::TrainingLog& training = log.training.emplace_back();
  for (int64_t i = 0; i < 2 * kReadings; ++i)
    training.steps.push_back({i, run->performance.step_time_s, (i + 1) * kBeat, 0});
  for (const run::Rank& rank : run->ranks) {
    const int64_t at = job.parallelism.gpu_of(rank.rank), per_node = job.cluster.node.gpus;
    run::Device& gpu = log.devices.emplace_back();
    gpu.rank = rank.rank;
    gpu.index = at % per_node;
    gpu.host = at / per_node == 0 ? "b01" : "a02";
    const auto add = [&](run::Metric metric, double value) {
      run::Series& series = gpu.series.emplace_back();
      series.metric = metric;
      for (int64_t i = 0; i <= 2 * kReadings; ++i) series.samples.push_back({i * kBeat, value});
    };
    add(run::Metric::kPower, rank.mean_power_w * silicon[static_cast<size_t>(at)].sensor_gain);
    const double off_k =
        sensor_k * base::Random(job.conditions.seed, static_cast<uint64_t>(at), "sensor").normal(0);
    add(run::Metric::kGpuTemperature, std::round(rank.mean_gpu_c + off_k));
    add(run::Metric::kSmClock, rank.mean_clock_mhz);
  }
  return log;
}

inline Boards fitted(const run::DeviceLog& log, const spec::Job& job) {
  return base::value_of(fit_boards(log, job, "recorded.run"));
}

/// On hidden boards that differ so much that their sensors, 1 K apart, show it.
inline spec::Job spread(uint64_t seed, double resistance) {
  spec::Job hidden = capped("500W");
  hidden.conditions.seed = seed;
  for (int64_t i = 0; i < hidden.gpus; ++i) {
    const double draw = base::Random(seed, static_cast<uint64_t>(i), "paste").normal(0);
    const auto text = fmt::format("node{}.gpu{}.resistance={:.3f}", i / 8, i % 8,
                                  std::exp(resistance * std::clamp(draw, -2.0, 2.0)));
    with(hidden, text.c_str());
  }
  return hidden;
}

inline bool has_note(const Boards& boards, std::string_view text) {
  return std::ranges::any_of(
      boards.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace ergometer::calibration::twin::test
