#include "watch/alerts.h"

#include <gtest/gtest.h>

#include <set>

#include "watch/test_jobs.h"

namespace ergometer::watch {
namespace {

using run::Metric;

std::vector<Rule> rules_of(const std::string& text) {
  auto rules = parse_rules(text, "rules.yaml");
  EXPECT_TRUE(rules) << rules.error().message;
  return rules ? *rules : std::vector<Rule>();
}

/// Looks once a second of simulated time; what changed stands in `told`.
class AlertsTest : public testing::Test {
 protected:
  void play(int64_t until_s) {
    for (; now_s_ < until_s; ++now_s_) {
      JobNow now = job_.at(now_s_, std::exchange(steps_, {}));
      for (const std::string& kind : findings_)
        now.findings.push_back({kind, "bad", "a text", {"node1"}});
      for (const Alerts::Change& change : alerts_.look(now))
        told_.push_back(std::to_string(now_s_) + " " + change.alert.rule + " " +
                        change.alert.state() + " " + change.alert.subject);
    }
  }

  TestJob job_{4};
  std::vector<run::TrainingStep> steps_;
  std::set<std::string> findings_;
  Alerts alerts_{std::vector<Rule>()};
  std::vector<std::string> told_;
  int64_t now_s_ = 1000;
};

using Told = std::vector<std::string>;

TEST_F(AlertsTest, PendingFiringResolved) {
  alerts_.replace(rules_of("rules: [{name: s, finding: throttled.*, for: 10 s}]"), 0);
  play(1010);
  findings_ = {"throttled.hw_slowdown"};
  play(1030);
  findings_.clear();
  play(1040);
  findings_ = {"throttled.hw_slowdown"};
  play(1045);
  findings_.clear();
  play(1060);
  EXPECT_EQ(told_, (Told{"1010 s pending ", "1020 s firing ", "1030 s resolved ", "1040 s pending ",
                         "1045 s resolved "}));
  ASSERT_EQ(alerts_.shown(now_s_ * TestJob::kSecondNs).size(),
            1U);  // what never fired is not shown
}

TEST_F(AlertsTest, AMeanWaitsForItsWindow) {
  alerts_.replace(rules_of("rules: [{name: h, metric: gpu_temperature, above: 80, window: 60 s}]"),
                  0);
  job_.set(1, Metric::kGpuTemperature, 90);
  play(1060);
  EXPECT_EQ(told_, Told{});
  play(1061);
  EXPECT_EQ(told_, (Told{"1060 h firing node1 gpu 1"}));
  job_.set(1, Metric::kGpuTemperature, 60);
  // (90 x (60 - n) + 60 x n) / 60 = 80 after n = 20 s; parts of 6 s make it up to 6 s later.
  play(1200);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NEAR(std::stod(told_[1]), 1081, 6);
}

TEST_F(AlertsTest, SumsByNodeAndJob) {
  alerts_.replace(
      rules_of("rules: [{name: f, metric: power, per: node, above: 2.5 kW, window: 10 s},"
               " {name: j, metric: power, per: job, above: 2.3 kW, window: 10 s}]"),
      0);
  play(1020);  // 4 x 600 W
  EXPECT_EQ(told_, (Told{"1010 j firing "}));
  job_.set_gpus(Metric::kPower, 700);
  play(1040);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[1].find("f firing node1"), std::string::npos);
}

TEST_F(AlertsTest, CountersCountFromWhereTheyWere) {
  alerts_.replace(
      rules_of("rules: [{name: e, metric: net_errors, of: port, above: 0, window: 60 s},"
               " {name: x, metric: xid, above: 0, window: 60 s}]"),
      0);
  job_.set(2, Metric::kXid, 79);  // of before
  play(1100);
  EXPECT_EQ(told_, Told{});
  job_.set(job_.port, Metric::kNetErrors, 8);
  job_.set(2, Metric::kXid, 31);  // a smaller number is another message
  play(1101);
  EXPECT_EQ(told_, (Told{"1100 e firing node1 port mlx5_0/1", "1100 x firing node1 gpu 2"}));
  job_.set(job_.port, Metric::kNetErrors, 0);  // the counter began anew
  play(1200);
  EXPECT_EQ(told_.size(), 4U);  // both are over a window later
}

/// Two sources number their ports from 0: what one has counted is not by how much the other grew.
TEST_F(AlertsTest, CountersOfPortsThatShareANumber) {
  job_.set(job_.add(run::DeviceKind::kPort, "eno2"), Metric::kNetErrors, 2);
  alerts_.replace(
      rules_of("rules: [{name: e, metric: net_errors, of: port, above: 0, window: 60 s}]"), 0);
  play(1010);
  EXPECT_EQ(told_, Told{});
  job_.set(job_.port, Metric::kNetErrors, 8);
  play(1011);
  EXPECT_EQ(told_, (Told{"1010 e firing node1 port mlx5_0/1"}));
}

TEST_F(AlertsTest, StepsOfTheLog) {
  alerts_.replace(rules_of("rules: [{name: t, metric: step_time_s, above: 2, window: 10 s}]"), 0);
  while (now_s_ < 1050) {
    steps_ = {{now_s_, now_s_ < 1030 ? 1.9 : 2.5, 0, 0}};
    play(now_s_ + 1);
  }
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NEAR(std::stod(told_[0]), 1032, 2);
}

TEST_F(AlertsTest, RulesThatStayKeepTheirWindowsWhenOthersChange) {
  const std::string kept = "{name: h, metric: gpu_temperature, above: 80, window: 60 s}";
  alerts_.replace(rules_of("rules: [" + kept + ", {name: s, finding: silent}]"), 0);
  job_.set(1, Metric::kGpuTemperature, 90);
  findings_ = {"silent"};
  play(1030);
  alerts_.replace(rules_of("rules: [" + kept + ", {name: s, finding: silent, for: 5 s}]"),
                  now_s_ * TestJob::kSecondNs);
  play(1070);
  // The other rule's alert ends with the rule it was of.
  EXPECT_EQ(told_, (Told{"1000 s firing ", "1030 s resolved ", "1030 s pending ", "1035 s firing ",
                         "1060 h firing node1 gpu 1"}));
}

TEST_F(AlertsTest, WhatFiredBeforeARestartIsNotToldAgain) {
  alerts_.replace(rules_of("rules: [{name: h, metric: gpu_temperature, above: 80, window: 60 s}]"),
                  0);
  alerts_.resume(
      {{"h", "warning", "node1 gpu 1", "", 90, 1, 2, 0}, {"gone", "", "", "", 0, 1, 2, 0}},
      999 * TestJob::kSecondNs);
  job_.set(1, Metric::kGpuTemperature, 90);
  play(1100);
  EXPECT_EQ(told_, (Told{"1000 gone resolved "}));
  job_.set(1, Metric::kGpuTemperature, 60);
  play(1200);
  EXPECT_EQ(told_.size(), 2U);
}

/// An hour of a healthy job, then each fault by itself: raised within two windows, and over after.
TEST_F(AlertsTest, StandardRulesRaiseEachFaultAndNothingInACleanHour) {
  alerts_.replace(*read_rules(kStandardRules), 0);
  job_.set_gpus(Metric::kTemperatureMargin, 20);
  for (const Metric metric :
       {Metric::kNvlinkErrors, Metric::kEccUncorrected, Metric::kXid, Metric::kPcieReplays})
    job_.set_gpus(metric, 5);
  job_.set(job_.cpu, Metric::kInletTemperature, 24);
  job_.set(job_.cpu, Metric::kPower, 9500);
  play(now_s_ + 3600);
  EXPECT_EQ(told_, Told{});

  const auto raises = [&](const std::string& rule, int64_t within_s) {
    told_.clear();
    play(now_s_ + within_s);
    ASSERT_FALSE(told_.empty()) << rule;
    for (const std::string& line : told_) EXPECT_NE(line.find(" " + rule + " "), line.npos) << line;
    EXPECT_NE(told_.back().find("firing"), std::string::npos) << told_.back();
  };
  const auto finds = [&](const char* kind, const char* rule, int64_t within_s) {
    findings_ = {kind};
    raises(rule, within_s);
    findings_.clear();
    play(now_s_ + 1);
  };
  finds("throttled.hw_thermal_slowdown", "throttled-by-heat", 20);
  finds("throttled.sw_thermal_slowdown", "throttled-by-heat", 20);
  finds("throttled.hw_power_brake_slowdown", "throttled-by-power-brake", 20);
  finds("slower", "straggler", 120);
  finds("outside.step_time_s", "step-outside-prediction", 2);
  finds("silent", "recorder-silent", 20);
  const auto reads = [&](size_t device, Metric metric, double wrong, double right, const char* rule,
                         int64_t within_s) {
    job_.set(device, metric, wrong);
    raises(rule, within_s);
    job_.set(device, metric, right);
    play(now_s_ + 600);
    EXPECT_NE(told_.back().find("resolved"), std::string::npos) << told_.back();
  };
  reads(job_.cpu, Metric::kInletTemperature, 40, 24, "inlet-hot", 120);
  reads(0, Metric::kTemperatureMargin, 2, 20, "gpu-near-its-limit", 60);
  reads(1, Metric::kNvlinkErrors, 6, 6, "nvlink-errors", 10);
  reads(job_.port, Metric::kNetErrors, 8, 8, "network-errors", 10);
  reads(1, Metric::kPcieReplays, 200, 200, "pcie-replays", 10);
  reads(2, Metric::kEccUncorrected, 6, 6, "ecc-uncorrected", 10);
  reads(3, Metric::kXid, 79, 79, "xid", 10);
  reads(job_.cpu, Metric::kPower, 12000, 9500, "power-near-feed", 120);
}

TEST(Window, BeginsAnewBehindAGap) {
  constexpr int64_t kSecond = 1'000'000'000, kLong = 10 * kSecond;
  Window window;
  for (int64_t s = 1; s <= 11; ++s) window.add(s * kSecond, kLong, 5);
  EXPECT_EQ(window.take(Rule::Take::kMean, 11 * kSecond, kLong), 5);
  EXPECT_EQ(window.take(Rule::Take::kMean, 30 * kSecond, kLong), std::nullopt);
  window.add(30 * kSecond, kLong, 9);
  EXPECT_EQ(window.take(Rule::Take::kMean, 31 * kSecond, kLong), std::nullopt);
  window.add(40 * kSecond, kLong, 7);
  EXPECT_EQ(window.take(Rule::Take::kHighest, 40 * kSecond, kLong), 7);  // 9 is ten parts old
}

TEST(Matches, AStarStandsForAnyText) {
  EXPECT_TRUE(matches("silent", "silent"));
  EXPECT_FALSE(matches("silent", "silently"));
  EXPECT_TRUE(matches("throttled.*_thermal_slowdown", "throttled.hw_thermal_slowdown"));
  EXPECT_FALSE(matches("throttled.*_thermal_slowdown", "throttled.sw_power_cap"));
  EXPECT_FALSE(matches("ab*ba", "aba"));
}

TEST(AlertJson, IsOneLine) {
  const Alert alert{"hot", "critical", "node1 gpu 1", "is \"90\" C\n", 90, 1'000'000, 2'000'000, 0};
  EXPECT_EQ(
      alert_json(alert, "job", 3'000'000),
      "{\"alert\": \"hot\", \"state\": \"firing\", \"severity\": \"critical\", \"job\": \"job\", "
      "\"subject\": \"node1 gpu 1\", \"text\": \"is \\\"90\\\" C\\n\", \"value\": 90, "
      "\"since_ms\": 1, \"time_ms\": 3}\n");
}

TEST(AlertJson, WhatIsResolvedNoLongerIs) {
  Alert alert{"hot", "critical", "node1",   "gpu_temperature is 91 C, above 88",
              91,    1'000'000,  2'000'000, 0};
  EXPECT_EQ(alert.told(), "gpu_temperature is 91 C, above 88");
  alert.resolved_ns = 3'000'000;
  EXPECT_EQ(alert.told(), "no longer: gpu_temperature is 91 C, above 88");
  EXPECT_NE(alert_json(alert, "job", 3'000'000).find("\"no longer: gpu_"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::watch
