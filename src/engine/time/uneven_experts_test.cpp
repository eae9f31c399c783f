// Jobs whose tokens do not choose experts evenly.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_agreement.h"
#include "engine/time/test_job.h"
#include "plan/memory.h"

namespace ergometer::engine {
namespace {

using test::Random;
using test::Values;

/// Mixtral 8x7B on 16 H100, experts on 8 ranks each, in the words given.
spec::Job mixtral(const Values& more) {
  Values values = {{"model", "mixtral-8x7b"},
                   {"cluster", "hgx-h100"},
                   {"gpus", "16"},
                   {"pp", "2"},
                   {"ep", "8"},
                   {"gbs", "64"},
                   {"seq", "4096"},
                   {"clocks", "constant"}};
  values.insert(values.end(), more.begin(), more.end());
  return test::job_of(values);
}

run::Run played(const spec::Job& job, const SimulateOptions& options = {}) {
  return base::value_of(simulate(job, options));
}

Values random_experts(Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return random.of(words); };
  Values values = {{"model", pick({"mixtral-8x7b", "deepseek-v2", "qwen3-30b-a3b"})},
                   {"cluster", pick({"hgx-h100", "mi300x"})},
                   {"gpus", "16"},
                   {"tp", pick({"1", "1", "2"})},
                   {"pp", pick({"1", "2"})},
                   {"ep", pick({"2", "4", "8"})},
                   {"ga", pick({"2", "4"})},
                   {"seq", "1024"},
                   {"num_layers", "4"},
                   {"clocks", "constant"},
                   {"moe_routing", pick({"zipf:1.2", "hot-expert:3", "hot-rank:2",
                                         "rotating-rank:2", "w3", "w7"})}};
  if (random.below(3) == 0)
    values.emplace_back("moe_token_dispatcher_type", pick({"allgather", "flex"}));
  if (random.below(3) == 0) values.emplace_back("recompute", "full");
  if (random.below(3) == 0) values.emplace_back("moe_shared_expert_overlap", "true");
  if (random.below(3) == 0) values.emplace_back("moe_expert_placement", "by-load");
  if (random.below(3) == 0) values.emplace_back("moe_redundant_experts", "8");
  if (random.below(3) == 0) values.emplace_back("overlap_moe_expert_parallel_comm", "true");
  if (random.below(3) == 0) values.emplace_back("moe_expert_capacity_factor", "1.25");
  return values;
}

TEST(UnevenExperts, SweepAndEventsAgree) {
  int64_t uneven = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(base::random_cases(60)); ++seed) {
    Random random(seed);
    const auto job = test::try_job_of(random_experts(random));
    if (!job) continue;
    test::expect_engines_agree(*job, random, seed);
    if (testing::Test::HasFailure()) return;
    uneven += workload::expert_loads(*job).even() ? 0 : 1;
  }
  EXPECT_GT(uneven, 1);
}

// A rank that is twice as full takes as long as a job with twice the tokens for its experts, and
// ranks wait for it: the step is longer, by what only the fullest pays.
TEST(UnevenExperts, RanksWaitForTheFullest) {
  const run::Run even = played(mixtral({}), {.all_ranks = true});
  const run::Run hot = played(mixtral({{"moe_routing", "hot-rank:2"}}), {.all_ranks = true});
  EXPECT_GT(hot.performance.step_time_s, 1.2 * even.performance.step_time_s);
  const run::Breakdown &full = hot.ranks[0].breakdown_s, &other = hot.ranks[1].breakdown_s;
  EXPECT_GT(full.compute, even.ranks[0].breakdown_s.compute);
  EXPECT_LT(other.compute, even.ranks[1].breakdown_s.compute);
  EXPECT_GT(other.exposed_all_to_all, full.exposed_all_to_all);
  // What its experts do more is what seven others do less.
  EXPECT_NEAR(full.compute - even.ranks[0].breakdown_s.compute,
              7 * (even.ranks[1].breakdown_s.compute - other.compute),
              1e-6 * even.performance.step_time_s);
}

// Ranks of a pipeline's other stage, and of other replicas, see the same.
TEST(UnevenExperts, AnEvenDistributionChangesNothing) {
  const run::Run even = played(mixtral({}));
  const run::Run same = played(mixtral({{"moe_routing", "zipf:0"}}));
  EXPECT_EQ(even.performance.step_time_s, same.performance.step_time_s);
  EXPECT_EQ(even.memory.peak_bytes, same.memory.peak_bytes);
}

TEST(UnevenExperts, AHotRankDrawsMoreAndIsHotter) {
  const run::Run hot = played(
      mixtral({{"moe_routing", "hot-rank:2"}, {"clocks", "governed"}, {"cluster", "hgx-h200"}}),
      {.all_ranks = true, .energy_parts = true});
  EXPECT_GT(hot.ranks[0].mean_power_w, 1.1 * hot.ranks[1].mean_power_w);
  EXPECT_GT(hot.ranks[0].mean_gpu_c, hot.ranks[4].mean_gpu_c);
  double sum_w = 0;
  for (const run::Rank& rank : hot.ranks) sum_w += rank.mean_power_w;
  EXPECT_NEAR(sum_w / 16, hot.power.mean_w_per_gpu, 1e-6 * hot.power.mean_w_per_gpu);
  double stages_j = 0;
  for (const run::EnergyRow& row : hot.power.step_energy)
    if (row.dimension == "stage") stages_j += row.joules;
  EXPECT_NEAR(stages_j, hot.power.gpu_energy_j_per_step, 1e-6 * stages_j);
}

