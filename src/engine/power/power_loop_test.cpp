#include "engine/power/power_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "base/test_support.h"
#include "engine/outcome/power_interval.h"
#include "engine/outcome/powered.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"
#include "engine/views/power_record.h"

namespace ergometer::engine {
namespace {

using test::job_of;
using test::Values;

/// Llama-3-8B on two air-cooled nodes of eight H100: TP 2, PP 2, DP 4, 8 micro batches.
spec::Job job_with(const Values& more = {}) { return test::llama3_8b(16, more); }

run::Run run_of(const Values& more = {}, bool ranks = false) {
  return base::value_of(simulate(job_with(more), {.all_ranks = ranks}));
}

double sum(const std::vector<run::PowerPart>& parts) {
  double watts = 0;
  for (const run::PowerPart& part : parts) watts += part.watts;
  return watts;
}

double mean(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values) all += value / static_cast<double>(values.size());
  return all;
}

/// The loop and all it needs, for tests that look inside.
struct Loop {
  spec::Job job;
  workload::Workload work;
  plan::Plan plan;
  cost::CostTable costs;
  Stretch stretch;
  EngineInput input;
  StepActivities activity;
  mutable Fleet fleet;  // whose kinds the loop gives their paces

  explicit Loop(const Values& more)
      : job(job_with(more)),
        work(workload::lower(job)),
        plan(plan::make_plan(job, work)),
        costs(cost::price_plan(*cost::CostModel::make(job), plan, job)),
        input{.job = job,
              .plan = plan,
              .costs = costs,
              .clocks_hz = std::span(&costs.reference_clock_hz, 1),
              .sampled_ranks = {},
              .stretch = stretch},
        activity(step_activities(input, *energies_of_groups(job, plan), {})),
        fleet(*make_fleet(job)) {}
};

TEST(Activity, HoldsTheEnergyOfEveryInstruction) {
  const Loop loop(Values{});
  const cost::EnergyTable energies =
      cost::price_energy(*cost::EnergyModel::make(loop.job), loop.plan);
  for (size_t role = 0; role < loop.plan.roles.size(); ++role) {
    double expected_j = 0, clocked_s = 0, found_j = 0, found_s = 0;
    for (const plan::Instruction& it : loop.plan.roles[role].program) {
      using enum plan::InstructionKind;
      const bool works = it.kind == kCompute || it.kind == kCollective || it.kind == kWorld ||
                         it.kind == kSend || it.kind == kRecv;
      if (!works || it.op < 0) continue;
      clocked_s += loop.costs.prices[role][static_cast<size_t>(it.op)].clocked_s;
      if (it.kind != kRecv) expected_j += energies[role][static_cast<size_t>(it.op)].total_j();
    }
    for (size_t i = 0; i < loop.activity.fine.roles[role].slices.size(); ++i) {
      found_j += loop.activity.fine.roles[role].slices[i].total_j();
      found_s += loop.activity.fine.roles[role].clocked_s[i];
    }
    EXPECT_NEAR(found_j, expected_j, 1e-9 * expected_j);
    EXPECT_NEAR(found_s, clocked_s, 1e-9 * clocked_s);
  }
  EXPECT_EQ(loop.activity.fine.slices % loop.activity.coarse.slices, 0);
}

TEST(Fleet, KeepsAlikeNodesOnce) {
  const Fleet alike = *make_fleet(job_with({{"gpus", "64"}}));
  // 8 nodes of two stages: four and four.
  EXPECT_EQ(alike.nodes, 2);
  EXPECT_EQ(alike.all_nodes, 8);
  EXPECT_EQ(alike.weight, (std::vector<double>{4, 4}));
  EXPECT_EQ(alike.gpu_of(9), 1u);
  EXPECT_EQ(alike.gpu_of(40), 8u);
  const Fleet single = *make_fleet(job_with({{"gpus", "64"}, {"override", "node2.inlet=40C"}}));
  EXPECT_EQ(single.nodes, 3);
  EXPECT_EQ(make_fleet(job_with({{"gpus", "64"}, {"seed", "1"}}))->nodes, 8);
}

TEST(PowerLoop, NominalConditionsTakeTheTimeThatPricesSay) {
  for (const char* pp : {"1", "2", "4"}) {
    const Values layout = {{"pipeline_model_parallel_size", pp}};
    Values constant = layout;
    constant.emplace_back("clocks", "constant");
    const double priced_s = run_of(constant).performance.step_time_s;
    EXPECT_NEAR(run_of(layout).performance.step_time_s, priced_s, 1e-5 * priced_s) << "pp " << pp;
  }
}

TEST(PowerLoop, IsNominalWhereNothingMovesClocks) {
  EXPECT_TRUE(is_nominal(job_with()));
  for (const Values& looks :
       {Values{{"sensor", "none"}}, Values{{"pue", "1.3"}}, Values{{"run_phases", "steps=100"}},
        Values{{"cooling", "air"}}, Values{{"power_cap", "700"}}})
    EXPECT_TRUE(is_nominal(job_with(looks))) << looks.front().first;
  for (const Values& moves :
       {Values{{"power_cap", "600"}}, Values{{"lock_clock", "1305"}}, Values{{"inlet_c", "30"}},
        Values{{"fan", "60"}}, Values{{"cooling", "liquid"}}, Values{{"seed", "3"}},
        Values{{"operand_activity", "0.5"}}, Values{{"cluster_cap", "15000"}},
        Values{{"power_smoothing", "floor=0.9,hysteresis=2s"}}, Values{{"duration", "60"}},
        Values{{"measured_step", "11"}}, Values{{"override", "node1.inlet=40C"}},
        Values{{"rank_map", "8-15,0-7"}}})
    EXPECT_FALSE(is_nominal(job_with(moves))) << moves.front().first;
}

// Prices are of trained weights: with zeros there is power left under a cap for a higher clock.
TEST(PowerLoop, ZerosAreFaster) {
  const Values capped = {{"power_cap", "500"}};
  Values zeros = capped;
  zeros.emplace_back("operand_activity", "0");
  EXPECT_LT(run_of(zeros).performance.step_time_s, 0.99 * run_of(capped).performance.step_time_s);
}

TEST(PowerLoop, WithoutALimitClocksEqualTheLock) {
  const run::Run run = run_of({{"lock_clock", "1005"}}, true);
  for (const run::Rank& rank : run.ranks) EXPECT_DOUBLE_EQ(rank.mean_clock_mhz, 1005);
  EXPECT_EQ(run.thermal.throttled_time_fraction, 0);
}

TEST(PowerLoop, PartsAddUp) {
  const run::Run run = run_of();
  EXPECT_NEAR(sum(run.power.gpu_parts), run.power.mean_w_per_gpu, 1e-9 * 1000);
  for (const run::PowerPart& part : run.power.gpu_parts) EXPECT_GE(part.watts, 0) << part.name;
  EXPECT_NEAR(sum(run.power.node_parts), run.power.cluster_mean_w / 2, 1e-6);
  EXPECT_NEAR(run.power.energy_j_per_step, run.power.cluster_mean_w * run.performance.step_time_s,
              1e-9 * run.power.energy_j_per_step);
  EXPECT_NEAR(mean(run.cluster_power.watts), run.power.cluster_mean_w,
              1e-9 * run.power.cluster_mean_w);
  EXPECT_LE(run.power.mean_w_per_gpu, run.power.p95_w_per_gpu);
  EXPECT_LE(run.power.p95_w_per_gpu, run.power.peak_w_per_gpu);
}

// A token takes a few milliseconds: nothing lasts 25 ms but the mean.
TEST(PowerLoop, AShortStepHasNoPeak) {
  const run::Run run = run_of({{"mode", "decode"},
                               {"generate_tokens", "8"},
                               {"pipeline_model_parallel_size", "1"},
                               {"global_batch_size", "8"}});
  ASSERT_LT(run.performance.step_time_s, 0.025);
  EXPECT_NEAR(run.power.cluster_peak_w, run.power.cluster_mean_w, 0.01 * run.power.cluster_mean_w);
  EXPECT_NEAR(run.power.peak_w_per_gpu, run.power.mean_w_per_gpu, 5);
}

TEST(PowerLoop, IntervalsHoldThePrediction) {
  const run::Run run = run_of();
  EXPECT_LT(run.power.mean_interval_w.low, run.power.mean_w_per_gpu);
  EXPECT_GT(run.power.mean_interval_w.high, run.power.mean_w_per_gpu);
  EXPECT_LT(run.thermal.max_interval_c.low, run.thermal.max_gpu_c);
  EXPECT_GT(run.thermal.max_interval_c.high, run.thermal.max_gpu_c);
}

// Draws of 90 to 120 W around 100 W, a prediction of 80 W: 80 x 0.9 and 80 x 1.2 in proportion.
// Power may also be what the draws were at their highest, as where a limit holds them.
TEST(PowerIntervals, AreAsFarFromThePredictionAsTheirEndsFromTheMedian) {
  const Percentiles drawn{90, 100, 120};
  EXPECT_DOUBLE_EQ(drawn.factors_on(80).low, 72);
  EXPECT_DOUBLE_EQ(drawn.factors_on(80).high, 96);
  EXPECT_DOUBLE_EQ(drawn.power_around(80).low, 72);
  EXPECT_DOUBLE_EQ(drawn.power_around(80).high, 120);
  EXPECT_DOUBLE_EQ(drawn.power_around(110).high, 132);
  EXPECT_DOUBLE_EQ(drawn.shifts_of(60).low, 50);
  EXPECT_DOUBLE_EQ(drawn.shifts_of(60).high, 80);
}

/// The job with numbers of power that might as well be right: each off by two fifths of what its
/// grade says, all work by two fifths of 7 %, as numbers of a GPU that was measured are.
spec::Job otherwise(spec::Job job, uint64_t number) {
  const base::Random random(5, number, "otherwise");
  base::ParameterSet& parameters = job.cluster.node.gpu.parameters;
  constexpr double kSeen = 0.4;
  const double work = std::exp(kSeen * 0.07 * random.normal(0));
  uint64_t next = 1;
  for (const char* name :
       {"power.tensor_fp16", "power.vector", "power.cache", "power.memory", "power.link",
        "power.constant", "power.leakage", "power.active", "power.voltage_min"}) {
    base::Parameter one = *parameters.find(name);
    const double sigma = one.grade == base::Grade::kDatasheet  ? 0.02
                         : one.grade == base::Grade::kMeasured ? 0.05
                         : one.grade == base::Grade::kFitted   ? 0.07
                                                               : 0.2;
    one.value *= std::exp(kSeen * sigma * random.normal(next)) * (next <= 3 ? work : 1);
    ++next;
    if (one.unit.empty()) one.value = std::min(1.0, one.value);
    parameters.set(name, one);
  }
  return job;
}

// How sure a capped step is comes from steps at a glance; whole plays with such numbers, each at
// nominal conditions and under the cap, spread as much. A job held to its cap by all of them has a
// step that follows from them; without a cap it takes what its prices say.
TEST(PowerIntervals, ACappedStepSpreadsAsPlaysWithOtherNumbersDo) {
  constexpr int kPlays = 40;
  for (const char* cap : {"300", "400", "600"}) {
    const Loop loop(Values{{"power_cap", cap}});
    const auto powered = power_and_heat(loop.input, {});
    ASSERT_TRUE(powered);
    const run::Interval spread = powered->step_spread;
    std::vector<double> steps;
    for (int number = 0; number < kPlays; ++number) {
      const auto run =
          simulate(otherwise(loop.job, static_cast<uint64_t>(number)), {.intervals = false});
      ASSERT_TRUE(run);
      steps.push_back(run->performance.step_time_s / powered->timeline.step_s);
    }
    std::ranges::sort(steps);
    std::printf("cap %s W: %.3f to %.3f, played %.3f to %.3f\n", cap, spread.low, spread.high,
                steps[2], steps[kPlays - 3]);
    EXPECT_GT(spread.high - spread.low, 0.5 * (steps[kPlays - 3] - steps[2]));
    EXPECT_LT(spread.high - spread.low, 2 * (steps[kPlays - 3] - steps[2]));
    const auto inside = std::ranges::count_if(
        steps, [&](double step) { return step >= spread.low && step <= spread.high; });
    EXPECT_GE(inside, kPlays * 3 / 4);
  }
  const Loop free{Values{}};
  const auto nominal = power_and_heat(free.input, {});
  ASSERT_TRUE(nominal);
  EXPECT_EQ(nominal->step_spread.low, 1);
  EXPECT_EQ(nominal->step_spread.high, 1);
}

// A mean lies no higher than its cap; where the lowest clock has broken the cap, nothing holds it.
TEST(PowerIntervals, ABrokenCapHoldsNoMean) {
  const auto power_at = [](const char* cluster, const char* cap) {
    const Loop loop(Values{{"cluster", cluster}, {"power_cap", cap}});
    const auto powered = power_and_heat(loop.input, {});
    EXPECT_TRUE(powered);
    return powered->power;
  };
  EXPECT_LE(power_at("hgx-h100", "400").mean_interval_w.high, 400);
  const run::Power broken = power_at("mi300x", "200");
  EXPECT_GT(broken.mean_w_per_gpu, 210);
  EXPECT_GT(broken.mean_interval_w.high, 1.05 * broken.mean_w_per_gpu);
}

// A locked clock holds from the first instant: the step is the same however little of it is
// played, and what was played is its part of it.
TEST(PowerLoop, AStepLongerThanTheRunIsPlayedToItsEnd) {
  const auto played = [](const char* duration) {
    const Loop loop(Values{{"lock_clock", "600"}, {"duration", duration}});
    auto powered = power_and_heat(loop.input, {});
    EXPECT_TRUE(powered);
    return std::pair(powered->timeline.step_s, powered->power.steps);
  };
  const auto [long_s, many] = played("20");
  const double part_s = long_s / 10;
  const auto [short_s, few] = played(std::to_string(part_s).c_str());
  EXPECT_NEAR(short_s, long_s, 2e-3 * long_s);
  EXPECT_NEAR(few, part_s / short_s, 1e-3);
  EXPECT_GT(many, 1);
}

// With each kelvin of inlet some ten more of the 64 draws meet the thermal limit: how long a
// step may be grows with the inlet and nowhere jumps. Hardware's halving of clocks, which no
// settled die meets, once doubled it.
TEST(PowerIntervals, AStepNearThermalLimitsSpreadsWithoutJumps) {
  double before = 0;
  for (int inlet_c = 38; inlet_c <= 46; ++inlet_c) {
    const Loop loop(Values{{"inlet_c", std::to_string(inlet_c)}, {"fan", "60"}});
    const auto powered = power_and_heat(loop.input, {});
    ASSERT_TRUE(powered);
    const double high = powered->step_spread.high;
    EXPECT_GT(powered->thermal.max_interval_c.low, 60) << inlet_c;
    if (before > 0) {
      EXPECT_LT(std::abs(high - before), 0.03) << inlet_c;
    }
    before = high;
  }
  EXPECT_GT(before, 1.01);
}

// The boards' own limit, given as a cap, is no cap.
TEST(PowerLoop, TheDefaultLimitIsNoCap) {
  const run::Run given = run_of({{"power_cap", "700"}}), without = run_of();
  EXPECT_EQ(given.performance.step_time_s, without.performance.step_time_s);
  EXPECT_EQ(given.power.energy_j_per_step, without.power.energy_j_per_step);
  EXPECT_EQ(given.power.cluster_peak_w, without.power.cluster_peak_w);
}

TEST(PowerLoop, ALowerCapMeansLessPowerAndMoreTime) {
  double last_w = 1e9, last_s = 0;
  for (const char* cap : {"700", "600", "500", "400", "300"}) {
    const run::Run run = run_of({{"power_cap", cap}});
    EXPECT_LE(run.power.mean_w_per_gpu, std::stod(cap) + 1e-9);
    EXPECT_LE(run.power.mean_w_per_gpu, last_w);
    EXPECT_GE(run.performance.step_time_s, last_s * 0.999);
    last_w = run.power.mean_w_per_gpu;
    last_s = run.performance.step_time_s;
  }
}

TEST(PowerLoop, OneSlowGpuHoldsUpTheJob) {
  const double nominal_s = run_of().performance.step_time_s;
  EXPECT_GT(run_of({{"override", "node1.gpu3.speed=50%"}}).performance.step_time_s,
            1.4 * nominal_s);
  EXPECT_GT(run_of({{"override", "node0.gpu0.power_cap=300W"}}).performance.step_time_s,
            1.2 * nominal_s);
  // The failed supply of the study: affected GPUs ran more than four times slower.
  EXPECT_GT(run_of({{"override", "node1.power_brake=on"}}).performance.step_time_s, 4 * nominal_s);
}

TEST(PowerLoop, ADegradedNetworkCardSlowsTheJob) {
  const double nominal_s = run_of().performance.step_time_s;
  EXPECT_GT(run_of({{"override", "node1.gpu3.nic=5%"}}).performance.step_time_s, 1.01 * nominal_s);
  EXPECT_GT(run_of({{"override", "node1.gpu3.link=10%"}}).performance.step_time_s,
            1.05 * nominal_s);
}

TEST(PowerLoop, ARunStartsAtTheTemperatureAskedFor) {
  const run::Run warm = run_of({{"duration", "0.02"}, {"start_c", "80"}}),
                 cold = run_of({{"duration", "0.02"}, {"start_c", "30"}});
  EXPECT_NEAR(warm.thermal.mean_gpu_c - cold.thermal.mean_gpu_c, 50, 10);
  // Below the inlet, too, with the fans that so cool dies ask for.
  const run::Run coldest = run_of({{"duration", "0.02"}, {"start_c", "20"}});
  EXPECT_NEAR(coldest.thermal.fan_fraction, cold.thermal.fan_fraction, 0.02);
}

TEST(PowerLoop, ACapBelowALockNamesTheLock) {
  const run::Run run = run_of({{"lock_clock", "1605"}, {"power_cap", "300"}});
  EXPECT_NE(run.thermal.limit.find("the cap holds clocks below 1605 MHz"), std::string::npos)
      << run.thermal.limit;
}

// A die that is as warm as at rest has sinks that are cooler than it, as at rest.
TEST(PowerLoop, WhoStartsAtItsOwnTemperatureStaysThere) {
  const run::Run rest = run_of();
  const std::string mean_c = std::to_string(rest.thermal.mean_gpu_c);
  const run::Run warm = run_of({{"duration", "60"}, {"start_c", mean_c}});
  EXPECT_NEAR(warm.thermal.mean_gpu_c, rest.thermal.mean_gpu_c, 0.5);
  EXPECT_NEAR(warm.thermal.max_gpu_c, rest.thermal.max_gpu_c, 1.5);
}

TEST(PowerLoop, AHotterRoomIsSlowerOrHotter) {
  const run::Run cool = run_of({{"inlet_c", "18"}}), hot = run_of({{"inlet_c", "35"}});
  EXPECT_GT(hot.thermal.max_gpu_c, cool.thermal.max_gpu_c + 5);
  EXPECT_GE(hot.performance.step_time_s, cool.performance.step_time_s);
}

TEST(PowerLoop, DiesAreHeldAtTheirLimit) {
  const run::Run run = run_of({{"fan", "30"}, {"inlet_c", "40"}});
  EXPECT_NEAR(run.thermal.max_gpu_c, 87, 1.5);
  EXPECT_GT(run.thermal.event_shares[2].fraction, 0.1) << "sw_thermal_slowdown";
}

TEST(PowerLoop, ALongRunEndsInTheSteadyState) {
  const run::Run steady = run_of({}, true);
  const run::Run warm = run_of({{"duration", "3600"}}, true);
  ASSERT_EQ(steady.ranks.size(), warm.ranks.size());
  for (size_t i = 0; i < steady.ranks.size(); ++i)
    EXPECT_NEAR(warm.ranks[i].max_gpu_c, steady.ranks[i].max_gpu_c, 1.0) << "rank " << i;
  EXPECT_LT(warm.thermal.mean_gpu_c, steady.thermal.mean_gpu_c) << "it began cold";
}

// Steps shown one by one are the run that is shown whole: coarse ticks before the one that is
// measured leave its heat as it is.
TEST(PowerLoop, MeasuredStepsAddUpToTheRun) {
  const int steps = 6;
  double watts = 0, mean_c = 0, seconds = 0, last_c = 0;
  for (int step = 1; step <= steps; ++step) {
    const run::Run run = run_of({{"measured_step", std::to_string(step)}});
    EXPECT_NEAR(run.power.steps, 1, 0.02);
    watts += run.power.mean_w_per_gpu / steps;
    mean_c += run.thermal.mean_gpu_c / steps;
    seconds += run.power.duration_s;
    EXPECT_GT(run.thermal.mean_gpu_c, last_c) << "step " << step;
    last_c = run.thermal.mean_gpu_c;
  }
  const run::Run whole = run_of({{"duration", std::to_string(seconds)}});
  EXPECT_NEAR(whole.power.steps, steps, 0.05);
  EXPECT_NEAR(watts, whole.power.mean_w_per_gpu, 0.005 * watts);
  EXPECT_NEAR(mean_c, whole.thermal.mean_gpu_c, 0.2);
}

TEST(PowerLoop, ALateStepIsTheSteadyState) {
  const run::Run steady = run_of(), late = run_of({{"measured_step", "1500"}});
  EXPECT_NEAR(late.thermal.mean_gpu_c, steady.thermal.mean_gpu_c, 0.3);
  EXPECT_NEAR(late.power.mean_w_per_gpu, steady.power.mean_w_per_gpu,
              0.005 * steady.power.mean_w_per_gpu);
  EXPECT_NEAR(late.performance.step_time_s, steady.performance.step_time_s,
              0.005 * steady.performance.step_time_s);
}

// What bursts leave smoothing to burn comes to rest over many steps.
TEST(PowerLoop, ALateStepIsTheSteadyStateWherePowerIsSmoothed) {
  const Values smoothed = {{"power_smoothing", "floor=0.5,down=200"}, {"global_batch_size", "16"}};
  Values late = smoothed;
  late.emplace_back("measured_step", "1000");
  const double watts = run_of(smoothed).power.mean_w_per_gpu;
  EXPECT_NEAR(run_of(late).power.mean_w_per_gpu, watts, 0.002 * watts);
}

TEST(PowerLoop, OfARunShorterThanAPeakThePercentileIsItsMean) {
  const run::Run run = run_of({{"duration", "0.001"}});
  EXPECT_GE(run.power.p95_w_per_gpu, run.power.mean_w_per_gpu);
  EXPECT_LE(run.power.p95_w_per_gpu, run.power.peak_w_per_gpu);
}

// With pipeline bubbles under a cap as well, where clocks change all the time; and the play's step
// is the engine's, from the first one on.
TEST(PowerLoop, AStepOfARunLastsWhatTheEngineSays) {
  const Values capped = {{"power_cap", "400"}, {"global_batch_size", "16"}};
  const auto step_s = [&](const char* number) {
    Values more = capped;
    if (*number != 0) more.emplace_back("measured_step", number);
    const run::Run run = run_of(more);
    EXPECT_NEAR(run.power.duration_s / run.power.steps, run.performance.step_time_s,
                0.005 * run.performance.step_time_s)
        << "step " << number;
    return run.performance.step_time_s;
  };
  const double steady_s = step_s("");
  // Cold dies leak less, and boards let what they have not used go beyond their cap for a second.
  const double first_s = step_s("1");
  EXPECT_LT(first_s, steady_s);
  Values as_long = capped;
  as_long.emplace_back("duration", std::to_string(first_s));
  EXPECT_NEAR(run_of(as_long).power.steps, 1, 0.003);
  EXPECT_LT(step_s("2"), steady_s);
  EXPECT_NEAR(step_s("2000"), steady_s, 0.003 * steady_s);
}

// One percent of a cap moves a peak a little, however ticks fall on the bursts behind a bubble.
TEST(PowerLoop, PeaksFollowTheCapSmoothly) {
  double last_w = 0, last_cluster_w = 0;
  for (const char* cap : {"590", "595", "600", "605", "610", "615", "620"}) {
    const run::Power power = base::value_of(simulate(job_of({{"model", "llama3-70b"},
                                                             {"cluster", "gb200-nvl72"},
                                                             {"gpus", "32"},
                                                             {"tensor_model_parallel_size", "4"},
                                                             {"pipeline_model_parallel_size", "8"},
                                                             {"micro_batch_size", "1"},
                                                             {"global_batch_size", "32"},
                                                             {"seq_length", "4096"},
                                                             {"power_cap", cap}}),
                                                     {}))
                                 .power;
    EXPECT_LE(power.mean_w_per_gpu, power.p95_w_per_gpu);
    EXPECT_LE(power.p95_w_per_gpu, power.peak_w_per_gpu);
    if (last_w > 0) {
      EXPECT_NEAR(power.peak_w_per_gpu, last_w, 0.03 * last_w) << cap;
      EXPECT_NEAR(power.cluster_peak_w, last_cluster_w, 0.02 * last_cluster_w) << cap;
    }
    last_w = power.peak_w_per_gpu;
    last_cluster_w = power.cluster_peak_w;
  }
}

TEST(PowerLoop, AStepAfterItsRestIsNotWaitedFor) {
  const run::Run late = run_of({{"measured_step", "5000"}}),
                 latest = run_of({{"measured_step", "1000000"}});
  EXPECT_EQ(late.power.mean_w_per_gpu, latest.power.mean_w_per_gpu);
}

TEST(PowerLoop, EnergyBalancesOverATransient) {
  const Loop loop(Values{{"fan", "70"}});
  FleetHeat heat(loop.fleet, loop.job.cluster);
  const Played played{loop.job.conditions, loop.activity, loop.fleet, heat};
  PowerLoop power(loop.input, played);
  heat.cool_down();
  const double before_j = heat.stored_j() + heat.carried_j();
  double drawn_j = 0;
  power.run(played, 120, [&](const Tick& tick) {
    for (const double watts : tick.watts) drawn_j += tick.length_s * watts;
  });
  const double found_j = heat.stored_j() + heat.carried_j() - before_j;
  EXPECT_NEAR(found_j, drawn_j, 1e-9 * drawn_j);
}

// Where nothing holds clocks back, a step at a glance draws what a step played draws, GPU by GPU,
// at the length that the engine found.
TEST(PowerLoop, SlicesAndTicksDrawTheSame) {
  for (const char* pp : {"1", "2", "4"})
    for (const char* lock : {"1005", "1305"}) {
      const Loop loop(Values{{"pipeline_model_parallel_size", pp}, {"lock_clock", lock}});
      const Loop nominal(Values{{"pipeline_model_parallel_size", pp}});
      FleetHeat nominal_heat(nominal.fleet, nominal.job.cluster),
          heat(loop.fleet, loop.job.cluster);
      PowerLoop power(loop.input,
                      {nominal.job.conditions, nominal.activity, nominal.fleet, nominal_heat});
      PowerRecord record(loop.fleet);
      power.settle({loop.job.conditions, loop.activity, loop.fleet, heat});
      ASSERT_TRUE(power.rests());
      power.show([](const Tick&) {}, [&](const Tick& tick) { record.add(tick, heat); });
      const GovernedStep governed(loop.fleet, loop.activity.coarse);
      FleetHeat glance(loop.fleet, loop.job.cluster);
      FleetStep step;
      for (int round = 0; round < 40; ++round) {
        governed.at_length(power.timeline().step_s, glance.surroundings(), step);
        glance.settle(step);
      }
      const std::vector<GpuRecord> played = record.gpus();
      for (size_t gpu = 0; gpu < played.size(); ++gpu) {
        EXPECT_EQ(played[gpu].throttled, 0);
        EXPECT_NEAR(step.gpus[gpu].mean_w / played[gpu].mean_w, 1, 0.01)
            << "pp " << pp << ", lock " << lock << " MHz, GPU " << gpu;
      }
    }
}

// 64 GPUs that differ, among them one with a lower cap, a lock, a brake, a slow and an idle one.
TEST(GovernedStep, DecidesForAllAsForEachAlone) {
  const Loop loop({{"gpus", "64"}, {"seed", "1"}, {"override", "node0.gpu0.power_cap=300W"}});
  Fleet& fleet = loop.fleet;
  fleet.limits[5].lock_hz = 1005e6;
  fleet.limits[40].brake = true;
  fleet.speed[9] = 0.5;
  fleet.role[63] = -1;
  const StepActivity& work = loop.activity.coarse;
  const physics::GpuPower& kind = fleet.kinds.front().gpu;
  const double reference_hz = 1500e6, slice_s = work.slice_s();
  FleetHeat heat(fleet, loop.job.cluster);
  heat.start_at(60);
  const GovernedStep governed(fleet, work);
  const std::vector<double> trims_w = governed.trims_w();
  const auto clock_hz = [&](size_t gpu, const physics::Load& load, physics::Response response) {
    physics::ClockLimits limits = fleet.limits[gpu];
    limits.cap_w -= trims_w[gpu];
    return fleet.speed[gpu] *
           physics::decide_clock(kind, fleet.silicon[gpu], limits, 60, load, response, 0).clock_hz;
  };
  const auto role_of = [&](size_t gpu) -> const RoleActivity& {
    return work.roles[static_cast<size_t>(fleet.role[gpu])];
  };

  std::vector<double> slices_s;
  for (size_t i = 0; i < static_cast<size_t>(work.slices); ++i) {
    double longest = 0;
    for (size_t gpu = 0; gpu < 63; ++gpu) {
      const double share = std::min(1.0, role_of(gpu).clocked_s[i] / slice_s);
      if (share <= 0) continue;
      const physics::Load load = physics::load_of(role_of(gpu).slices[i], slice_s);
      longest = std::max(longest,
                         slowdown(share, reference_hz, clock_hz(gpu, load, {share, reference_hz}),
                                  kind.clocks.highest_hz));
    }
    slices_s.push_back(slice_s * (longest > 0 ? longest : 1));
  }
  FleetStep step;
  governed.at_pace(reference_hz, heat.surroundings(), step);
  ASSERT_EQ(step.slice_s, slices_s);

  for (size_t gpu = 0; gpu < 64; ++gpu) {
    double mean_w = 0, mean_hz = 0;
    for (size_t i = 0; i < slices_s.size(); ++i) {
      const bool idle = fleet.role[gpu] < 0;
      const physics::Load load = idle ? physics::Load{.awake = false}
                                      : physics::load_of(role_of(gpu).slices[i], slices_s[i]);
      const double hz = idle ? kind.clocks.lowest_hz : clock_hz(gpu, load, {});
      mean_hz += slices_s[i] / step.step_s * hz;
      mean_w += slices_s[i] / step.step_s * kind.power_w(hz, 60, load, fleet.silicon[gpu]);
    }
    EXPECT_EQ(step.gpus[gpu].clock_hz, mean_hz) << gpu;
    EXPECT_EQ(step.gpus[gpu].mean_w, mean_w) << gpu;
  }
}

// 8 % let through in bursts: 1.08 x 500 W are 540, for the part of the step that boards look back;
// the mean is taken back to 0.987 x 500 = 493.5 W, but for what a step of the clock is worth.
TEST(GovernedStep, HoldsTheMeanToTheCap) {
  const Loop loop(Values{{"power_cap", "500"}});
  const double step_s = loop.activity.coarse.step_s;
  ASSERT_GT(step_s, 1);
  GovernedStep governed(loop.fleet, loop.activity.coarse);
  EXPECT_NEAR(governed.trims_w()[0], (500 - 540 / 0.987) / step_s, 1e-9);
  FleetHeat heat(loop.fleet, loop.job.cluster);
  heat.start_at(60);
  FleetStep step;
  governed.at_pace(1980e6, heat.surroundings(), step);
  EXPECT_GT(step.gpus[0].mean_w, 493.5);
  for (int round = 0; round < 20; ++round) {
    governed.trim(step);
    governed.at_pace(1980e6, heat.surroundings(), step);
  }
  EXPECT_LE(step.gpus[0].mean_w, 493.5 + 1e-9);
  EXPECT_GT(step.gpus[0].mean_w, 493.5 * 0.98);
}

// Near their lowest speed fans cool so much less that half of a controller's step overshoots: die
// and speed meet all the same, and follow the air without jumps.
TEST(FleetHeat, SlowFansAndDiesMeet) {
  double last_c = 0;
  for (int inlet_c = 0; inlet_c <= 14; ++inlet_c) {
    SCOPED_TRACE(inlet_c);
    const Loop loop({{"cluster", "hgx-b200"}, {"inlet_c", std::to_string(inlet_c)}});
    FleetHeat heat(loop.fleet, loop.job.cluster);
    const std::vector<double> watts(static_cast<size_t>(loop.fleet.gpus()), 500.0);
    const std::vector<double> memory_w(watts.size(), 60.0);
    for (int round = 0; round < 16; ++round) heat.settle(watts, memory_w);
    EXPECT_LT(heat.moved_k(), 0.05);
    const auto die_c = heat.surroundings().die_c;
    const double hottest_c =
        *std::max_element(die_c.begin(), die_c.begin() + loop.fleet.gpus_per_node);
    EXPECT_NEAR(heat.fan()[0], physics::fan_speed(loop.fleet.kinds[0].cooling, hottest_c), 2e-3);
    if (inlet_c > 0) {
      EXPECT_LT(std::abs(hottest_c - last_c - 0.5), 0.6);
    }
    last_c = hottest_c;
    FleetHeat at_once(loop.fleet, loop.job.cluster);
    at_once.settle(watts, memory_w, true);
    EXPECT_NEAR(at_once.fan()[0], heat.fan()[0], 2e-3);
  }
}

TEST(PowerLoop, SymmetricSlotsHaveTheSameTemperature) {
  const Loop loop(Values{});
  FleetHeat heat(loop.fleet, loop.job.cluster);
  const PowerLoop power(loop.input, {loop.job.conditions, loop.activity, loop.fleet, heat});
  ASSERT_TRUE(power.rests());
  const auto& slots = loop.job.cluster.node.slots;
  const auto die_c = heat.surroundings().die_c;
  for (size_t a = 0; a < slots.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (slots[a].row == slots[b].row)
        EXPECT_NEAR(die_c[a], die_c[b], 1e-9);
      else
        EXPECT_GT(std::abs(die_c[a] - die_c[b]), 5);
    }
}

TEST(PowerLoop, TheSameSeedGivesTheSameGpus) {
  const run::Run one = run_of({{"seed", "7"}}, true), again = run_of({{"seed", "7"}}, true),
                 other = run_of({{"seed", "8"}}, true);
  bool differs = false;
  for (size_t i = 0; i < one.ranks.size(); ++i) {
    EXPECT_EQ(one.ranks[i].mean_power_w, again.ranks[i].mean_power_w);
    differs = differs || one.ranks[i].mean_power_w != other.ranks[i].mean_power_w;
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(one.power.mean_interval_w.low, again.power.mean_interval_w.low);
}

TEST(PowerLoop, SmoothingBurnsWhatIsMissing) {
  const run::Run plain = run_of(),
                 smooth = run_of({{"power_smoothing", "floor=0.95,hysteresis=10s"}});
  EXPECT_EQ(plain.cluster_power.smoothing_burnt_w, 0);
  EXPECT_GT(smooth.cluster_power.smoothing_burnt_w, 0);
  EXPECT_GT(smooth.cluster_power.lowest_w, plain.cluster_power.lowest_w);
  EXPECT_NEAR(smooth.power.cluster_mean_w - plain.power.cluster_mean_w,
              smooth.cluster_power.smoothing_burnt_w,
              0.35 * smooth.cluster_power.smoothing_burnt_w);
}

// What a ramp keeps from the work would slow it down: no answer leaves that out.
TEST(PowerLoop, ARampThatTheWorkDoesNotKeepIsRefused) {
  const auto with_ramp = [](const std::string& up) {
    return simulate(job_with({{"power_smoothing", "floor=0.9,hysteresis=1s,up=" + up + "W/s"}}),
                    {});
  };
  // What is enough does not depend on what was asked for.
  std::string enough;
  for (const std::string up : {"50", "5000"}) {
    const auto slow = with_ramp(up);
    ASSERT_FALSE(slow.has_value());
    const std::string& message = slow.error().message;
    const std::string before = "power_smoothing: up: found " + up +
                               " W/s, with which the job's work would run slower, which is not "
                               "simulated; ";
    ASSERT_EQ(message.substr(0, before.size()), before);
    const std::string said =
        message.substr(before.size(), message.find(" W/s is enough") - before.size());
    if (!enough.empty()) {
      EXPECT_EQ(said, enough);
    }
    enough = said;
  }
  const run::Run plain = run_of(), quick = base::value_of(with_ramp(enough));
  EXPECT_NEAR(quick.performance.step_time_s, plain.performance.step_time_s, 1e-9);
  EXPECT_GT(quick.cluster_power.smoothing_burnt_w, 0);
  // Nor is much more needed than is.
  EXPECT_FALSE(with_ramp(std::to_string(0.9 * std::stod(enough))).has_value());
}

TEST(PowerLoop, AClusterCapThatNoGpuFeelsIsNone) {
  const run::Run free = run_of(), capped = run_of({{"cluster_cap", "1000000"}});
  EXPECT_EQ(capped.performance.step_time_s, free.performance.step_time_s);
  EXPECT_EQ(capped.power.cluster_mean_w, free.power.cluster_mean_w);
}

TEST(PowerLoop, AClusterCapHolds) {
  const run::Run run = run_of({{"cluster_cap", "11000"}});
  EXPECT_LE(run.power.cluster_mean_w, 11000);
  // What governors keep below a cap, and waiting: fans are not counted as if they ran at full
  // speed.
  EXPECT_GT(run.power.cluster_mean_w, 10000);
  // The caps hold whatever the parameters are: GPUs draw no more.
  EXPECT_LT(run.power.mean_interval_w.high, 1.15 * run.power.mean_w_per_gpu);
}

// What smoothing burns counts at the plug.
TEST(PowerLoop, AClusterCapHoldsWithSmoothing) {
  for (const char* smoothing :
       {"floor=0.95,hysteresis=10s", "floor=0.9,hysteresis=0.1s,down=20W/s"})
    for (const char* cap : {"9000", "11000"}) {
      const run::Run run = run_of({{"cluster_cap", cap}, {"power_smoothing", smoothing}});
      EXPECT_LE(run.power.cluster_mean_w, std::stod(cap)) << smoothing;
      EXPECT_GT(run.cluster_power.smoothing_burnt_w, 0) << smoothing;
    }
}

TEST(PowerLoop, TelemetryIsWhatSensorsShow) {
  const spec::Job job = job_with();
  const auto run = simulate(job, {.sampled_ranks = {0, 9}});
  ASSERT_TRUE(run.has_value());
  ASSERT_FALSE(run->telemetry.empty());
  double sum_w = 0;
  int64_t rows = 0;
  for (const run::Telemetry& row : run->telemetry) {
    EXPECT_EQ(row.gpu_c, std::floor(row.gpu_c));
    sum_w += row.power_w;
    ++rows;
  }
  // A rank of either stage.
  EXPECT_NEAR(sum_w / static_cast<double>(rows), run->power.mean_w_per_gpu,
              0.1 * run->power.mean_w_per_gpu);
}

TEST(PowerLoop, TelemetryIsExactWhereNoSensorIsKnown) {
  spec::Job job = job_with();
  base::ParameterSet known;
  for (const auto& [name, parameter] : job.cluster.node.gpu.parameters.all())
    if (!name.starts_with("power.reading_")) known.set(name, parameter);
  job.cluster.node.gpu.parameters = known;
  const auto run = simulate(job, {.sampled_ranks = {0}}),
             exact = simulate(job_with({{"sensor", "none"}}), {.sampled_ranks = {0}});
  ASSERT_TRUE(run.has_value() && exact.has_value());
  ASSERT_EQ(run->telemetry.size(), exact->telemetry.size());
  for (size_t i = 0; i < run->telemetry.size(); ++i)
    EXPECT_EQ(run->telemetry[i].power_w, exact->telemetry[i].power_w);
}

}  // namespace
}  // namespace ergometer::engine
