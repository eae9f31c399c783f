// The sweep against the event engine on random jobs: every parallelism, schedule and overlap mixed,
// planned as a user's job is, with random prices and a clock of its own for every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "cost/parameters.h"
#include "engine/time/compile.h"
#include "engine/time/sweep.h"
#include "engine/time/test_agreement.h"
#include "plan/test_job.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using test::Random;

/// A random layout of 4 to 64 ranks that a resolved job may have.
plan::test::Shape random_shape(Random& random) {
  for (;;) {
    plan::test::Shape shape;
    shape.tp = random.of<int64_t>({1, 1, 2, 4});
    shape.cp = random.of<int64_t>({1, 1, 2});
    shape.pp = random.of<int64_t>({1, 2, 3, 4});
    shape.vpp = shape.pp > 1 ? random.of<int64_t>({1, 1, 2}) : 1;
    shape.dp = random.of<int64_t>({1, 2, 4, 8});
    shape.ep = random.of<int64_t>({1, 1, 2, 4, 8});
    shape.layers = shape.pp * shape.vpp * random.of<int64_t>({1, 2});
    shape.micro_batches =
        shape.vpp > 1 ? shape.pp * random.of<int64_t>({1, 2}) : 1 + random.below(6);
    const int64_t ranks = shape.tp * shape.cp * shape.dp;
    if (ranks * shape.pp >= 4 && ranks * shape.pp <= 64 && ranks % shape.ep == 0) return shape;
  }
}

void choose_data_parallelism(Random& random, spec::Job& job) {
  spec::Parallelism& parallel = job.parallelism;
  parallel.zero_stage = static_cast<int>(random.below(parallel.pp == 1 ? 4 : 3));
  parallel.fsdp = parallel.zero_stage == 3;
  if (parallel.fsdp && parallel.dp > 2 && parallel.ep == 1 && random.below(2) == 0)
    parallel.fsdp_shard_size = 2;
}

spec::Job random_job(Random& random) {
  spec::Job job = plan::test::make_job(random_shape(random));
  spec::Parallelism& parallel = job.parallelism;
  using enum spec::Schedule;
  if (parallel.vpp == 1 && parallel.pp > 1)
    parallel.schedule = random.of<spec::Schedule>({kOneFOneB, kOneFOneB, kGpipe, kZbH1, kZbH2});
  if (parallel.vpp == 2)
    parallel.schedule = random.of<spec::Schedule>(
        {kInterleaved, kInterleaved, kLoopedBfs, kZbV, kVHalf, kVMin, kDualPipeV});
  if (parallel.schedule == kDualPipeV)
    job.training.global_batch = 2 * parallel.pp * parallel.dp * job.training.micro_batch;
  choose_data_parallelism(random, job);
  job.model.tied_embeddings = random.below(3) == 0;
  spec::Training& training = job.training;
  training.mode =
      random.of<spec::Mode>({spec::Mode::kPretrain, spec::Mode::kPretrain, spec::Mode::kPretrain,
                             spec::Mode::kLora, spec::Mode::kPrefill});
  if (parallel.pp > 1 && parallel.vpp == 1 && parallel.schedule == kOneFOneB &&
      training.mode == spec::Mode::kPretrain && parallel.zero_stage < 2)
    parallel.vocabulary = static_cast<spec::VocabularyParallel>(random.below(4));
  if (parallel.pp > 1 && parallel.schedule == kOneFOneB && !parallel.divides_vocabulary() &&
      training.mode == spec::Mode::kPretrain && random.below(3) == 0)
    parallel.stage_training = spec::StageTraining::kLocalHeads;
  training.recompute = random.of<spec::Recompute>({spec::Recompute::kNone, spec::Recompute::kFull});
  training.overlap_grad_reduce = random.below(2) == 0;
  training.overlap_param_gather =
      training.overlap_grad_reduce && parallel.zero_stage > 0 && random.below(2) == 0;
  training.overlap_p2p = random.below(2) == 0;
  training.overlap_tp = random.below(2) == 0;
  training.batch_p2p_sync = !training.overlap_p2p && random.below(3) == 0;
  training.bucket_elements = random.of<double>({0, 100, 250});
  return job;
}

