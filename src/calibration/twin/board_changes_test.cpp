#include "calibration/twin/board_changes.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/trace/test_traces.h"
#include "calibration/twin/board_history.h"

namespace ergometer::calibration::twin {
namespace {

using analysis::kSecond;

constexpr int64_t kPersist = 120 * kSecond;

/// Two nodes of two GPUs that are read once a second, and looked at every 5 s.
class WatchedBoards : public testing::Test {
 protected:
  struct Gpu {
    double watts = 500, celsius = 60, megahertz = 1700, limit = 700, reasons = 0;
  };

  WatchedBoards() {
    for (const char* host : {"a", "b"})
      for (int64_t index : {0, 1}) add_gpu(host, index);
    run::Device node;
    node.kind = run::DeviceKind::kNode;
    node.host = "b";
    devices_.push_back(node);
    gpus_.resize(devices_.size());
  }

  void add_gpu(const char* host, int64_t index) {
    run::Device device;
    device.host = host;
    device.index = index;
    devices_.push_back(device);
    gpus_.resize(devices_.size());
  }

  void read(size_t device, run::Metric metric, double value) {
    cells_.push_back({now_s_ * kSecond, device, metric, value});
  }

  /// Plays until a second; the changes that were told last.
  std::vector<BoardChange> play(int64_t until_s) {
    std::vector<BoardChange> told;
    for (; now_s_ < until_s; ++now_s_) {
      for (size_t i = 0; i < devices_.size(); ++i) {
        if (gone_.count(i) > 0) continue;
        if (devices_[i].kind == run::DeviceKind::kNode) {
          read(i, run::Metric::kInletTemperature, inlet_);
          continue;
        }
        read(i, run::Metric::kPower, gpus_[i].watts);
        read(i, run::Metric::kGpuTemperature, gpus_[i].celsius);
        read(i, run::Metric::kSmClock, gpus_[i].megahertz);
        read(i, run::Metric::kPowerLimit, gpus_[i].limit);
        read(i, run::Metric::kEventReasons, gpus_[i].reasons);
      }
      history_.add(devices_, cells_);
      cells_.clear();
      if (now_s_ % 5 != 4 || !planned_) continue;
      if (auto changes = changes_.look(history_, (now_s_ + 1) * kSecond); !changes.empty())
        told = changes;
    }
    return told;
  }

  void plan() {
    changes_.plan_made(history_, 0, now_s_ * kSecond);
    planned_ = true;
  }

  std::vector<run::Device> devices_;
  std::vector<Gpu> gpus_;
  std::set<size_t> gone_;
  double inlet_ = 25;
  std::vector<run::ReadingCell> cells_;
  BoardHistory history_{600 * kSecond};
  BoardChanges changes_{kPersist};
  int64_t now_s_ = 0;
  bool planned_ = false;
};

TEST_F(WatchedBoards, ThatStayAsTheyAreTellNothing) {
  play(120);
  plan();
  EXPECT_TRUE(play(4000).empty());
}

TEST_F(WatchedBoards, AHotterBoardIsNamedWhenItStaysSo) {
  play(120);
  plan();
  gpus_[2].celsius = 72.5;
  EXPECT_TRUE(play(240).empty());
  const auto changes = play(270);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].text(), "b gpu 0: 12.5 K hotter, 60.0 -> 72.5 C");
  EXPECT_EQ(changes[0].host, "b");
  EXPECT_EQ(changes[0].gpu, 0);
  // A minute's mean is 3 K off a quarter of a minute after.
  EXPECT_NEAR(static_cast<double>(changes[0].since_ns / kSecond), 125, 15);
}

TEST_F(WatchedBoards, WhatPassesIsNone) {
  play(120);
  plan();
  gpus_[2].celsius = 72.5;
  gpus_[1].megahertz = 1500;
  EXPECT_TRUE(play(200).empty());
  gpus_[2].celsius = 60;
  gpus_[1].megahertz = 1700;
  EXPECT_TRUE(play(900).empty());
}

TEST_F(WatchedBoards, ClocksThrottlingLimitsAndAir) {
  play(120);
  plan();
  gpus_[0].megahertz = 1600;
  gpus_[1].reasons = 0x40;
  gpus_[3].limit = 433;
  inlet_ = 33;
  const auto changes = play(330);
  ASSERT_EQ(changes.size(), 4U);
  EXPECT_EQ(changes[0].text(), "a gpu 0: clock -5.9 %, 1700 -> 1600 MHz");
  EXPECT_EQ(changes[1].text(), "a gpu 1: held back 100 % of the time, 0 % before");
  EXPECT_EQ(changes[2].text(), "b: air 8.0 K warmer, 25.0 -> 33.0 C");
  EXPECT_EQ(changes[3].text(), "b gpu 1: power limit 700 -> 433 W");
}

TEST_F(WatchedBoards, AJobThatRestsDoesNotMakeAChangeOlder) {
  play(120);
  plan();
  gpus_[2].celsius = 72.5;
  play(200);
  for (Gpu& gpu : gpus_) gpu = {90, 35, 345, 700, 1};
  EXPECT_TRUE(play(500).empty());
  EXPECT_EQ(changes_.rests().size(), 60U);
  for (Gpu& gpu : gpus_) gpu = {};
  gpus_[2].celsius = 72.5;
  EXPECT_TRUE(play(520).empty());
}

TEST_F(WatchedBoards, ABoardInAnothersPlace) {
  play(120);
  plan();
  gone_ = {1};
  add_gpu("a", 1);
  const auto changes = play(330);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].text(), "a gpu 1: another board than the plan was made for");
  const run::DeviceLog log = history_.log(130 * kSecond, 330 * kSecond, {});
  EXPECT_EQ(log.devices.size(), 5U);  // four GPUs and the node
}

TEST(BoardHistory, TakesNoMoreForWeeks) {
  BoardHistory history(600 * kSecond);
  run::Device gpu;
  for (int64_t s = 0; s < 100'000; s += 7)
    history.add({gpu}, {{s * kSecond, 0, run::Metric::kPower, 500}});
  const run::DeviceLog log = history.log(0, INT64_MAX, {});
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_LE(log.devices[0].series.at(0).samples.size(), 122U);
}

TEST(BoardHistory, MeansOfTheBestWay) {
  BoardHistory history(600 * kSecond);
  run::Device gpu;
  using run::Metric;
  history.add({gpu}, {{kSecond, 0, Metric::kAveragePower, 500},
                      {kSecond, 0, Metric::kInstantPower, 900},
                      {2 * kSecond, 0, Metric::kAveragePower, 520}});
  EXPECT_EQ(history.mean(0, BoardHistory::kWatts, 0, 5 * kSecond), 510);
  EXPECT_EQ(history.mean(0, BoardHistory::kWatts, 0, 4 * kSecond), std::nullopt);
}

}  // namespace
}  // namespace ergometer::calibration::twin
