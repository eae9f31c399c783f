#include "run/file/prediction.h"

#include <gtest/gtest.h>

namespace ergometer::run {
namespace {

TEST(Prediction, IsReadAsItWasWritten) {
  run::Run simulated;
  simulated.performance.step_time_s = 2;
  simulated.performance.step_time_s_low = 1.75;
  simulated.performance.step_time_s_high = 2.5;
  simulated.performance.tokens_per_s_per_gpu = 4096;
  simulated.has_power = true;
  simulated.power.mean_w_per_gpu = 600;
  simulated.power.mean_interval_w = {550, 650};
  simulated.thermal.max_gpu_c = 70;
  simulated.thermal.max_interval_c = {65, 75};
  simulated.thermal.mean_clock_mhz = 1755;
  const auto read =
      parse_prediction(prediction_json(prediction_of(simulated, "job \"a\".yaml", 16)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->job, "job \"a\".yaml");
  EXPECT_EQ(read->gpus, 16);
  ASSERT_EQ(read->quantities.size(), 5U);
  EXPECT_EQ(read->find("step_time_s")->high, 2.5);
  // 8192 tokens a step: in 2.5 s and in 1.75 s.
  EXPECT_NEAR(read->find("tokens_per_s_per_gpu")->low, 3276.8, 1e-9);
  EXPECT_NEAR(read->find("tokens_per_s_per_gpu")->high, 8192 / 1.75, 1e-9);
  EXPECT_EQ(read->find("max_gpu_c")->low, 65);
  EXPECT_FALSE(read->find("mean_clock_mhz")->has_interval());
  EXPECT_EQ(read->find("mean_w_per_gpu")->unit, "W");
}

TEST(Prediction, OutsideIsWhatIsSoForSure) {
  const Predicted power{"mean_w_per_gpu", "W", 600, 550, 650};
  EXPECT_EQ(place_of(power, 660), Place::kAbove);
  EXPECT_EQ(place_of(power, 660, 0.02), Place::kInside);  // 646.8 W at least
  EXPECT_EQ(place_of(power, 540, 0.01), Place::kBelow);   // 545.4 W at most
  EXPECT_EQ(place_of(power, 540, 0.02), Place::kInside);  // 550.8 W at most
}

TEST(Prediction, WithoutPowerItIsTime) {
  EXPECT_EQ(prediction_of(run::Run(), "job.yaml", 8).quantities.size(), 2U);
}

TEST(Prediction, WhatIsWrongIsNamed) {
  for (const char* text :
       {"", "[]", R"({"gpus": 8})", R"({"job": "a", "gpus": 0, "quantities": []})",
        R"({"job": "a", "gpus": 8})",
        R"({"job": "a", "gpus": 8, "quantities": [{"name": "x", "unit": "", "value": 1}]})",
        R"({"job": "a", "gpus": 8, "quantities":
            [{"name": "x", "unit": "", "value": 1, "low": 2, "high": 1}]})"})
    EXPECT_FALSE(parse_prediction(text)) << text;
}

}  // namespace
}  // namespace ergometer::run
