#include "optimize/optimize.h"
#include "base/test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "engine/simulate.h"
#include "optimize/test_jobs.h"

namespace ergometer::optimize {
namespace {

Values with(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Optimized optimized(const spec::Job& job, const Options& options) {
  return base::value_of(optimize(job, options));
}

TEST(Play, SaysWhatSimulateSays) {
  spec::Job job = spec::test::job_of(
      with(small_job(),
           {{"rank_map", "4-7,0-3,8-15"}, {"software", "megatron-lm"}, {"power_cap", "500"}}));
  job.conditions.seed = 7;
  const auto run = engine::simulate(job, {});
  const std::vector<uint64_t> seeds = {3, 7};
  const auto played = play(job, seeds);
  ASSERT_TRUE(run && played);
  EXPECT_DOUBLE_EQ((*played)[1].step_s, run->performance.step_time_s);
  EXPECT_DOUBLE_EQ((*played)[1].energy_j, run->power.energy_j_per_step);
  EXPECT_DOUBLE_EQ((*played)[1].max_c, run->thermal.max_gpu_c);
  EXPECT_NE((*played)[0].step_s, (*played)[1].step_s);
}

TEST(PairedGain, WidensWithSpreadAndFloor) {
  EXPECT_NEAR(student_95(11), 1.7959, 2e-3);
  EXPECT_NEAR(student_95(4), 2.1318, 2e-2);
  std::vector<Outcome> before(3), after(3);
  for (size_t i = 0; i < 3; ++i) before[i].step_s = 100;
  after[0].step_s = 98, after[1].step_s = 97, after[2].step_s = 96;
  // Gains 2, 3, 4 %: mean 3, deviation 1; t(2) is about 2.9; floor 0.
  const Gain gain = paired_gain(Objective::kTime, before, after, 0);
  EXPECT_NEAR(gain.value_pct, 3, 1e-12);
  EXPECT_NEAR(gain.value_pct - gain.low_pct, student_95(2) * std::sqrt(4.0 / 3), 1e-12);
  for (Outcome& outcome : after) outcome.step_s = 97;
  const Gain floor = paired_gain(Objective::kTime, before, after, 0.5);
  EXPECT_NEAR(floor.value_pct - floor.low_pct, 0.5, 1e-12);
}

TEST(Optimize, KeepsAJobThatNothingImproves) {
  Options options;
  options.knobs = {Knob::kCaps};
  options.judges = 4;
  const Optimized result = optimized(spec::test::job_of(small_job()), options);
  EXPECT_TRUE(result.keeps);
  EXPECT_EQ(result.chosen_outcome.step_s, result.unchanged_outcome.step_s);
}

TEST(Optimize, GivesTheStageWithTheHeadLessLayers) {
  // An 8B model's head is as long as two or three of its layers: the last of four stages of four
  // layers sets the pace.
  Options options;
  options.knobs = {Knob::kLayers};
  options.judges = 4;
  Values job = small_job();
  job.emplace_back("cuda_graphs", "true");  // else the host sets the pace
  const Optimized result = optimized(spec::test::job_of(job), options);
  ASSERT_FALSE(result.keeps);
  EXPECT_LT(result.chosen.parallelism.stage_layers.back(), 4);
  // The job's own split has been played as the unchanged job.
  EXPECT_TRUE(std::ranges::none_of(result.rows,
                                   [](const Row& row) { return row.name == "layers 4,4,4,4"; }));
  EXPECT_GT(result.gain.low_pct, 0);
  EXPECT_LT(result.chosen_outcome.step_s, result.unchanged_outcome.step_s);
}

TEST(Optimize, MovesWorkAndWattsAwayFromAHotNode) {
  Options options;
  options.knobs = {Knob::kPlacement, Knob::kCaps};
  options.judges = 4;
  const Optimized result = optimized(
      spec::test::job_of(
          with(small_job(),
               {{"power_cap", "500"}, {"override", "node1.inlet=40C,node1.gpu6.resistance=3"}})),
      options);
  // Stage 3, with the head, runs there; any stage that has slack does better.
  ASSERT_FALSE(result.keeps);
  EXPECT_GT(result.gain.value_pct, 0.5);
  ASSERT_TRUE(result.robustness.faults_moved_pct.has_value());
}

TEST(Optimize, LockedClocksSaveEnergyWithinTheTimeGranted) {
  Options options;
  options.objective = Objective::kEnergy;
  options.most_slowdown_pct = 5;
  options.knobs = {Knob::kClocks};
  options.judges = 4;
  const Optimized result = optimized(spec::test::job_of(small_job()), options);
  ASSERT_FALSE(result.frontier.empty());
  for (size_t i = 1; i < result.frontier.size(); ++i)
    EXPECT_GE(result.frontier[i].clocks.point.time_s, result.frontier[i - 1].clocks.point.time_s);
  ASSERT_FALSE(result.keeps);
  EXPECT_LT(result.chosen_mean.energy_j, result.unchanged_mean.energy_j);
  EXPECT_LE(result.chosen_mean.step_s, 1.05 * result.unchanged_mean.step_s);
}

// The second stage has no layers: its passes take no time, and its clock is what it settles at.
TEST(Optimize, AStageWithoutLayersHasAFrontier) {
  Options options;
  options.objective = Objective::kEnergy;
  options.most_slowdown_pct = 5;
  options.knobs = {Knob::kClocks};
  options.judges = 2;
  Values values = small_job();
  values.emplace_back("stage_layers", "6,0,6,4");
  const Optimized result = optimized(spec::test::job_of(values), options);
  EXPECT_EQ(result.no_frontier, "");
  ASSERT_FALSE(result.frontier.empty());
  for (const auto& point : result.frontier) EXPECT_GT(point.clocks.lock_hz[1], 0);
  ASSERT_EQ(result.tables.stages[1].chunks[0].forward.size(), 1u);
  EXPECT_EQ(result.tables.stages[1].chunks[0].forward[0].time_s, 0);
  EXPECT_EQ(result.tables.stages[1].chunks[0].forward[0].energy_j, 0);
}

/// A job that nobody designed: sizes, split, caps and faults at random.
spec::Job random_job(uint64_t seed) {
  const base::Random random(seed, 0, "optimize test");
  const auto pick = [&](uint64_t n, std::vector<std::string> words) {
    return words[static_cast<size_t>(random.below(n, std::ssize(words)))];
  };
  const std::string pp = pick(0, {"2", "4"}), tp = pick(1, {"2", "4"});
  Values values = {{"model", "llama3-8b"},
                   {"num_layers", "8"},
                   {"cluster", "charllm-h200"},
                   {"gpus", "16"},
                   {"tp", tp},
                   {"pp", pp},
                   {"gbs", pick(2, {"16", "32"})},
                   {"mbs", "1"},
                   {"seq", pick(3, {"2048", "4096"})}};
  if (random.uniform(4) < 0.5) values.emplace_back("recompute", "full");
  if (random.uniform(5) < 0.5) values.emplace_back("power_cap", pick(6, {"450", "550"}));
  if (random.uniform(7) < 0.5)
    values.emplace_back("override", pick(8, {"node0.inlet=38C", "node1.gpu2.resistance=2",
                                             "node0.gpu5.leakage=3", "node1.blocked_inlet=40%"}));
  return spec::test::job_of(values);
}

TEST(Optimize, NeverReturnsWhatItsOwnSimulationCallsWorse) {
  for (int64_t seed = 1; seed <= base::random_cases(4); ++seed) {
    const spec::Job job = random_job(static_cast<uint64_t>(seed));
    Options options;
    options.judges = 4;
    options.objective = static_cast<Objective>(seed % 4);
    const Optimized result = optimized(job, options);
    const auto before = engine::simulate(job, {}), after = engine::simulate(result.chosen, {});
    ASSERT_TRUE(before && after);
    if (result.keeps) {
      EXPECT_EQ(before->performance.step_time_s, after->performance.step_time_s);
    } else if (options.objective == Objective::kTime) {
      EXPECT_LT(after->performance.step_time_s, before->performance.step_time_s);
    } else {
      EXPECT_LT(value_of(options.objective, result.chosen_outcome),
                value_of(options.objective, result.unchanged_outcome));
      EXPECT_LE(after->performance.step_time_s, 1.01 * before->performance.step_time_s);
    }
  }
}

TEST(Optimize, AnswersTheSameWithAnyNumberOfThreads) {
  const spec::Job job = random_job(9);
  Options one, two;
  one.judges = two.judges = 4;
  two.threads = 2;
  const Optimized a = optimized(job, one), b = optimized(job, two);
  EXPECT_EQ(a.gain.value_pct, b.gain.value_pct);
  EXPECT_EQ(a.best_name, b.best_name);
  EXPECT_EQ(a.rows.size(), b.rows.size());
}

}  // namespace
}  // namespace ergometer::optimize
