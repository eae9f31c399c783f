#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/test_support.h"
#include "record/test_support.h"
#include "run/run.h"

namespace ergometer::record {
namespace {

using run::Metric;
using Clock = std::chrono::steady_clock;

class Replay : public ::testing::Test {
 protected:
  /// Two GPUs of a simulated job, read every ten seconds.
  std::string write_run() {
    run::Run run;
    for (const int64_t rank : {3, 4})
      for (int64_t i = 0; i < 3; ++i) {
        run::Telemetry row;
        row.time_ns = i * 10'000'000'000;
        row.rank = rank;
        row.power_w = 100.0 * static_cast<double>(rank) + static_cast<double>(i);
        row.gpu_c = 60;
        run.telemetry.push_back(row);
      }
    EXPECT_TRUE(run::write_run(run, tree_.path("run.db")));
    return tree_.path("run.db");
  }
  std::unique_ptr<Source> open(const std::string& path, double speed,
                               std::vector<Metric> metrics = {}) {
    SourceOptions options;
    options.replay = path;
    options.replay_speed = speed;
    options.metrics = std::move(metrics);
    auto source = open_replay(options);
    EXPECT_TRUE(source) << base::error_of(source);
    return source ? *std::move(source) : nullptr;
  }
  FakeTree tree_;
};

TEST_F(Replay, ARowARead) {
  const auto source = open(write_run(), 0, {Metric::kInstantPower});
  ASSERT_EQ(source->devices().size(), 2U);
  EXPECT_EQ(source->devices()[1].rank, 4);
  EXPECT_TRUE(source->devices()[1].series.empty());
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(source->finished());
    Batch batch;
    source->read(batch);
    ASSERT_EQ(batch.readings.size(), 2U);
    EXPECT_EQ(batch.readings[0].device, 0U);
    EXPECT_EQ(batch.readings[0].sample.time_ns, i * 10'000'000'000);
    EXPECT_EQ(batch.readings[1].sample.value, 400.0 + static_cast<double>(i));
    EXPECT_EQ(batch.notes.size(), i == 2 ? 1U : 0U);
  }
  EXPECT_TRUE(source->finished());
  Batch nothing;
  source->read(nothing);
  EXPECT_TRUE(nothing.readings.empty());
  EXPECT_TRUE(nothing.notes.empty());
}

TEST_F(Replay, AtItsPace) {
  constexpr double kSpeed = 200;  // 20 recorded seconds in 0.1
  const auto source = open(write_run(), kSpeed, {Metric::kInstantPower});
  const Clock::time_point start = Clock::now();
  Batch batch;
  while (!source->finished() && Clock::now() - start < std::chrono::seconds(30)) {
    source->read(batch);
    // Nothing comes before its time.
    const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
    EXPECT_LE(static_cast<double>(batch.readings.back().sample.time_ns), passed.count() * kSpeed);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(batch.readings.size(), 6U);
  ASSERT_EQ(batch.notes.size(), 1U);
  EXPECT_EQ(batch.notes[0], tree_.path("run.db") + " ends: 6 readings were played back");
}

TEST_F(Replay, WhatCannotBePlayedIsAnInputError) {
  const auto problem = [](const std::string& path, double speed) {
    SourceOptions options;
    options.replay = path;
    options.replay_speed = speed;
    const auto source = open_replay(options);
    EXPECT_FALSE(source);
    EXPECT_TRUE(source || source.error().kind == base::ErrorKind::kInput);
    return source ? "" : source.error().message;
  };
  EXPECT_NE(problem(tree_.path("none"), 1).find("none"), std::string::npos);
  tree_.write("text", "hello\n");
  EXPECT_EQ(problem(tree_.path("text"), 1),
            tree_.path("text") +
                ": a Run with telemetry, or a file of telemetry, is expected to play back");
  EXPECT_NE(problem(write_run(), -1).find("replay speed -1"), std::string::npos);
  ASSERT_TRUE(run::write_run(run::Run{}, tree_.path("bare.db")));
  EXPECT_NE(problem(tree_.path("bare.db"), 1).find("a Run with telemetry"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record
