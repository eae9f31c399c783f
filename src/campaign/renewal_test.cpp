#include "campaign/renewal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "campaign/draws.h"

namespace ergometer::campaign {
namespace {

/// One kind of failure.
Outages one_kind(double mtbf_s, double detection_s, double restart_s, double repair_s = 0) {
  return {1 / mtbf_s, {{"any", 1, detection_s, restart_s, repair_s}}};
}

TEST(CheckpointInterval, MeetsYoungAndDalyInTheLimit) {
  // Checkpoints of 1 s, failures every 1e8 s: sqrt(2e8) = 14,142.1 s; Daly takes 2/3 s off.
  EXPECT_NEAR(young_interval_s(1, 1e8), 14142.1356, 1e-3);
  EXPECT_NEAR(daly_interval_s(1, 1e8), 14141.4690, 1e-3);
  EXPECT_NEAR(best_interval_s(1, 0, 1e8) / young_interval_s(1, 1e8), 1, 1e-4);
  EXPECT_NEAR(best_interval_s(1, 0, 1e8) / daly_interval_s(1, 1e8), 1, 1e-6);
}

TEST(CheckpointInterval, IsShorterThanYoungsWhereFailuresAreFrequent) {
  // 60 s every 10,000 s: z - 1 + e^(-z - 0.006) = 0 at z = 0.1056.
  EXPECT_NEAR(best_interval_s(60, 0, 10000), 1056, 1);
  EXPECT_NEAR(daly_interval_s(60, 10000), 1055.8, 0.1);
  EXPECT_NEAR(young_interval_s(60, 10000), 1095.4, 0.1);
}

TEST(CheckpointInterval, HasTheLeastExpectedTime) {
  const Outages outages = one_kind(5000, 30, 200);
  const double best_s = best_interval_s(40, 0, 5000), work_s = 1e6;
  const auto total = [&](double interval_s) {
    return expected_times({interval_s, 40, 0}, work_s / interval_s, outages).total();
  };
  EXPECT_LT(total(best_s), total(best_s * 1.01));
  EXPECT_LT(total(best_s), total(best_s * 0.99));
}

TEST(CheckpointInterval, HiddenWritesMayNotOverlap) {
  EXPECT_EQ(best_interval_s(1, 900, 10000), 899);
  EXPECT_TRUE(std::isinf(best_interval_s(1, 0, INFINITY)));
}

TEST(ExpectedTimes, AreDalysForOneInterval) {
  // M e^(R / M) (e^(x / M) - 1) = 1000 x 1.0512711 x 0.1051709 = 110.563 s.
  const Times times = expected_times({90, 10, 0}, 1, one_kind(1000, 0, 50));
  EXPECT_NEAR(times.total(), 110.563, 1e-3);
  EXPECT_EQ(times.work, 90);
  EXPECT_EQ(times.checkpoints, 10);
  EXPECT_NEAR(times.lost, 1000 * 0.1051709 - 100, 1e-3);
}

TEST(ExpectedTimes, WithoutFailuresAreWorkAndCheckpoints) {
  const Times times = expected_times({90, 10, 5}, 4, {});
  EXPECT_EQ(times.total(), 4 * 100 + 5);
  EXPECT_EQ(times.failures, 0);
}

/// Mean and its standard error over many draws, held to the closed form.
void expect_alike(const Rhythm& rhythm, int64_t intervals, const Outages& outages) {
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  Times mean;
  for (int i = 0; i < kDraws; ++i) {
    const base::Random random(7, static_cast<uint64_t>(i), "test");
    const Times times = play_campaign(rhythm, intervals, outages, {}, random);
    sum += times.total();
    squares += times.total() * times.total();
    mean += times * (1.0 / kDraws);
  }
  const Times expected = expected_times(rhythm, static_cast<double>(intervals), outages);
  const double variance = squares / kDraws - sum / kDraws * (sum / kDraws);
  EXPECT_NEAR(sum / kDraws, expected.total(), 4 * std::sqrt(variance / kDraws));
  EXPECT_NEAR(mean.work, expected.work, 1e-6 * expected.work);
  EXPECT_NEAR(mean.lost / expected.lost, 1, 0.03);
  EXPECT_NEAR(mean.restart / expected.restart, 1, 0.03);
  EXPECT_NEAR(mean.detection / expected.detection, 1, 0.03);
  EXPECT_NEAR(mean.failures / expected.failures, 1, 0.03);
}

TEST(PlayedCampaigns, MeetTheClosedForm) {
  expect_alike({500, 20, 0}, 40, one_kind(2000, 60, 300));
  expect_alike({500, 20, 0}, 1, one_kind(400, 60, 300));
  expect_alike({500, 5, 400}, 40, one_kind(2000, 60, 300));  // hidden
  expect_alike({500, 5, 400}, 2, one_kind(700, 60, 300));
  expect_alike({100, 1, 0}, 100,
               {1e-3, {{"node", 0.75, 60, 300, 1e5}, {"software", 0.25, 10, 50, 0}}});
}

TEST(PlayedCampaigns, WaitForRepairWhereNoSpareIsLeft) {
  const Outages outages = one_kind(1000, 0, 10, 5000);
  const base::Random random(1, 0, "test");
  const Times none = play_campaign({100, 1, 0}, 50, outages, 0, random);
  const Times ample = play_campaign({100, 1, 0}, 50, outages, {}, random);
  ASSERT_GT(none.failures, 0);
  EXPECT_NEAR(none.waiting, none.failures * 5000, 1e-6);
  EXPECT_EQ(ample.waiting, 0);
  EXPECT_NEAR(none.total() - none.waiting, ample.total(), 1e-6);
  // One spare covers what fails while it is not yet needed.
  EXPECT_LT(play_campaign({100, 1, 0}, 50, outages, 1, random).waiting, none.waiting);
}

}  // namespace
}  // namespace ergometer::campaign
