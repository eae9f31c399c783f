#include "calibration/twin/board_readings.h"

#include <gtest/gtest.h>

#include <string>

#include "calibration/twin/test_boards.h"
#include "engine/simulate.h"
#include "run/run.h"

namespace ergometer::calibration::twin {
namespace {

using test::capped;
using test::fitted;
using test::has_note;
using test::kReadings;
using test::recorded;
using test::with;

TEST(BoardReadings, OtherGpusThanTheJobsAreRefused) {
  spec::Job job = capped("500W");
  run::DeviceLog log = recorded(job);
  log.devices[3].index = 11;
  const auto refused = fit_boards(log, job, "other.run");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "other.run: found GPU 11 of b01; allowed: 0 to 7, which the job has");
  EXPECT_FALSE(fit_boards({}, job, "none.run").has_value());
}

TEST(BoardReadings, AGpuThatBecomesWarmerIsSeen) {
  const spec::Job job = capped("500W");
  run::DeviceLog log = recorded(job);
  for (run::Series& series : log.devices[5].series)
    if (series.metric == run::Metric::kGpuTemperature)
      for (size_t i = kReadings; i < series.samples.size(); ++i) series.samples[i].value += 8;
  const Boards boards = fitted(log, job);
  EXPECT_NEAR(*boards.boards[5].read.warmer_k, 8, 2.5) << "one reading lies in both halves";
  EXPECT_NEAR(*boards.boards[4].read.warmer_k, 0, 0.1);
}

TEST(BoardReadings, NamedHostsSayWhichNodeIsWhich) {
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

TEST(BoardReadings, ANominalRunOfAnyLengthHasNoneThatIsUnlike) {
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
    EXPECT_FALSE(boards.leakage_spread.told || boards.resistance_spread.told) << duration << " s";
    EXPECT_TRUE(job.conditions.duration_s > 0 || boards.boards.front().read.die_c > 0);
  }
}

TEST(BoardReadings, FilesThatNameNoHostNameNone) {
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

TEST(BoardReadings, AHostNamedNode1IsTheJobsNode1) {
  run::DeviceLog log = recorded(capped("500W"));
  std::erase_if(log.devices, [](const run::Device& it) { return it.host == "b01"; });
  for (run::Device& device : log.devices) device.host = "node1";
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_EQ(boards.hosts, (std::vector<std::string>{"node0", "node1"}));
  EXPECT_EQ(boards.boards.front().read.node, 1);
  EXPECT_TRUE(has_note(boards, "which host is which node"));
  EXPECT_FALSE(boards.inlets[0].told);
}

TEST(BoardReadings, AGpuBelowItsLowestClockRunsNothing) {
  run::DeviceLog log = recorded(capped("500W"));
  for (run::Sample& sample : log.devices[1].series[2].samples) sample.value = 20;
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_EQ(boards.boards.size(), 15U);
  EXPECT_TRUE(has_note(boards, "anything of 1 GPU: below"));
}

/// So many readings of every GPU, and no log of steps.
run::DeviceLog with_readings(size_t count) {
  run::DeviceLog log = recorded(capped("500W"));
  log.training.clear();
  for (run::Device& device : log.devices)
    for (run::Series& series : device.series) series.samples.resize(count);
  return log;
}

TEST(BoardReadings, AFewReadingsOfASteadyJobAreNotHalved) {
  const auto read = board_readings(with_readings(13), capped("500W"), "short.run");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->gpus.size(), 16U);
  for (const BoardReading& gpu : read->gpus) EXPECT_GT(gpu.die_c, 0);
  run::DeviceLog warming = with_readings(13);
  for (run::Device& device : warming.devices)
    for (run::Series& series : device.series)
      if (series.metric == run::Metric::kGpuTemperature)
        for (size_t i = 0; i < 13; ++i) series.samples[i].value += static_cast<double>(i);
  const auto rising = board_readings(warming, capped("500W"), "short.run");
  EXPECT_GT(rising->gpus.front().power_w, 0) << "its half would have seven";
  EXPECT_EQ(rising->gpus.front().die_c, 0);
}

TEST(BoardReadings, TooFewReadingsSayHowManyThereAre) {
  const Boards boards = fitted(with_readings(5), capped("500W"));
  EXPECT_TRUE(
      has_note(boards, "power of 16 GPUs: read 5 times; a mean takes 8: record for longer"));
  EXPECT_FALSE(has_note(boards, "not recorded"));
}

}  // namespace
}  // namespace ergometer::calibration::twin
