#include "optimize/balance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_support.h"
#include "optimize/test_jobs.h"

namespace ergometer::optimize {
namespace {

/// One node under a cap that all its GPUs reach.
Values one_node(const Values& more) {
  Values values = {{"model", "llama3-8b"}, {"cluster", "charllm-h200"},
                   {"gpus", "8"},          {"tp", "2"},
                   {"gbs", "16"},          {"mbs", "1"},
                   {"seq", "4096"},        {"recompute", "full"},
                   {"num_layers", "8"}};
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Optimized balanced(const Values& values, Align align) {
  Options options;
  options.judges = 4;
  return base::value_of(balance(spec::test::job_of(values), align, options));
}

double longest_lead_s(const Optimized& result, double BalancedGpu::* lead_s) {
  double longest = 0;
  for (const BalancedGpu& gpu : result.balanced_gpus) longest = std::max(longest, gpu.*lead_s);
  return longest;
}

double sum_w(const Optimized& result, double BalancedGpu::* watts) {
  double sum = 0;
  for (const BalancedGpu& gpu : result.balanced_gpus) sum += gpu.*watts;
  return sum;
}

TEST(LeadTimes, AreWhatTheSlowestOfAStageComputesMore) {
  std::vector<run::Rank> ranks(4);
  const double compute_s[] = {9, 7, 4, 6};
  for (size_t i = 0; i < 4; ++i) {
    ranks[i].stage = static_cast<int64_t>(i) / 2;
    ranks[i].breakdown_s.compute = compute_s[i];
    ranks[i].breakdown_s.optimizer = 1;
    ranks[i].breakdown_s.exposed_all_reduce = 10 - compute_s[i];  // waiting, not work
  }
  EXPECT_EQ(lead_times(ranks), (std::vector<double>{0, 2, 2, 0}));
}

TEST(Balance, LeavesEqualGpusAsTheyAre) {
  // Nothing holds their clocks back, so that silicon makes no difference.
  for (const Align align : all_aligns()) {
    const Optimized result = balanced(one_node({{"operand_activity", "0.1"}}), align);
    EXPECT_TRUE(result.keeps);
    EXPECT_EQ(result.rows.size(), 1);
    EXPECT_EQ(result.chosen_outcome.step_s, result.unchanged_outcome.step_s);
    EXPECT_EQ(result.chosen_outcome.energy_j, result.unchanged_outcome.energy_j);
    EXPECT_TRUE(result.chosen.conditions.overrides.empty());
  }
}

const Values kHotGpu = {{"power_cap", "500"}, {"override", "node0.gpu3.leakage=3"}};

TEST(Balance, ToTheSlowestSavesEnergyAndCostsNoTime) {
  const Optimized result = balanced(one_node(kHotGpu), Align::kSlowest);
  ASSERT_FALSE(result.keeps);
  EXPECT_GT(result.gain.low_pct, 0);
  EXPECT_LT(result.chosen_outcome.step_s, 1.001 * result.unchanged_outcome.step_s);
  EXPECT_LT(longest_lead_s(result, &BalancedGpu::lead_s),
            0.3 * longest_lead_s(result, &BalancedGpu::lead_before_s));
  for (const BalancedGpu& gpu : result.balanced_gpus) EXPECT_LE(gpu.cap_w, gpu.cap_before_w);
}

TEST(Balance, ToTheMedianMovesTheNodesWatts) {
  const Optimized result = balanced(one_node(kHotGpu), Align::kMedian);
  ASSERT_FALSE(result.keeps);
  EXPECT_LT(result.chosen_outcome.step_s, result.unchanged_outcome.step_s);
  EXPECT_LT(longest_lead_s(result, &BalancedGpu::lead_s),
            0.3 * longest_lead_s(result, &BalancedGpu::lead_before_s));
  EXPECT_GT(result.balanced_gpus[3].cap_w, 500);
  EXPECT_LE(sum_w(result, &BalancedGpu::cap_w), sum_w(result, &BalancedGpu::cap_before_w));
}

TEST(Balance, ToTheFastestRaisesCapsAndIsTheQuickest) {
  const Optimized result = balanced(one_node(kHotGpu), Align::kFastest);
  ASSERT_FALSE(result.keeps);
  for (const BalancedGpu& gpu : result.balanced_gpus) EXPECT_GE(gpu.cap_w, gpu.cap_before_w);
  EXPECT_LT(longest_lead_s(result, &BalancedGpu::lead_s),
            0.3 * longest_lead_s(result, &BalancedGpu::lead_before_s));
  EXPECT_LE(result.chosen_outcome.step_s,
            balanced(one_node(kHotGpu), Align::kMedian).chosen_outcome.step_s);
}

TEST(Balance, KeepsUnderACapOfTheCluster) {
  Options options;
  options.judges = 4;
  const spec::Job job = spec::test::job_of(one_node({{"cluster_cap", "6kW"}}));
  EXPECT_FALSE(balance(job, Align::kFastest, options));
  const auto result = balance(job, Align::kMedian, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LE(sum_w(*result, &BalancedGpu::cap_w), sum_w(*result, &BalancedGpu::cap_before_w) + 1e-6);
}

}  // namespace
}  // namespace ergometer::optimize
