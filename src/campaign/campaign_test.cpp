#include "campaign/campaign.h"

#include <gtest/gtest.h>

#include "campaign/sizes.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::campaign {
namespace {

spec::Settings small_job(const spec::test::Values& more = {}) {
  return spec::test::settings_of({{"model", "llama3-8b"},
                                  {"cluster", "hgx-h100"},
                                  {"gpus", "64"},
                                  {"tensor_model_parallel_size", "4"},
                                  {"global_batch_size", "256"},
                                  {"micro_batch_size", "1"},
                                  {"recompute_granularity", "full"},
                                  {"seq_length", "8192"},
                                  {"pue", "1.25"}},
                                 more);
}

Ask ask_of(double tokens) {
  Ask ask;
  ask.phases = {{"training", tokens, {}}};
  ask.failures = catalog_failures();
  ask.draws = 400;
  return ask;
}

TEST(Campaign, PartsAddUpToItsDays) {
  Ask ask = ask_of(1e12);
  ask.evaluation = {1000, 10};
  ask.stalled_share = 0.02;
  const auto campaign = plan_campaign(small_job(), ask);
  ASSERT_TRUE(campaign.has_value()) << campaign.error().message;
  double days = 0;
  for (const Part& part : campaign->parts) days += part.days;
  EXPECT_NEAR(days, campaign->mean_days, 1e-9 * days);
  EXPECT_NEAR(campaign->parts[2].days, 0.02 * campaign->parts[0].days, 1e-9 * days);
  EXPECT_LT(campaign->days.low, campaign->days.median);
  EXPECT_LT(campaign->days.median, campaign->days.high);
  EXPECT_NEAR(campaign->energy_mwh.median, 1.25 * campaign->plug_mwh.median, 1e-6);
  EXPECT_LT(campaign->chip_mwh.median, campaign->plug_mwh.median);
  EXPECT_NEAR(campaign->gpu_hours.median, campaign->days.median * 24 * 64, 1e-6);
}

TEST(Campaign, WithoutFailuresIsItsSteps) {
  Ask ask = ask_of(1e12);
  ask.failures.per_gpu_hour = 0;
  ask.failures.spread = 1;
  const auto campaign = plan_campaign(small_job(), ask);
  ASSERT_TRUE(campaign.has_value());
  // 1e12 tokens in steps of 256 x 8192: 476,838 of them, and one checkpoint.
  const PlayedPhase& phase = campaign->training.phases.front();
  EXPECT_EQ(phase.steps, 476838);
  EXPECT_NEAR(campaign->closed_form_days * kDayS, 476838 * phase.step_s + campaign->kept.stop_s,
              1e-3);
  EXPECT_EQ(campaign->failures.high, 0);
  EXPECT_EQ(campaign->mtbf_s, 0);
}

TEST(Campaign, CheckpointsHoldParametersAndOptimizer) {
  const auto campaign = plan_campaign(small_job(), ask_of(1e12));
  ASSERT_TRUE(campaign.has_value());
  // 8.03 billion parameters, 2 bytes and an FP32 master with two moments.
  EXPECT_NEAR(campaign->kept.bytes / (8.03e9 * 14), 1, 0.01);
  EXPECT_NEAR(campaign->kept.stop_s, campaign->kept.bytes / (8 * kAssumedNodeStorage), 1e-9);
}

TEST(Campaign, HiddenCheckpointsStopForTheirSnapshot) {
  Ask ask = ask_of(1e12);
  ask.checkpointing.hidden = true;
  const auto campaign = plan_campaign(small_job(), ask);
  ASSERT_TRUE(campaign.has_value());
  const Kept& kept = campaign->kept;
  EXPECT_NEAR(kept.stop_s, kept.bytes / 64 / kAssumedSnapshot, 1e-9);
  EXPECT_GT(kept.write_s, kept.stop_s);
  EXPECT_GE(kept.interval_s + kept.stop_s, kept.write_s);
  ask.checkpointing.every_s = 1;
  EXPECT_FALSE(plan_campaign(small_job(), ask).has_value());
}

TEST(Campaign, ThatFailsAllTheTimeIsRefused) {
  Ask ask = ask_of(1e12);
  ask.failures = with_mtbf(ask.failures, 60);
  EXPECT_FALSE(plan_campaign(small_job(), ask).has_value());
}

TEST(Campaign, OfPhasesIsTheirSum) {
  Ask ask = ask_of(1e12);
  ask.failures.per_gpu_hour = 0;
  const auto whole = plan_campaign(small_job(), ask);
  ask.phases = {{"a", 4e11, {}}, {"b", 6e11, {}}};
  const auto parts = plan_campaign(small_job(), ask);
  ASSERT_TRUE(whole && parts);
  EXPECT_NEAR(parts->closed_form_days / whole->closed_form_days, 1, 1e-4);
  EXPECT_EQ(parts->tokens(), whole->tokens());
}

TEST(Campaign, UnderALimitTakesLonger) {
  Ask ask = ask_of(1e12);
  const auto free = plan_campaign(small_job(), ask);
  ask.limit_w = {45e3};  // of 64 GPUs at up to 700 W, and their nodes, at the meter
  const auto limited = plan_campaign(small_job(), ask);
  ASSERT_TRUE(free && limited);
  EXPECT_GT(limited->limit_days, 0);
  EXPECT_NEAR(limited->closed_form_days - free->closed_form_days, limited->limit_days,
              0.01 * limited->limit_days);
  EXPECT_LE(limited->training.phases.front().draw.cluster_w * 1.25, 45e3);
}

// What the refusal of a limit allows is allowed, and nothing below it: PUE and spare nodes count.
TEST(Campaign, TheLeastLimitIsTheRefusalsOwn) {
  Ask ask = ask_of(1e12);
  ask.spares = 1;
  ask.limit_w = {1e3};
  const auto low = plan_campaign(small_job(), ask);
  ASSERT_FALSE(low);
  const std::string& told = low.error().message;
  const std::string_view before = "allowed: at least ";
  ASSERT_NE(told.find(before), told.npos) << told;
  const double least_w = std::stod(told.substr(told.find(before) + before.size()));
  ask.limit_w = {least_w};
  EXPECT_TRUE(plan_campaign(small_job(), ask)) << told;
  ask.limit_w = {least_w - 1};
  EXPECT_FALSE(plan_campaign(small_job(), ask)) << told;
}

double mean_meter_w(const Campaign& campaign) {
  return campaign.energy_mwh.median * 1e6 / (campaign.days.median * 24);
}

// Evaluations are held by it as steps are, and spare nodes draw from it.
TEST(Campaign, TheLimitHoldsForAllThatDraws) {
  Ask ask = ask_of(1e10);
  ask.failures.per_gpu_hour = 0;
  ask.failures.spread = 1;
  ask.evaluation = {1, 10};
  ask.limit_w = {45e3};
  const auto all = plan_campaign(small_job({{"pue", "1"}}), ask);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_LT(mean_meter_w(*all), 45e3);
  EXPECT_GT(all->training.phases[0].evaluation_s, all->training.phases[0].unlimited_evaluation_s);
  ask.spares = 1;
  const auto spared = plan_campaign(small_job({{"pue", "1"}}), ask);
  ASSERT_TRUE(spared) << spared.error().message;
  EXPECT_LT(mean_meter_w(*spared), 45e3);
  EXPECT_GT(spared->days.median, all->days.median);
  ask.spares = 100;
  EXPECT_FALSE(plan_campaign(small_job({{"pue", "1"}}), ask));
}

// Two hours at 100 kW, two at 45: grams of the latter alone weigh by what they draw.
TEST(Campaign, CarbonIsThatOfTheHoursThatDraw) {
  Ask ask = ask_of(1e12);
  ask.failures.per_gpu_hour = 0;
  ask.failures.spread = 1;
  ask.limit_w = {100e3, 100e3, 45e3, 45e3};
  const auto tonnes = [&](std::vector<double> grams) {
    ask.prices.carbon_g_per_kwh = std::move(grams);
    return plan_campaign(small_job(), ask)->co2_t.median;
  };
  const auto campaign = plan_campaign(small_job(), ask);
  const std::vector<double>& hourly_w = campaign->training.phases[0].hourly_w;
  ASSERT_EQ(hourly_w.size(), 4u);
  const double late = hourly_w[2] / (hourly_w[0] + hourly_w[2]);
  EXPECT_LT(late, 0.45);
  const double all = tonnes({1000});
  EXPECT_NEAR(tonnes({0, 0, 1000, 1000}), late * all, 0.005 * all);
  EXPECT_NEAR(tonnes({1000, 1000, 0, 0}), (1 - late) * all, 0.005 * all);
}

TEST(Sizes, SaysWhichIsNoJobAndWhichIsEnough) {
  Ask ask = ask_of(1e11);
  ask.deadline_s = 4 * kDayS;
  const auto sizes = plan_sizes(small_job(), ask, {512, 64, 96, 128}, 2);
  ASSERT_TRUE(sizes.has_value()) << sizes.error().message;
  ASSERT_EQ(sizes->campaigns.size(), 4U);
  EXPECT_FALSE(sizes->campaigns[1].refusal.empty());  // 96 GPUs: 24 replicas, 256 sequences
  EXPECT_EQ(sizes->marginals.size(), 2U);
  ASSERT_TRUE(sizes->any_meets());
  for (size_t i = 0; i < sizes->chosen; ++i) EXPECT_FALSE(sizes->meets[i]);
  EXPECT_FALSE(plan_sizes(small_job(), ask, {96}, 1).has_value());
}

TEST(Finish, IsADate) {
  using namespace std::chrono;
  EXPECT_EQ(date_after(sys_days(year(2026) / 2 / 27), 2.5), "2026-03-01");
}

}  // namespace
}  // namespace ergometer::campaign
