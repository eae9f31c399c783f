// Jobs on groups of unlike nodes: who computes how long, who waits, what fits where.
#include <gtest/gtest.h>

#include <string>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"
#include "engine/time/test_plan.h"

namespace ergometer::engine {
namespace {

using test::Values;

std::string groups(const std::string& first, const std::string& second) {
  return "{groups: [{node: " + first + ", nodes: 1}, {node: " + second + ", nodes: 1}]}";
}

spec::Job job_on(const std::string& cluster, const Values& more = {}) {
  Values values = {
      {"model", "llama3-8b"}, {"cluster", cluster}, {"gpus", "16"},  {"tp", "8"},
      {"mbs", "1"},           {"gbs", "16"},        {"seq", "4096"}, {"clocks", "constant"}};
  values.insert(values.end(), more.begin(), more.end());
  return test::job_of(values);
}

run::Run played_on(const spec::Job& job, EngineKind engine = EngineKind::kSweep) {
  return base::value_of(simulate(job, {.engine = engine, .all_ranks = true}));
}

// Two replicas, of which the first computes 1 s and the second 3 s; then both reduce for 0.5 s. The
// first waits for the second: 2.5 s of all-reduce, and both end at 3.5 s.
TEST(UnlikeNodes, AReductionWaitsForTheSlowerReplica) {
  test::TestPlan test(1, 1, 2, 1);
  test.job.cluster.node.gpus = 1;
  test.job.cluster.groups = {{test.job.cluster.node, 1}, {test.job.cluster.node, 1}};
  const int32_t work = test.op(1);
  const int32_t reduce =
      test.communication(workload::CollectiveKind::kAllReduce, workload::GroupKind::kData, 0.5);
  test.compute(0, work, workload::Stream::kCompute);
  test.collective(0, reduce, workload::Stream::kCompute);
  test.costs.groups = {test.costs, test.costs};
  test.costs.groups[1].prices[0][0].fixed_s = 3;
  test.costs.prices = test.costs.groups[1].prices;
  test.costs.slowest_group = {1};
  for (const Timeline& timeline : {sweep(test.input()), simulate_events(test.input())}) {
    const auto part = [&](size_t rank, Part what) {
      return timeline.ranks[rank].parts_s[static_cast<size_t>(what)];
    };
    EXPECT_NEAR(timeline.step_s, 3.5, 1e-9);
    EXPECT_NEAR(part(0, Part::kCompute), 1, 1e-9);
    EXPECT_NEAR(part(0, Part::kAllReduce), 2.5, 1e-9);
    EXPECT_NEAR(part(1, Part::kCompute), 3, 1e-9);
    EXPECT_NEAR(part(1, Part::kAllReduce), 0.5, 1e-9);
  }
}

// Two replicas that take 3 s and 1 s for a micro batch have 2 and 6 of them: both compute for 6 s
// and reduce for 0.5 s, and nobody waits.
TEST(UnlikeNodes, BatchesBySpeedLetNobodyWait) {
  test::TestPlan test(1, 1, 2, 1);
  test.job.cluster.node.gpus = 1;
  test.job.cluster.groups = {{test.job.cluster.node, 1}, {test.job.cluster.node, 1}};
  test.job.parallelism.group_micro_batches = {2, 6};
  const int32_t work = test.op(1);
  const int32_t reduce =
      test.communication(workload::CollectiveKind::kAllReduce, workload::GroupKind::kData, 0.5);
  for (int32_t batch = 0; batch < 6; ++batch)
    test.add(0, {.kind = plan::InstructionKind::kCompute, .op = work, .micro_batch = batch});
  test.add(0, {.kind = plan::InstructionKind::kCollective, .op = reduce, .micro_batch = 5});
  test.costs.groups = {test.costs, test.costs};
  test.costs.groups[0].prices[0][0].fixed_s = 3;
  test.costs.prices = test.costs.groups[0].prices;
  test.costs.slowest_group = {0};
  for (const Timeline& timeline : {sweep(test.input()), simulate_events(test.input())}) {
    EXPECT_NEAR(timeline.step_s, 6.5, 1e-9);
    for (const RankTimes& rank : timeline.ranks) {
      EXPECT_NEAR(test::part(rank, Part::kCompute), 6, 1e-9);
      EXPECT_NEAR(test::part(rank, Part::kAllReduce), 0.5, 1e-9);
    }
  }
}

// Of 16 micro batches of four sequences, long enough that no host is late, A100 take fewer: the
// step is shorter than with 8 each, nothing more is sent, and both engines play it alike.
TEST(UnlikeNodes, BatchesBySpeedShortenTheStep) {
  const std::string cluster = groups("hgx-a100-80gb", "hgx-h100");
  const Values large = {{"mbs", "4"}, {"gbs", "64"}};
  Values shares = large;
  shares.push_back({"batches_by_speed", "on"});
  const spec::Job even = job_on(cluster, large), by_speed = job_on(cluster, shares);
  const std::vector<int64_t>& batches = by_speed.parallelism.group_micro_batches;
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0] + batches[1], 16);
  EXPECT_LT(2 * batches[0], batches[1] + 3);
  const run::Run shared = played_on(by_speed), apart = played_on(even);
  EXPECT_LT(shared.performance.step_time_s, 0.75 * apart.performance.step_time_s);
  EXPECT_NEAR(shared.performance.step_time_s,
              played_on(by_speed, EngineKind::kEvents).performance.step_time_s,
              1e-6 * shared.performance.step_time_s);
  for (size_t link = 0; link < apart.links.size(); ++link)
    EXPECT_NEAR(shared.links[link].bytes_per_step, apart.links[link].bytes_per_step,
                1e-6 * apart.links[link].bytes_per_step);
}