/// Bytes of a job whose tokens were drawn one by one, each two different experts of its layer.
double drawn_peak(const spec::Job& job, uint64_t seed, int64_t tokens) {
  Random random(seed);
  spec::Job counted = job;
  counted.training.moe_routing.kind = spec::RoutingKind::kCounts;
  for (int64_t layer = 0; layer < job.model.layer_count(); ++layer) {
    const std::vector<double> shares = workload::expert_shares(job, layer);
    std::vector<double> counts(shares.size());
    for (int64_t choice = 0; choice < 2 * tokens; ++choice) {
      double at = random.real(0, 1);
      size_t expert = 0;
      while (expert + 1 < shares.size() && at >= shares[expert]) at -= shares[expert++];
      counts[expert] += 1;
    }
    counted.training.moe_routing.counts.push_back(counts);
  }
  const workload::Workload workload = workload::lower(counted);
  return plan::memory(counted, workload, plan::divide(counted, workload)).worst().total();
}

// Tokens drawn one by one need as much memory as is predicted from what is expected of them; the
// fullest of eight ranks a little more, for any of them may be that.
TEST(UnevenExperts, MemoryIsThatOfDrawnTokens) {
  const spec::Job job = mixtral({{"moe_routing", "zipf:1"}});
  const workload::Workload workload = workload::lower(job);
  const double predicted = plan::memory(job, workload, plan::divide(job, workload)).worst().total();
  double mean = 0;
  constexpr int kDraws = 20;
  for (uint64_t seed = 0; seed < kDraws; ++seed) mean += drawn_peak(job, seed, 8 * 4096) / kDraws;
  EXPECT_NEAR(mean, predicted, 0.005 * predicted);
  const double even = played(mixtral({})).memory.peak_bytes;
  EXPECT_GT(predicted, 1.02 * even);
}

// One expert more on each of eight ranks, in each of a stage's 16 layers: three matrices of 4096 x
// 14336. A stage of eight ranks has one replica of them.
TEST(UnevenExperts, CopiesTakeTheMemoryOfTheirExperts) {
  const run::StageMemory without = played(mixtral({})).memory.stages.front();
  const run::StageMemory with =
      played(mixtral({{"moe_redundant_experts", "8"}})).memory.stages.front();
  const double elements = 16.0 * 3 * 4096 * 14336;
  EXPECT_NEAR(with.weights_bytes - without.weights_bytes, 2 * elements, 1);
  EXPECT_NEAR(with.gradients_bytes - without.gradients_bytes, 4 * elements, 1);
  EXPECT_NEAR(with.optimizer_bytes - without.optimizer_bytes, 12 * elements, 1);
}

// Where tokens are even copies divide nothing, and are summed once a step.
TEST(UnevenExperts, CopiesOfEvenExpertsCostTheirSums) {
  const run::Run without = played(mixtral({}));
  const run::Run with = played(mixtral({{"moe_redundant_experts", "8"}}));
  EXPECT_GT(with.performance.breakdown_s.exposed_all_to_all,
            without.performance.breakdown_s.exposed_all_to_all);
  EXPECT_GT(with.performance.step_time_s, without.performance.step_time_s);
}

// Eight experts and four copies on twelve ranks: those with whole experts take half as much again
// as the mean, those with halves half as much as these, and wait.
TEST(UnevenExperts, RanksThatDivideNoExpertsWaitUnderEvenRouting) {
  const spec::Job job = mixtral({{"gpus", "24"},
                                 {"ep", "12"},
                                 {"gbs", "24"},
                                 {"num_layers", "2"},
                                 {"moe_redundant_experts", "4"}});
  EXPECT_NEAR(workload::expert_loads(job).most, 1.5, 1e-12);
  Random random(1);
  test::expect_engines_agree(job, random, 1);
  const run::Run run = played(job, {.all_ranks = true});
  const run::Breakdown &whole = run.ranks[0].breakdown_s, &half = run.ranks[11].breakdown_s;
  EXPECT_GT(whole.compute, 1.2 * half.compute);
  EXPECT_LT(whole.exposed_all_to_all, half.exposed_all_to_all);
}

TEST(UnevenExperts, RowsSayWhatEachSettingWouldBring) {
  const run::Run run = played(mixtral({{"moe_routing", "zipf:1"}}), {.expert_rows = true});
  ASSERT_EQ(run.experts.size(), 6u);
  EXPECT_EQ(run.experts[0].setting, "--moe-routing zipf:1");
  EXPECT_EQ(run.experts[0].step_time_s, run.performance.step_time_s);
  const run::ExpertRow &even = run.experts[1], &by_load = run.experts[2], &copies = run.experts[3],
                       &capacity = run.experts[5];
  EXPECT_EQ(even.step_time_s, played(mixtral({})).performance.step_time_s);
  EXPECT_EQ(even.most_load, 1);
  EXPECT_LE(by_load.mean_load, run.experts[0].mean_load);
  EXPECT_EQ(copies.setting, "--moe-redundant-experts 8");
  EXPECT_LT(copies.mean_load, by_load.mean_load);
  EXPECT_GT(copies.peak_memory_bytes, by_load.peak_memory_bytes);
  EXPECT_GT(capacity.dropped_fraction, 0.05);
  EXPECT_TRUE(played(mixtral({}), {.expert_rows = true}).experts.empty());
  const std::vector<run::ExpertRow> of_capacity =
      played(mixtral({{"moe_routing", "zipf:1"}, {"moe_expert_capacity_factor", "1.25"}}),
             {.expert_rows = true})
          .experts;
  ASSERT_EQ(of_capacity.size(), 4u);
  EXPECT_EQ(of_capacity[3].setting, "--moe-redundant-experts 8");
  EXPECT_LT(of_capacity[3].dropped_fraction, of_capacity[0].dropped_fraction);
}

}  // namespace
}  // namespace ergometer::engine
