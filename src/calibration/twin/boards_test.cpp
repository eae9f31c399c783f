#include "calibration/twin/boards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/random.h"
#include "calibration/twin/boards_output.h"
#include "calibration/twin/twin.h"
#include "calibration/twin/twin_output.h"
#include "engine/simulate.h"
#include "physics/silicon.h"
#include "run/run.h"
#include "spec/catalog/read.h"
#include "spec/job/overrides.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::calibration::twin {
namespace {

using spec::test::job_of;

constexpr int64_t kReadings = 8, kBeat = 1'000'000'000;

spec::Job capped(const std::string& cap) {
  return job_of({{"model", "llama3-8b"},
                 {"num_layers", "8"},
                 {"cluster", "charllm-h200"},
                 {"gpus", "16"},
                 {"tp", "4"},
                 {"gbs", "16"},
                 {"seq_length", "4096"},
                 {"power_cap", cap}});
}

void with(spec::Job& job, const char* override_text) {
  job.conditions.overrides.push_back(*spec::parse_override(override_text));
}

/// What recorders of its nodes would read: power off by its sensor's gain, dies by 1 K from board
/// to board, whole degrees.
run::DeviceLog recorded(const spec::Job& job, double sensor_k = 0) {
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

Boards fitted(const run::DeviceLog& log, const spec::Job& job) {
  auto boards = fit_boards(log, job, "recorded.run");
  EXPECT_TRUE(boards.has_value()) << (boards ? "" : boards.error().message);
  return boards ? *std::move(boards) : Boards{};
}

TEST(Boards, AHotNodeAndBadPasteAreFoundByHostAndIndex) {
  spec::Job hidden = capped("500W");
  hidden.conditions.seed = 7;
  with(hidden, "node1.inlet=40C");
  with(hidden, "node1.gpu6.resistance=3");
  const Boards boards = fitted(recorded(hidden), capped("500W"));
  ASSERT_EQ(boards.boards.size(), 16U);
  EXPECT_EQ(boards.hosts, (std::vector<std::string>{"b01", "a02"}));
  for (const Board& board : boards.boards)
    EXPECT_EQ(board.unlike, board.read.node == 1 && board.read.gpu == 6)
        << board.read.host << ' ' << board.read.gpu << " resistance " << board.resistance.value
        << " +- " << board.resistance.error << ", leakage " << board.leakage.value << " +- "
        << board.leakage.error;
  EXPECT_NEAR(boards.inlets[1].inlet_c, 40, 2 * boards.inlets[1].error_k);
  EXPECT_TRUE(boards.inlets[1].unlike);
}

TEST(Boards, ErrorsOfResistanceAreWhatTheyAreOff) {
  int within = 0, all = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    spec::Job hidden = capped("500W");
    hidden.conditions.seed = seed;
    const auto silicon = physics::draw_silicon(seed, hidden.gpus);
    const Boards boards = fitted(recorded(hidden), capped("500W"));
    for (const Board& board : boards.boards) {
      const auto at = static_cast<size_t>(8 * board.read.node + board.read.gpu);
      const double off = std::log(board.resistance.value / silicon[at].thermal_resistance);
      within += std::abs(off) < 2 * board.resistance.error;
      ++all;
    }
  }
  EXPECT_GE(within, all * 9 / 10) << within << " of " << all;
}

TEST(Boards, ThePlayedJobHasTheClocksThatWereRead) {
  spec::Job hidden = capped("400W");
  hidden.conditions.seed = 3;
  with(hidden, "node0.gpu2.leakage=5");
  const run::DeviceLog log = recorded(hidden);
  const Boards boards = fitted(log, capped("400W"));
  const auto run = engine::simulate(on_boards(capped("400W"), boards),
                                    {.kernels = false, .all_ranks = true, .intervals = false});
  ASSERT_TRUE(run.has_value());
  double before = 0, after = 0;
  for (size_t i = 0; i < boards.boards.size(); ++i) {
    const Board& board = boards.boards[i];
    before = std::max(before, std::abs(board.predicted_mhz / board.read.clock_mhz - 1));
    after = std::max(after, std::abs(run->ranks[i].mean_clock_mhz / board.read.clock_mhz - 1));
  }
  EXPECT_GT(before, 0.03);
  EXPECT_LT(after, 0.01);
}

TEST(Boards, AClockThatNothingExplainsIsItsSpeed) {
  spec::Job hidden = capped("700W");
  with(hidden, "node0.gpu1.speed=0.8");
  const Boards boards = fitted(recorded(hidden), capped("700W"));
  EXPECT_NEAR(boards.boards[1].speed, 0.8, 0.02);
  EXPECT_TRUE(boards.boards[1].unlike);
  EXPECT_EQ(boards.boards[2].speed, 1);
}

TEST(Boards, OtherGpusThanTheJobsAreRefused) {
  spec::Job job = capped("500W");
  run::DeviceLog log = recorded(job);
  log.devices[3].index = 11;
  const auto refused = fit_boards(log, job, "other.run");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "other.run: found GPU 11 of b01; allowed: 0 to 7, which the job has");
  EXPECT_FALSE(fit_boards({}, job, "none.run").has_value());
}