/// Lays the job on nodes of one to eight GPUs with a card each, joined by a network of any kind.
void lay_on_network(Random& random, spec::FabricKind kind, spec::Job& job) {
  spec::Cluster& cluster = job.cluster;
  cluster.node.gpus = random.of<int>({1, 2, 4, 8});
  cluster.domain_gpus = cluster.node.gpus;
  cluster.node.nics.resize(static_cast<size_t>(cluster.node.gpus));  // of the eight there are
  cluster.nodes = job.nodes();
  spec::Fabric& fabric = cluster.fabric;
  fabric.kind = kind;
  fabric.topology.routing = static_cast<spec::Routing>(random.below(2));
  fabric.topology.wraparound = random.below(2) == 0;
  fabric.topology.hop_s = random.of<double>({0, 1e-6});
  using enum spec::FabricKind;
  if (has_tiers(kind)) fabric.planes = {random.of<int64_t>({1, 2, 4}), 0, random.below(2) == 0};
  if (fabric.planes.count > 2) fabric.planes.down = random.below(3);
  if (kind == kOptical)
    fabric.topology.circuits = {
        random.of<int64_t>({1, 2, 3, 4, 8}), random.real(5e9, 50e9),
        random.of<spec::Reconfigure>(
            {spec::Reconfigure::kJob, spec::Reconfigure::kStep, spec::Reconfigure::kPhase}),
        random.of<double>({0, 1e-3})};
  if (has_tiers(kind) || kind == kOptical) return;
  int64_t step = kind == kTorus ? 1 : random.of<int64_t>({1, 2, 4});
  const int64_t unit = step;
  fabric.tiers = {{"switch", step, 1}};
  for (const char* name : {"x", "y"}) {
    const bool last = *name == 'y';
    const int64_t size = last ? (cluster.nodes + step - 1) / step + 1 : 2 + random.below(3);
    fabric.topology.dimensions.push_back(
        {name, size, step, kind == kDragonfly ? step : unit, random.real(5e9, 50e9)});
    step *= size;
    fabric.tiers.push_back({name, step, 1});
  }
}

/// What collectives take over a job's network: a few microseconds, and bytes that weigh as much.
cost::Price network_price(const workload::Operator& op, const plan::GroupPlacement& where) {
  cost::DomainParameters domain;
  domain.ring_bytes_per_s = domain.half_ring_bytes_per_s = domain.pair_ring_bytes_per_s =
      domain.pair_bytes_per_s = domain.all_to_all_bytes_per_s = domain.low_latency_bytes_per_s =
          1e9;
  domain.hop_s = domain.send_s = 1e-6;
  cost::FabricParameters fabric;
  fabric.line_efficiency = fabric.all_to_all_line_efficiency = 0.01;
  fabric.low_latency_bytes_per_s = 1e9;
  fabric.low_latency_base_s = fabric.ring_base_s = fabric.send_s = 2e-6;
  return cost::price_collective(cost::Device{}, domain, fabric, op, where);
}

/// A planned job with random prices, clocks and stretch, every rank sampled.
struct RandomJob {
  spec::Job job;
  plan::Plan plan;
  cost::CostTable costs;
  Stretch stretch;
  std::vector<double> clocks_hz;
  std::vector<int64_t> sampled;

