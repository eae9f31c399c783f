#include "serve/job_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "serve/test_pushes.h"
#include "watch/rules.h"

namespace ergometer::serve {
namespace {

using run::Metric;
constexpr int64_t kSecond = 1'000'000'000;

class JobStateTest : public testing::Test {
 protected:
  JobStateTest() : run_(*JobRun::open(fresh(path_), "job")), state_(run_) {}
  ~JobStateTest() override { std::remove(path_.c_str()); }

  static const std::string& fresh(const std::string& path) {
    std::remove(path.c_str());
    return path;
  }
  void hear(const Push& push, int64_t now_ns) {
    std::vector<size_t> numbers;
    for (const run::Device& device : push.devices) numbers.push_back(run_.device(device));
    state_.hear(push, numbers, now_ns);
  }
  std::vector<std::string> where(const std::string& kind, int64_t now_ns) {
    for (const watch::FindingNow& finding : state_.look(now_ns).findings) {
      // Every kind may stand in a rule.
      EXPECT_TRUE(watch::parse_rules("rules: [{name: a, finding: " + finding.kind + "}]", "rules"));
      if (finding.kind == kind) return finding.where;
    }
    return {};
  }
  /// A node at work, its GPUs at these clocks.
  static Push working(const std::string& host, const std::vector<double>& clocks_mhz) {
    Push push = test_push(host, 1, static_cast<int64_t>(clocks_mhz.size()));
    for (size_t i = 0; i < clocks_mhz.size(); ++i) {
      push.batches[0].readings.push_back({i, Metric::kSmClock, {1, clocks_mhz[i]}});
      push.batches[0].readings.push_back({i, Metric::kGpuUtilization, {1, 90}});
    }
    return push;
  }