/// On hidden boards that differ so much that their sensors, 1 K apart, show it.
spec::Job spread(uint64_t seed, double resistance) {
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

TEST(Boards, ASpreadThatIsToldIsWithinItsError) {
  constexpr double kHidden = 0.5;
  int told = 0, within = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const BoardValue found =
        fitted(recorded(spread(seed, kHidden), 1), capped("500W")).resistance_spread;
    told += found.told;
    within += found.told && std::abs(std::log(found.value / kHidden)) < 2 * found.error;
  }
  EXPECT_GE(told, 3) << "of 16 boards each, whose sensors differ by nearly as much";
  EXPECT_GE(within, told - 1);
}

TEST(Boards, TheTwinsFileHasTheSpread) {
  const spec::Job hidden = spread(2, 0.5);
  const run::DeviceLog log = recorded(hidden);
  const auto recording = recording_of({}, log, "recorded.run");
  ASSERT_TRUE(recording.has_value());
  const auto twin = fit_twin(*recording, capped("500W"), 1, log);
  ASSERT_TRUE(twin.has_value()) << twin.error().message;
  ASSERT_TRUE(twin->boards.has_value()) << twin->no_boards;
  const auto read =
      spec::parse_cluster(cluster_file(*twin, "charllm-h200", "recorded.run"), "c.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_NEAR(physics::silicon_spread(read->node.gpu).thermal_resistance,
              twin->boards->resistance_spread.value, 1e-4);
  EXPECT_GT(twin->boards->resistance_spread.value, 0.3);
}

TEST(Boards, AGpuThatBecomesWarmerIsSeen) {
  const spec::Job job = capped("500W");
  run::DeviceLog log = recorded(job);
  for (run::Series& series : log.devices[5].series)
    if (series.metric == run::Metric::kGpuTemperature)
      for (size_t i = kReadings; i < series.samples.size(); ++i) series.samples[i].value += 8;
  const Boards boards = fitted(log, job);
  EXPECT_NEAR(*boards.boards[5].read.warmer_k, 8, 2.5) << "one reading lies in both halves";
  EXPECT_NEAR(*boards.boards[4].read.warmer_k, 0, 0.1);
}

