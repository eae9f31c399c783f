#include "watch/against_prediction.h"

#include <gtest/gtest.h>

#include "watch/test_jobs.h"

namespace ergometer::watch {
namespace {

using run::Metric;
using run::Place;

run::Prediction test_prediction() {
  return {"job.yaml",
          4,
          {{"step_time_s", "s", 2, 1.9, 2.1},
           {"tokens_per_s_per_gpu", "", 4096, 4096, 4096},
           {"mean_w_per_gpu", "W", 600, 550, 650},
           {"max_gpu_c", "C", 70, 65, 75},
           {"mean_clock_mhz", "MHz", 1700, 1700, 1700}}};
}

/// Plays a job with a step of `seconds` every other second.
class AgainstPredictionTest : public testing::Test {
 protected:
  void play(int64_t until_s, double step_s, double tokens_per_s = 0) {
    for (; now_s_ < until_s; ++now_s_) {
      std::vector<run::TrainingStep> steps;
      if (now_s_ % 2 == 0) steps.push_back({now_s_ / 2, step_s, 0, tokens_per_s});
      watch_.look(job_.at(now_s_, steps));
    }
  }
  std::optional<Place> state(const char* name) const {
    for (const auto& quantity : watch_.quantities())
      if (quantity.predicted.name == name) return quantity.place;
    return std::nullopt;
  }

  bool outside(const char* name) const {
    for (const auto& quantity : watch_.quantities())
      if (quantity.predicted.name == name) return quantity.stays_outside(now_s_ * 1'000'000'000);
    return false;
  }

  TestJob job_{4};
  AgainstPrediction watch_{test_prediction()};
  int64_t now_s_ = 1;
};

TEST_F(AgainstPredictionTest, WaitsForTheWarmUpAndAWholeWindow) {
  play(11, 9);  // five steps by second 10, slow as first steps are
  EXPECT_EQ(state("step_time_s"), std::nullopt);
  play(70, 2);
  EXPECT_EQ(state("mean_w_per_gpu"), std::nullopt);
  play(71, 2);  // second 70
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kInside);
  EXPECT_EQ(state("step_time_s"), Place::kInside);
  EXPECT_EQ(state("mean_clock_mhz"), Place::kNoInterval);
  EXPECT_EQ(state("tokens_per_s_per_gpu"), std::nullopt);  // nobody says
  EXPECT_EQ(state("max_gpu_c"), Place::kInside);           // cooler is no deviation
}

TEST_F(AgainstPredictionTest, NamesOnceWhatLeavesFirstAndStaysOut) {
  play(200, 2);
  job_.set(2, Metric::kSmClock, 1400);
  job_.set(2, Metric::kEventReasons, 0x40);
  play(300, 2.4);
  // Of a minute's 30 steps 15 are slow from second 228 on; one GPU of four is held back.
  ASSERT_TRUE(watch_.deviation());
  EXPECT_EQ(
      watch_.deviation()->text,
      "step time is 2.40 s, predicted 1.90 s to 2.10 s: throttling: hw_thermal_slowdown in 25 "
      "% of GPU time");
  EXPECT_NEAR(static_cast<double>(watch_.deviation()->since_ns) * 1e-9, 228, 1e-6);
  EXPECT_TRUE(outside("step_time_s"));
  EXPECT_FALSE(outside("mean_w_per_gpu"));
  job_.set_gpus(Metric::kPower, 300);
  play(500, 2);
  EXPECT_EQ(watch_.deviation()->quantity, "step_time_s");
  EXPECT_TRUE(outside("mean_w_per_gpu"));
}

TEST_F(AgainstPredictionTest, AShortDeviationIsNotNamed) {
  play(200, 2);
  play(240, 2.4);
  play(600, 2);
  EXPECT_FALSE(watch_.deviation());
}

TEST_F(AgainstPredictionTest, PowerThatItsSensorsMayHaveWrongIsInside) {
  play(200, 2);
  // Of four H100s +-1.645 sqrt(0.025^2 / 4 + 0.01^2) = 2.63 %: 650 W may read 667 W.
  job_.set_gpus(Metric::kPower, 666);
  play(400, 2);
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kInside);
  EXPECT_FALSE(watch_.deviation());
  job_.set_gpus(Metric::kPower, 669);
  play(600, 2);
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kAbove);
  EXPECT_EQ(watch_.deviation()->quantity, "mean_w_per_gpu");
}

TEST_F(AgainstPredictionTest, PowerOfWhichLooksSeeLittleIsInside) {
  play(200, 2);
  // Instant power, 25 ms of each second, 480 and 880 W by turns: scatter sqrt(400^2 / 2) / 680 =
  // 0.416, of 60 looks sqrt(0.975 x 0.173 / 60) = 5.3 %. With the gains +-9.1 %: 650 W may read
  // 709.
  for (int i = 0; i < 200; ++i) {
    job_.set_gpus(Metric::kInstantPower, i % 2 == 0 ? 480 : 880);
    play(now_s_ + 1, 2);
  }
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kInside);
  job_.set_gpus(Metric::kInstantPower, 680);
  play(600, 2);
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kAbove);
}

TEST_F(AgainstPredictionTest, LongerSequencesByTheLog) {
  play(200, 2, 4096);
  play(400, 2.4, 4096);  // 1.2 times the tokens in 1.2 times the time
  ASSERT_TRUE(watch_.deviation());
  EXPECT_EQ(watch_.deviation()->cause.kind, "longer_sequences");
}

TEST_F(AgainstPredictionTest, ALinkThatCountsErrors) {
  play(200, 2);
  for (int i = 0; i < 100; ++i) {
    job_.set(job_.port, Metric::kNetErrors, 8 + i);
    play(now_s_ + 1, 2.4);
  }
  ASSERT_TRUE(watch_.deviation());
  EXPECT_EQ(watch_.deviation()->cause.text,
            "a link: node1 port mlx5_0/1 (net_errors) counts errors");
}

TEST_F(AgainstPredictionTest, WithoutStepsFiveMinutesAreTheWarmUp) {
  for (int64_t s = 1; s < 361; ++s) watch_.look(job_.at(s));
  EXPECT_EQ(state("mean_w_per_gpu"), std::nullopt);
  watch_.look(job_.at(361));
  EXPECT_EQ(state("mean_w_per_gpu"), Place::kInside);
}

}  // namespace
}  // namespace ergometer::watch