  std::string path_ = testing::TempDir() + std::to_string(getpid()) + "-job-state.run";
  JobRun run_;
  JobState state_;
};

TEST_F(JobStateTest, SilentNodesComeBack) {
  hear(test_push("a", 1), kSecond);
  hear(test_push("b", 1), 2 * kSecond);
  EXPECT_TRUE(where("silent", 6 * kSecond).empty());
  EXPECT_EQ(where("silent", 7 * kSecond - 1), std::vector<std::string>{"a"});
  hear(test_push("a", 2), 7 * kSecond);
  EXPECT_EQ(where("silent", 8 * kSecond), std::vector<std::string>{"b"});
  Push last = test_push("b", 2);
  last.batches[0].end = true;
  hear(last, 9 * kSecond);
  EXPECT_TRUE(where("silent", 12 * kSecond).empty());  // it ended, and a is heard until then
}

TEST_F(JobStateTest, AJobIsLiveWhileANodeIs) {
  EXPECT_FALSE(state_.live(kSecond));
  hear(test_push("a", 1), kSecond);
  hear(test_push("b", 1), kSecond);
  EXPECT_TRUE(state_.live(6 * kSecond));
  EXPECT_FALSE(state_.live(7 * kSecond));  // silent
  Push last = test_push("a", 2);
  last.batches[0].end = true;
  hear(last, 8 * kSecond);
  EXPECT_FALSE(state_.live(8 * kSecond));  // though just heard
  hear(test_push("b", 2), 8 * kSecond);
  EXPECT_TRUE(state_.live(8 * kSecond));
}

/// One recorder that plays back two nodes: both are heard, and counted as nodes.
TEST_F(JobStateTest, NodesThatAnotherRecorderTellsOf) {
  Push push = test_push("a", 1, 2);
  push.devices[1].host = "b";
  push.devices[1].index = 0;
  hear(push, kSecond);
  EXPECT_EQ(state_.total(2 * kSecond).nodes, 2);
  EXPECT_EQ(state_.total(2 * kSecond).gpus, 2);
  EXPECT_EQ(where("silent", 7 * kSecond), (std::vector<std::string>{"a", "b"}));
  push.batches[0].sequence = 2;
  push.batches[0].end = true;
  hear(push, 8 * kSecond);
  EXPECT_TRUE(where("silent", 20 * kSecond).empty());
}

/// Two that tell of the same steps, in turns: each step comes once, and is shown throughout.
TEST_F(JobStateTest, RecordersOfOneNodeKeepTheirNumbers) {
  Push one = test_push("a", 1), other = test_push("a", 100);
  other.recorder = "other";
  const auto told = [&](Push& push, int64_t number, int64_t now_ns) {
    push.batches[0].steps.assign(1, {});
    push.batches[0].steps[0].number = number;
    push.batches[0].steps[0].seconds = 0.5;
    push.batches[0].steps[0].end_ns = now_ns;
    hear(push, now_ns);
    ++push.batches[0].sequence;
  };
  other.batches[0].first = 1;
  told(one, 7, kSecond);
  told(other, 7, kSecond);
  state_.look(kSecond);
  for (int64_t second = 2; second < 5; ++second) {
    told(one, 6 + second, second * kSecond);
    told(other, 6 + second, second * kSecond);
    EXPECT_NE(state_.stepping(second * kSecond), nullptr);
    const auto steps = state_.look(second * kSecond).steps;
    ASSERT_EQ(steps.size(), 1U) << second;
    EXPECT_EQ(steps[0].number, 6 + second);
    EXPECT_EQ(state_.nodes().at(0).lost, 0);
  }
}

/// One GPU of 400 W, and the board that is put in its place, of another maker and 300 W.
TEST_F(JobStateTest, ABoardTakesThePlaceOfTheOneItWasExchangedFor) {
  const auto of_board = [](int64_t sequence, const char* name, const char* uuid, double watts) {
    Push push = test_push("a", sequence);
    push.devices[0].name = name;
    push.devices[0].uuid = uuid;
    push.batches[0].readings.push_back({0, Metric::kPower, {1, watts}});
    return push;
  };
  hear(of_board(1, "H100", "GPU-a", 400), kSecond);
  hear(of_board(2, "MI300X", "f00d", 300), 60 * kSecond);
  const watch::JobNow now = state_.look(60 * kSecond);
  ASSERT_EQ(now.devices.size(), 1U);
  EXPECT_EQ(now.devices[0].name, "MI300X");
  EXPECT_EQ(now.devices[0].uuid, "f00d");
  EXPECT_EQ(state_.total(60 * kSecond).power_w, 300);
  EXPECT_EQ(state_.gpus(), 1);
  hear(of_board(3, "H100", "GPU-a", 410), 120 * kSecond);  // it is put back
  EXPECT_EQ(state_.look(120 * kSecond).devices[0].name, "H100");
  EXPECT_EQ(state_.total(120 * kSecond).power_w, 410);
}

/// What was read of a board before it was taken out is not read of it when it is put back.
TEST_F(JobStateTest, ABoardThatIsPutBackBeginsAnew) {
  const auto of_board = [](int64_t sequence, const char* uuid, Metric metric) {
    Push push = test_push("a", sequence);
    push.devices[0].uuid = uuid;
    push.batches[0].readings.push_back({0, metric, {1, 70}});
    return push;
  };
  hear(of_board(1, "GPU-a", Metric::kGpuTemperature), kSecond);
  hear(of_board(2, "GPU-b", Metric::kPower), 60 * kSecond);
  hear(of_board(3, "GPU-a", Metric::kPower), 120 * kSecond);
  const watch::JobNow now = state_.look(120 * kSecond);
  ASSERT_EQ(now.devices.size(), 1U);
  EXPECT_EQ(now.devices[0].power_w(), 70);
  EXPECT_EQ(now.devices[0].of(Metric::kGpuTemperature), std::nullopt);
}

/// What one push tells of stands beside each other: ports of two sources that both number theirs
/// from 0, and boards of one number.
TEST_F(JobStateTest, WhatOnePushTellsOfIsNotExchanged) {
  Push push = test_push("a", 1, 4);
  for (const size_t port : {size_t{0}, size_t{1}}) {
    push.devices[port].kind = run::DeviceKind::kPort;
    push.devices[port].index = 0;
    push.devices[port].name = port == 0 ? "mlx5_0/1" : "eno2";
  }
  push.devices[2].uuid = "GPU-a";
  push.devices[3].uuid = "GPU-b";
  push.devices[3].index = push.devices[2].index;
  hear(push, kSecond);
  EXPECT_EQ(state_.look(kSecond).devices.size(), 4U);
  hear(push, 60 * kSecond);
  EXPECT_EQ(state_.look(60 * kSecond).devices.size(), 4U);
  EXPECT_EQ(JobState(run_).nodes().at(0).devices.size(), 3U);  // of the boards the later one
}

/// Two containers on one host, each with a GPU that it calls 0.
TEST_F(JobStateTest, BoardsOfContainersStandBesideEachOther) {
  for (int64_t second = 1; second < 4; ++second)
    for (const char* container : {"one", "other"}) {
      Push push = test_push("a", second);
      push.recorder = container;
      push.devices[0].uuid = container;
      push.batches[0].readings.push_back({0, Metric::kPower, {second, 500}});
      hear(push, second * kSecond);
    }
  EXPECT_EQ(state_.total(3 * kSecond).power_w, 1000);
  EXPECT_EQ(state_.gpus(), 2);
}

/// A GPU that fell off the bus of a node that goes on telling of the other.
TEST_F(JobStateTest, ADeviceThatTellsNothingHasNoReadings) {
  hear(working("a", {1700, 1600}), kSecond);
  for (int64_t second = 2; second <= 92; ++second) {
    Push push = working("a", {1700, 1600});
    push.batches[0].sequence = second;
    push.batches[0].readings.resize(2);  // the first GPU's
    hear(push, second * kSecond);
    const watch::JobNow now = state_.look(second * kSecond);
    ASSERT_EQ(now.devices.size(), 2U);
    EXPECT_EQ(now.devices[0].of(Metric::kSmClock), 1700);
    EXPECT_EQ(now.devices[1].of(Metric::kSmClock).has_value(), second <= 91) << second;
  }
}

/// From step 1000 back to 900 under the same recorders; the second node says so a step later.
TEST_F(JobStateTest, StepsGoOnFromACheckpoint) {
  Push one = test_push("a", 1), other = test_push("b", 1);
  const auto told = [&](Push& push, int64_t number) {
    push.batches[0].steps.assign(1, {number, 0.5, 0, 0});
    hear(push, kSecond);
    ++push.batches[0].sequence;
    std::vector<int64_t> numbers;
    for (const run::TrainingStep& step : state_.look(kSecond).steps) numbers.push_back(step.number);
    return numbers;
  };
  using Numbers = std::vector<int64_t>;
  for (Push* push : {&one, &other}) {
    hear(*push, kSecond);
    ++push->batches[0].sequence;
  }
  EXPECT_EQ(told(one, 1000), Numbers{1000});
  EXPECT_EQ(told(other, 1000), Numbers{});
  EXPECT_EQ(told(one, 900), Numbers{900});
  EXPECT_EQ(told(one, 901), Numbers{901});
  EXPECT_EQ(told(other, 900), Numbers{});
  EXPECT_EQ(told(other, 901), Numbers{});
  EXPECT_EQ(told(other, 902), Numbers{902});
}

TEST_F(JobStateTest, AFindingKeepsItsBeginning) {
  hear(test_push("a", 1), kSecond);
  EXPECT_EQ(state_.look(10 * kSecond).findings.at(0).since_ns, 10 * kSecond);
  EXPECT_EQ(state_.look(20 * kSecond).findings.at(0).since_ns, 10 * kSecond);
}

TEST_F(JobStateTest, ClocksThatJump) {
  Push push = test_push("a", 1);
  push.batches[0].clock = {100 * kSecond, kSecond, 0};
  hear(push, kSecond);
  push = test_push("a", 2);
  push.batches[0].clock = {101 * kSecond + kSecond / 10, 2 * kSecond, 0};  // steered
  hear(push, 2 * kSecond);
  EXPECT_TRUE(where("clock_jump", 2 * kSecond).empty());
  push = test_push("a", 3);
  push.batches[0].clock = {62 * kSecond, 3 * kSecond, 0};
  hear(push, 3 * kSecond);
  EXPECT_EQ(where("clock_jump", 3 * kSecond), std::vector<std::string>{"a"});
  // One second passed, and the clock went back by 39.1.
  EXPECT_NEAR(state_.nodes()[0].jump_s, -40.1, 1e-9);
}

TEST_F(JobStateTest, SlowerThanItsPeers) {
  hear(working("a", {1980, 1980, 1880}), kSecond);  // 1881 is 95 % of the median
  hear(working("b", {1980, 1881, 1980}), kSecond);
  EXPECT_EQ(where("slower", kSecond), std::vector<std::string>{"a gpu 2"});
}

TEST_F(JobStateTest, CountersOfErrorsThatGrow) {
  for (int64_t i = 1; i <= 3; ++i) {
    Push push = test_push("a", i, 2);
    // The first GPU had four errors before anybody looked, and gets a fifth; the other none.
    push.batches[0].readings = {{0, Metric::kEccUncorrected, {i, i < 3 ? 4.0 : 5.0}},
                                {1, Metric::kEccUncorrected, {i, 7}},
                                {1, Metric::kTemperatureMargin, {i, 2}}};
    hear(push, i * kSecond);
    EXPECT_EQ(where("errors", i * kSecond).empty(), i < 3);
  }
  EXPECT_EQ(where("errors", 4 * kSecond), std::vector<std::string>{"a gpu 0 (ecc_uncorrected)"});
  EXPECT_TRUE(where("errors", 700 * kSecond).empty());
  EXPECT_EQ(where("near_limit", 4 * kSecond), std::vector<std::string>{"a gpu 1"});
}

TEST_F(JobStateTest, RatesOfPorts) {
  for (int64_t i = 1; i <= 2; ++i) {
    Push push = test_push("a", i);
    push.devices[0].kind = run::DeviceKind::kPort;
    push.batches[0].readings.push_back(
        {0, Metric::kNetSent, {i * 2 * kSecond, static_cast<double>(i) * 500}});
    hear(push, i * kSecond);
  }
  EXPECT_DOUBLE_EQ(state_.devices()[0].sent_rate, 250);
}

/// For a minute, or as long as three such steps take; by nodes that are heard.
TEST_F(JobStateTest, TheStepThatIsNews) {
  EXPECT_EQ(state_.stepping(kSecond), nullptr);
  for (const auto& [host, number] : {std::pair("a", 8), {"b", 7}}) {
    Push push = test_push(host, 1);
    push.batches[0].steps.push_back({number, 30, 0, 0});
    hear(push, kSecond);
  }
  ASSERT_NE(state_.stepping(kSecond), nullptr);
  EXPECT_EQ(state_.stepping(kSecond)->name, "a");
  EXPECT_EQ(state_.total(kSecond).step_s, 30);
  EXPECT_EQ(state_.stepping(20 * kSecond), nullptr);  // silent
  hear(test_push("a", 2), 90 * kSecond);
  EXPECT_NE(state_.stepping(90 * kSecond), nullptr);
  hear(test_push("a", 3), 92 * kSecond);
  EXPECT_EQ(state_.stepping(92 * kSecond), nullptr);
}

TEST_F(JobStateTest, WhatIsSentAgainChangesNothing) {
  Push push = working("a", {1980});
  hear(push, kSecond);
  push.batches[0].sequence = 3;
  push.batches[0].readings[0].sample.value = 1500;
  hear(push, 2 * kSecond);
  EXPECT_EQ(state_.nodes()[0].lost, 1);
  hear(working("a", {1980}), 3 * kSecond);
  EXPECT_EQ(state_.devices()[0].of(Metric::kSmClock), 1500);
}

}  // namespace
}  // namespace ergometer::serve