  explicit RandomJob(uint64_t seed, std::optional<spec::FabricKind> network = std::nullopt) {
    Random random(seed);
    job = random_job(random);
    if (network) lay_on_network(random, *network, job);
    plan = plan::make_plan(job, plan::test::fake_workload(job));
    costs.reference_clock_hz = 1.4e9;
    costs.launch_s = random.of<double>({0, 4e-6, 3e-5});
    for (size_t role = 0; role < plan.roles.size(); ++role) add_prices(random, role);
    if (network) price_network();
    for (int64_t rank = 0; rank < job.gpus; ++rank) clocks_hz.push_back(random.real(1e9, 1.6e9));
    sampled.resize(static_cast<size_t>(job.gpus));
    std::iota(sampled.begin(), sampled.end(), 0);
  }

  void add_prices(Random& random, size_t role) {
    costs.prices.emplace_back();
    for (const workload::Operator& op : plan.operators) {
      const bool communication = op.kind == workload::OperatorKind::kCollective;
      const double fixed_s = random.real(2e-6, 6e-5),
                   clocked_s = communication ? 0 : random.real(2e-6, 1e-4);
      costs.prices.back().push_back({.fixed_s = fixed_s, .clocked_s = clocked_s});
    }
    stretch.emplace_back();
    for (size_t i = 0; i < plan.roles[role].program.size(); ++i)
      stretch.back().push_back(random.below(8) == 0 ? static_cast<float>(random.real(1, 1.4))
                                                    : 1.0f);
  }

  void price_network() {
    for (size_t role = 0; role < plan.roles.size(); ++role)
      for (size_t op = 0; op < plan.operators.size(); ++op)
        if (plan.operators[op].kind == workload::OperatorKind::kCollective)
          costs.prices[role][op] = network_price(plan.operators[op], plan.placements[role][op]);
  }

  /// The same on two or three groups of unlike nodes, of which none cuts a tensor-parallel group.
  void spread_over_groups(uint64_t seed) {
    Random random(seed);
    const int64_t nodes = job.gpus / job.parallelism.tp;
    job.cluster.node.gpus = static_cast<int>(job.parallelism.tp);
    for (int group = 0; group < 3; ++group)
      job.cluster.groups.push_back(
          {job.cluster.node, 1 + random.below(std::max<int64_t>(1, nodes / 2))});
    for (size_t group = 0; group < job.cluster.groups.size(); ++group) {
      costs.prices.clear();
      stretch.clear();
      for (size_t role = 0; role < plan.roles.size(); ++role) add_prices(random, role);
      costs.groups.push_back(costs);
    }
    for (size_t role = 0; role < plan.roles.size(); ++role) {
      costs.slowest_group.push_back(spec::groups_of_stage(job, static_cast<int64_t>(role)).front());
      costs.prices[role] = costs.groups[costs.slowest_group.back()].prices[role];
    }
  }

  EngineInput input() const {
    return {.job = job,
            .plan = plan,
            .costs = costs,
            .clocks_hz = clocks_hz,
            .sampled_ranks = sampled,
            .stretch = stretch};
  }
};

TEST(Agreement, SweepAndEventsAgreeOnRandomJobs) {
  std::set<std::string>
      seen;  // what the jobs exercised, so that the test cannot become easy unnoticed
  for (uint64_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    const RandomJob random(seed);
    test::expect_agreement(random.input(), seed);
    for (const plan::Role& role : random.plan.roles)
      for (const plan::Instruction& it : role.program) {
        seen.insert("instruction " + std::to_string(static_cast<int>(it.kind)));
        seen.insert("stream " + std::to_string(static_cast<int>(it.stream)));
      }
    seen.insert("schedule " + std::to_string(static_cast<int>(random.job.parallelism.schedule)));
    seen.insert("zero " + std::to_string(random.job.parallelism.zero_stage));
    seen.insert("stages " + std::string(spec::to_word(random.job.parallelism.stage_training)));
    seen.insert("vocabulary " + std::string(spec::to_word(random.job.parallelism.vocabulary)));
  }
  for (int kind = 0; kind <= static_cast<int>(plan::InstructionKind::kHostSync); ++kind)
    EXPECT_TRUE(seen.contains("instruction " + std::to_string(kind))) << kind;
  for (int schedule = 0; schedule < static_cast<int>(spec::Schedule::kFile); ++schedule)
    EXPECT_TRUE(seen.contains("schedule " + std::to_string(schedule))) << schedule;
  for (const char* word : {"none", "one-barrier", "two-barriers", "interlaced"})
    EXPECT_TRUE(seen.contains(std::string("vocabulary ") + word)) << word;
  for (const char* word : {"together", "local-heads"})
    EXPECT_TRUE(seen.contains(std::string("stages ") + word)) << word;
  for (int zero = 0; zero < 4; ++zero)
    EXPECT_TRUE(seen.contains("zero " + std::to_string(zero))) << zero;
}