TEST(UnlikeNodes, BatchesBySpeedNeedWholeReplicasThatMeetOnceAStep) {
  const Values base = {{"model", "llama3-8b"},
                       {"cluster", groups("hgx-a100-80gb", "hgx-h100")},
                       {"gpus", "16"},
                       {"gbs", "16"},
                       {"batches_by_speed", "on"}};
  const auto refusal = [&](const Values& more) {
    Values values = base;
    values.insert(values.end(), more.begin(), more.end());
    const auto job = test::try_job_of(values);
    return job ? std::string() : job.error().message;
  };
  EXPECT_NE(refusal({{"tp", "4"}, {"pp", "2"}}).find("--rank-map"), std::string::npos);
  EXPECT_EQ(refusal({{"tp", "4"}, {"pp", "2"}, {"rank_map", "0-3,8-11,4-7,12-15"}}), "");
  EXPECT_NE(refusal({{"tp", "8"}, {"zero", "3"}}).find("--zero 0 or 1"), std::string::npos);
}

// Stage 0 on A100 computes as long as it does where all are A100, stage 1 on H100 as where all are
// H100.
TEST(UnlikeNodes, EveryStageComputesAsOnItsOwnKind) {
  const Values two_stages = {{"pp", "2"}};
  const run::Run mixed = played_on(job_on(groups("hgx-a100-80gb", "hgx-h100"), two_stages)),
                 old = played_on(job_on("hgx-a100-80gb", two_stages)),
                 young = played_on(job_on("hgx-h100", two_stages));
  ASSERT_EQ(mixed.ranks.size(), 16u);
  EXPECT_NEAR(mixed.ranks[0].breakdown_s.compute, old.ranks[0].breakdown_s.compute,
              1e-3 * old.ranks[0].breakdown_s.compute);
  EXPECT_NEAR(mixed.ranks[8].breakdown_s.compute, young.ranks[8].breakdown_s.compute,
              1e-3 * young.ranks[8].breakdown_s.compute);
  ASSERT_EQ(mixed.gpu_kinds.size(), 2u);
  EXPECT_EQ(mixed.gpu_kinds[0].gpu, "A100-SXM4-80GB");
  EXPECT_EQ(mixed.gpu_kinds[1].ranks, "8-15");
  EXPECT_EQ(mixed.gpu_kinds[1].stages, "1");
  EXPECT_NEAR(
      mixed.gpu_kinds[0].compute_s + mixed.gpu_kinds[0].communication_s + mixed.gpu_kinds[0].idle_s,
      mixed.performance.step_time_s, 1e-9 * mixed.performance.step_time_s);
}

TEST(UnlikeNodes, ReplicasComputeAsOnTheirOwnKind) {
  const run::Run mixed = played_on(job_on(groups("hgx-a100-80gb", "hgx-h100"))),
                 events =
                     played_on(job_on(groups("hgx-a100-80gb", "hgx-h100")), EngineKind::kEvents),
                 young = played_on(job_on("hgx-h100"));
  EXPECT_NEAR(mixed.performance.step_time_s, events.performance.step_time_s,
              1e-6 * mixed.performance.step_time_s);
  EXPECT_NEAR(mixed.ranks[8].breakdown_s.compute, young.ranks[8].breakdown_s.compute,
              0.05 * young.ranks[8].breakdown_s.compute);
  EXPECT_GT(mixed.ranks[0].breakdown_s.compute, 1.5 * mixed.ranks[8].breakdown_s.compute);
}

TEST(UnlikeNodes, GroupsOfOneKindAreThePlainCluster) {
  spec::Job same = job_on(groups("hgx-h100", "hgx-h100"), {{"pp", "2"}});
  spec::Job plain = job_on("hgx-h100", {{"pp", "2"}});
  EXPECT_EQ(played_on(same).performance.step_time_s, played_on(plain).performance.step_time_s);
}

// 80 GB take what 40 GB do not: the rank that lacks memory is named with its GPU.
TEST(UnlikeNodes, MemoryIsEachKindsOwn) {
  const Values tight = {{"pp", "2"}, {"gbs", "64"}, {"mbs", "4"}, {"tp", "2"}, {"zero", "0"}};
  const spec::Job job = job_on(groups("hgx-a100-80gb", "hgx-a100-40gb"), tight);
  const run::Run run = played_on(job);
  EXPECT_FALSE(run.memory.fits);
  EXPECT_NE(run.memory.advice.find("on stage 1 (A100-SXM4-40GB)"), std::string::npos)
      << run.memory.advice;
}

TEST(UnlikeNodes, LayersBySpeedShortenTheStep) {
  const std::string cluster = groups("hgx-a100-80gb", "hgx-h100");
  const spec::Job even = job_on(cluster, {{"pp", "2"}}),
                  by_speed = job_on(cluster, {{"pp", "2"}, {"layers_by_speed", "on"}});
  ASSERT_EQ(by_speed.parallelism.stage_layers.size(), 2u);
  EXPECT_LT(by_speed.parallelism.stage_layers[0], by_speed.parallelism.stage_layers[1]);
  EXPECT_LT(played_on(by_speed).performance.step_time_s, played_on(even).performance.step_time_s);
}

TEST(UnlikeNodes, ATensorGroupOverTwoKindsIsRefused) {
  const auto job = test::try_job_of({{"model", "llama3-8b"},
                                     {"cluster", groups("hgx-a100-80gb", "hgx-h100")},
                                     {"gpus", "16"},
                                     {"tp", "16"},
                                     {"allow_tp_across_nodes", "on"},
                                     {"gbs", "16"}});
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message.find("of one tensor-parallel group lie on"), std::string::npos)
      << job.error().message;
}

}  // namespace
}  // namespace ergometer::engine
