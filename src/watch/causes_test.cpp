#include "watch/causes.h"

#include <gtest/gtest.h>

namespace ergometer::watch {
namespace {

/// A step of 2.4 s where 1.9 s to 2.1 s are predicted; GPUs as busy and as fast as ever.
Evidence slow_step() {
  Evidence e{.quantity = "step_time_s", .measured = 2.4, .low = 1.9, .high = 2.1};
  e.use_percent = 98;
  e.use_before_percent = 97;
  e.cpu_percent = 20;
  e.clock_mhz = 1690;
  e.predicted_clock_mhz = 1700;
  return e;
}

TEST(Causes, TokensOfTheLogExplainTheTime) {
  Evidence e = slow_step();
  // 1.2 times the tokens: 2.4 s / 1.2 = 2.0 s, inside.
  e.tokens_per_step = 9830.4;
  e.predicted_tokens_per_step = 8192;
  EXPECT_EQ(likely_cause(e).kind, "longer_sequences");
  EXPECT_EQ(likely_cause(e).text,
            "longer sequences: 9830 tokens a step and GPU, 8192 are predicted");
  // 1.05 times: 2.4 s / 1.05 = 2.29 s, still outside; the log says that there is no more work.
  e.tokens_per_step = 8601.6;
  EXPECT_EQ(likely_cause(e).kind, "none");
}

TEST(Causes, ThrottlingByWhatHoldsMostGpuTime) {
  Evidence e = slow_step();
  e.held_back = {{"hw_thermal_slowdown", 0.12}, {"hw_slowdown", 0.3}};
  EXPECT_EQ(likely_cause(e).text, "throttling: hw_slowdown in 30 % of GPU time");
  e.held_back = {{"hw_thermal_slowdown", 0.09}};
  EXPECT_NE(likely_cause(e).kind, "throttle");
}

TEST(Causes, APowerCapCountsBelowThePredictedClock) {
  Evidence e = slow_step();
  e.held_back = {{"sw_power_cap", 0.9}};
  EXPECT_NE(likely_cause(e).kind, "throttle");  // 1690 MHz of 1700 MHz
  e.clock_mhz = 1640;                           // below 0.97 x 1700 MHz = 1649 MHz
  EXPECT_EQ(likely_cause(e).kind, "throttle");
}

TEST(Causes, OneGpuAndLinks) {
  Evidence e = slow_step();
  e.slow_gpu = "node3 gpu 2";
  EXPECT_EQ(likely_cause(e).text,
            "a slow GPU: the clock of node3 gpu 2 is 5 % or more below the others'");
  e.slow_gpu = "";
  e.link_errors = "node3 port 1 (net_errors)";
  EXPECT_EQ(likely_cause(e).text, "a link: node3 port 1 (net_errors) counts errors");
}

TEST(Causes, TheHostWhereGpusWait) {
  Evidence e = slow_step();
  e.use_percent = 40;
  EXPECT_EQ(likely_cause(e).kind, "host");  // steps are long and GPUs little used
  e.cpu_percent = 95;
  EXPECT_EQ(likely_cause(e).text, "the host: GPUs are in use 40 % of the time, CPUs 95 %");
  e.use_percent = 50;
  EXPECT_EQ(likely_cause(e).kind, "none");
}

TEST(Causes, DataWhereUseFallsBetweenSteps) {
  Evidence e = slow_step();
  e.use_percent = 70;
  e.dips = 0.25;
  EXPECT_EQ(likely_cause(e).text, "data: GPU use falls between steps, in 25 % of the time");
  e.use_percent = 40;  // with idle CPUs it is still what they wait for
  EXPECT_EQ(likely_cause(e).kind, "data");
}

TEST(Causes, MoreWorkWhereAllAreBusyAsBefore) {
  Evidence e = slow_step();
  EXPECT_EQ(likely_cause(e).kind, "longer_sequences");
  e.use_before_percent = 92;  // 6 points less than now
  EXPECT_EQ(likely_cause(e).text, "cause not told");
  e = slow_step();
  e.use_before_percent = -1;
  EXPECT_EQ(likely_cause(e).kind, "none");
}

TEST(Causes, PowerByItselfTellsNothing) {
  Evidence e = slow_step();
  e.quantity = "mean_w_per_gpu";
  EXPECT_EQ(likely_cause(e).kind, "none");
}

}  // namespace
}  // namespace ergometer::watch