TEST(Agreement, SweepAndEventsAgreeOnNetworksOfEveryKind) {
  constexpr int64_t kKinds = static_cast<int64_t>(spec::FabricKind::kOptical) + 1;
  std::set<std::string> held_up;  // kinds with a collective that their own links or rails hold up
  for (uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    const auto kind = static_cast<spec::FabricKind>(seed % kKinds);
    const RandomJob random(seed, kind);
    test::expect_agreement(random.input(), seed);
    for (const std::vector<plan::GroupPlacement>& role : random.plan.placements)
      for (const plan::GroupPlacement& where : role)
        if (where.ring_uplink > 1 || where.exchange_uplink > 1 || where.ring_crosses_rails > 0)
          held_up.insert(std::string(spec::to_word(kind)));
  }
  EXPECT_EQ(held_up,
            (std::set<std::string>{"dragonfly", "fat-tree", "hyperx", "optical", "rail-only",
                                   "rail-optimized", "single-switch", "torus"}));
}

TEST(Agreement, SweepAndEventsAgreeOnUnlikeNodes) {
  int mixed = 0;
  for (uint64_t seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    RandomJob random(seed);
    random.spread_over_groups(seed);
    test::expect_agreement(random.input(), seed);
    for (int64_t stage = 0; stage < random.job.parallelism.pp; ++stage)
      mixed += spec::groups_of_stage(random.job, stage).size() > 1 ? 1 : 0;
  }
  EXPECT_GT(mixed, 500);
}

// Ranks that repeat each other are played once: to the bit what all of them, played, come to.
TEST(Agreement, ReplicasPlayedOnceAreAllReplicas) {
  int fewer = 0;
  for (uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    const RandomJob random(seed);
    EngineInput input = random.input();
    const int64_t all = input.plan.ranks_per_role;
    // Clocks that repeat themselves after one, two or four tensor-parallel groups.
    std::vector<double> clocks_hz(input.clocks_hz.begin(), input.clocks_hz.end());
    const int64_t period = random.job.parallelism.tp << (seed % 3);
    for (size_t i = 0; i < clocks_hz.size(); ++i) {
      const auto in_role = static_cast<int64_t>(i) % all;
      clocks_hz[i] = clocks_hz[i - static_cast<size_t>(in_role - in_role % period)];
    }
    input.clocks_hz = clocks_hz;
    const RankLayout distinct = RankLayout::of_distinct(random.job, all, clocks_hz);
    fewer += distinct.ranks() < all ? 1 : 0;
    const Timeline once = sweep_ranks(input, distinct),
                   each = sweep_ranks(input, RankLayout::of_job(random.job, all));
    EXPECT_EQ(once.step_s, each.step_s) << "seed " << seed;
    ASSERT_EQ(once.ranks.size(), each.ranks.size());
    for (size_t rank = 0; rank < each.ranks.size(); ++rank) {
      EXPECT_EQ(once.ranks[rank].end_s, each.ranks[rank].end_s) << "seed " << seed;
      EXPECT_EQ(once.ranks[rank].parts_s, each.ranks[rank].parts_s) << "seed " << seed;
    }
    ASSERT_EQ(once.spans.size(), each.spans.size());
    for (size_t i = 0; i < each.spans.size(); ++i)
      EXPECT_EQ(once.spans[i].end_s, each.spans[i].end_s) << "seed " << seed;
  }
  EXPECT_GT(fewer, 100);
}