TEST(Boards, NamedHostsSayWhichNodeIsWhich) {
  spec::Job hidden = capped("500W");
  with(hidden, "node1.inlet=40C");
  const auto boards = fit_boards(recorded(hidden), capped("500W"), "recorded.run", {"a02", "b01"});
  ASSERT_TRUE(boards.has_value());
  EXPECT_TRUE(boards->inlets[0].unlike) << "a02, which the job calls its first node here";
  EXPECT_FALSE(boards->inlets[1].unlike);
  const auto refused = fit_boards(recorded(hidden), capped("500W"), "recorded.run", {"a02", "c03"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "recorded.run: found GPUs of b01; allowed: of a02, c03, which --hosts names");
}

bool has_note(const Boards& boards, std::string_view text) {
  return std::ranges::any_of(
      boards.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(Boards, ANominalRunOfAnyLengthHasNoneThatIsUnlike) {
  for (const char* duration : {"0", "2", "10", "30", "60", "120"}) {
    spec::Job job = capped("500W");
    job.conditions.duration_s = std::stod(duration);
    engine::SimulateOptions options{.kernels = false};
    for (int64_t rank = 0; rank < job.gpus; ++rank) options.telemetry_ranks.push_back(rank);
    const auto run = engine::simulate(job, options);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    const Boards boards = fitted(run::device_log(*run), job);
    for (const Board& board : boards.boards) EXPECT_FALSE(board.unlike) << duration << " s";
    for (const NodeInlet& inlet : boards.inlets)
      EXPECT_FALSE(inlet.unlike) << duration << " s: " << inlet.inlet_c;
    EXPECT_TRUE(job.conditions.duration_s > 0 || has_note(boards, "fewer than 8 times"));
  }
}

TEST(Boards, FilesThatNameNoHostNameNone) {
  run::DeviceLog log = recorded(capped("500W"));
  for (run::Device& device : log.devices)
    device.host = device.file = device.host == "b01" ? "both/h0.csv" : "both/h1.csv";
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_EQ(boards.hosts, (std::vector<std::string>{"node0", "node1"}));
  EXPECT_EQ(boards.boards.back().read.host, "node1");
  EXPECT_TRUE(has_note(boards, "node1 (both/h1.csv)"));
  const auto named = fit_boards(log, capped("500W"), "both", {"a02", "b01"});
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->boards.back().read.host, "b01");
}

TEST(Boards, AHostNamedNode1IsTheJobsNode1) {
  run::DeviceLog log = recorded(capped("500W"));
  std::erase_if(log.devices, [](const run::Device& it) { return it.host == "b01"; });
  for (run::Device& device : log.devices) device.host = "node1";
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_EQ(boards.hosts, (std::vector<std::string>{"node0", "node1"}));
  EXPECT_EQ(boards.boards.front().read.node, 1);
  EXPECT_TRUE(has_note(boards, "which host is which node"));
  EXPECT_FALSE(boards.inlets[0].told);
}

TEST(Boards, WhatTheJobSaysOfThemGivesWay) {
  spec::Job hidden = capped("500W");
  with(hidden, "node1.inlet=40C");
  with(hidden, "node1.gpu6.resistance=3");
  with(hidden, "gpu2.power_cap=400W");
  run::DeviceLog log = recorded(hidden);
  for (run::Device& device : log.devices) {
    run::Series limit{.metric = run::Metric::kPowerLimit, .samples = {}};
    for (int64_t i = 0; i <= 2 * kReadings; ++i)
      limit.samples.push_back({i * kBeat, device.index == 2 ? 400.0 : 500.0});
    device.series.push_back(std::move(limit));
  }
  const Boards said = fitted(log, hidden);
  for (const Board& board : said.boards) EXPECT_EQ(board.cap_w, 0);
  EXPECT_NEAR(std::log(said.boards[14].resistance.value / 3), 0, 0.2);
  double factor = 1;
  for (const spec::Override& one : on_boards(hidden, said).conditions.overrides)
    if (one.kind == spec::OverrideKind::kResistance && one.node == 1 && one.gpu == 6)
      factor *= one.value;
  EXPECT_NEAR(factor, said.boards[14].resistance.value, 0.01);
}

TEST(Boards, WhereTwoWereRecordedTheOthersDifferAsTheirKindDoes) {
  run::DeviceLog log = recorded(spread(2, 0.5));
  std::erase_if(log.devices, [](const run::Device& it) { return it.index > 1; });
  const spec::Job job = capped("500W");
  const Boards boards = fitted(log, job);
  EXPECT_EQ(physics::silicon_spread(on_boards(job, boards).cluster.node.gpu).thermal_resistance,
            physics::silicon_spread(job.cluster.node.gpu).thermal_resistance);
  for (const NodeInlet& inlet : boards.inlets) {
    EXPECT_FALSE(inlet.told);
    EXPECT_EQ(inlet.inlet_c, inlet.predicted_c);
  }
  EXPECT_TRUE(has_note(boards, "inlet of b01, a02: takes a sensor of it"));
}

TEST(Boards, AGpuBelowItsLowestClockRunsNothing) {
  run::DeviceLog log = recorded(capped("500W"));
  for (run::Sample& sample : log.devices[1].series[2].samples) sample.value = 20;
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_EQ(boards.boards.size(), 15U);
  EXPECT_TRUE(has_note(boards, "anything of 1 GPU: below"));
}

TEST(Boards, SensorsThatWereNotReadAreNotBlamed) {
  run::DeviceLog log = recorded(capped("500W"));
  for (run::Device& device : log.devices)
    std::erase_if(device.series,
                  [](const run::Series& it) { return it.metric == run::Metric::kPower; });
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_FALSE(has_note(boards, "gains of power sensors"));
  EXPECT_TRUE(has_note(boards, "no power was read"));
}

TEST(Boards, LinesFitATerminal) {
  spec::Job hidden = capped("500W");
  with(hidden, "node1.gpu6.resistance=3");
  std::istringstream text(to_text(fitted(recorded(hidden), capped("500W")), "recorded.run"));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Boards, TheTwinSaysWhyTheyAreNotTold) {
  run::DeviceLog log = recorded(capped("500W"));
  const auto recording = recording_of({}, log, "recorded.run");
  log.devices[3].index = 11;
  const auto twin = fit_twin(*recording, capped("500W"), 1, log);
  ASSERT_TRUE(twin.has_value());
  EXPECT_NE(twin->no_boards.find("found GPU 11 of b01"), std::string::npos) << twin->no_boards;
}

}  // namespace
}  // namespace ergometer::calibration::twin