/// Clocks around `centre_hz`, one a rank; the wider they lie, the fewer kernels are merged.
std::vector<double> clocks_around(double centre_hz, double spread, size_t ranks, uint64_t seed) {
  Random random(seed);
  std::vector<double> clocks_hz;
  for (size_t i = 0; i < ranks; ++i)
    clocks_hz.push_back(centre_hz * random.real(1 - spread, 1 + spread));
  return clocks_hz;
}

// A plan compiled for some clocks and played at others: to the bit what one compiled for them
// gives.
TEST(Agreement, APlanCompiledForOtherClocksIsTheSame) {
  int kept = 0, compiled_anew = 0;
  for (uint64_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    const RandomJob random(seed);
    CompiledRoles compiled;
    const CompiledRole* before = nullptr;
    size_t steps_before = 0;
    for (uint64_t round = 0; round < 6; ++round) {
      EngineInput input = random.input();
      const std::vector<double> clocks_hz =
          clocks_around(1.3e9 + 0.1e9 * static_cast<double>(round % 3), round < 4 ? 0.01 : 0.3,
                        input.clocks_hz.size(), 10 * seed + round);
      input.clocks_hz = clocks_hz;
      const Timeline again = sweep(input, compiled), anew = sweep(input);
      ASSERT_EQ(again.ranks.size(), anew.ranks.size());
      for (size_t rank = 0; rank < anew.ranks.size(); ++rank) {
        EXPECT_EQ(again.ranks[rank].end_s, anew.ranks[rank].end_s) << "seed " << seed;
        EXPECT_EQ(again.ranks[rank].parts_s, anew.ranks[rank].parts_s) << "seed " << seed;
      }
      const auto [slowest, fastest] = std::ranges::minmax_element(
          std::span(clocks_hz).first(static_cast<size_t>(input.plan.ranks_per_role)));
      const CompiledRole* now = &compiled.of(input, 0,
                                             {.low = input.costs.reference_clock_hz / *fastest,
                                              .high = input.costs.reference_clock_hz / *slowest});
      if (before == now) ++(now->steps.size() == steps_before ? kept : compiled_anew);
      before = now;
      steps_before = now->steps.size();
    }
  }
  EXPECT_GT(kept, 500);
  EXPECT_GT(compiled_anew, 5);
}

// Lines that cross at 2, compared below it; at 0.5, above it; at 1, on both sides.
TEST(SureClocks, EndsOfARangeStayOnTheirSides) {
  SureClocks sure;
  EXPECT_TRUE(sure.cover({.low = 0.1, .high = 9}));
  sure.compared(2, {.low = 1, .high = 1.5});
  EXPECT_TRUE(sure.cover({.low = 0.1, .high = 1.9}));
  EXPECT_FALSE(sure.cover({.low = 1, .high = 2}));
  sure.compared(0.5, {.low = 1, .high = 1.5});
  EXPECT_TRUE(sure.cover({.low = 0.6, .high = 0.7}));
  EXPECT_FALSE(sure.cover({.low = 0.5, .high = 1}));
  sure.compared(1, {.low = 0.9, .high = 1.1});
  EXPECT_TRUE(sure.cover({.low = 0.8, .high = 1.5}));
  EXPECT_FALSE(sure.cover({.low = 0.6, .high = 0.7}));
  EXPECT_FALSE(sure.cover({.low = 1.2, .high = 1.3}));
  for (const double never : {-1.0, 0.0, HUGE_VAL, std::nan("")})
    sure.compared(never, {.low = 0.9, .high = 1.1});
  EXPECT_TRUE(sure.cover({.low = 0.8, .high = 1.5}));
}

}  // namespace
}  // namespace ergometer::engine
