// Power and heat on groups of unlike nodes: each GPU draws and heats as its kind does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/collection.h"
#include "base/test_support.h"
#include "cost/energy.h"
#include "engine/power/activity.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"
#include "physics/gpu_power.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using test::Values;

constexpr const char* kOldAndNew =
    "{groups: [{node: hgx-a100-80gb, nodes: 1}, {node: hgx-h100, nodes: 1}]}";
constexpr const char* kNewAndOld =
    "{groups: [{node: hgx-h100, nodes: 1}, {node: hgx-a100-80gb, nodes: 1}]}";

spec::Job unlike_job(const std::string& cluster, const Values& more = {}) {
  Values values = {{"model", "llama3-8b"}, {"cluster", cluster}, {"gpus", "16"},  {"tp", "8"},
                   {"mbs", "1"},           {"gbs", "32"},        {"seq", "4096"}, {"pp", "2"}};
  values.insert(values.end(), more.begin(), more.end());
  return test::job_of(values);
}

run::Run powered(const spec::Job& job) {
  return base::value_of(simulate(job, {.all_ranks = true, .energy_parts = true}));
}

void expect_close(double a, double b, double relative, const char* what) {
  EXPECT_NEAR(a, b, relative * std::abs(b)) << what;
}

/// What both say of power and heat is the same but for when the search for rest ends; peaks but for
/// how ticks, which are as long as the step allows, fall on bursts.
void expect_same_power(const run::Run& a, const run::Run& b, double relative) {
  const double peaks = std::max(relative, 2e-3);
  expect_close(a.performance.step_time_s, b.performance.step_time_s, relative, "step");
  expect_close(a.power.mean_w_per_gpu, b.power.mean_w_per_gpu, relative, "mean");
  expect_close(a.power.peak_w_per_gpu, b.power.peak_w_per_gpu, peaks, "peak");
  expect_close(a.power.cluster_mean_w, b.power.cluster_mean_w, relative, "cluster");
  expect_close(a.power.cluster_peak_w, b.power.cluster_peak_w, peaks, "cluster's peak");
  expect_close(a.power.energy_j_per_step, b.power.energy_j_per_step, relative, "energy");
  constexpr double kSettledK = 0.1;
  EXPECT_NEAR(a.thermal.mean_gpu_c, b.thermal.mean_gpu_c, kSettledK);
  EXPECT_NEAR(a.thermal.max_gpu_c, b.thermal.max_gpu_c, kSettledK);
  expect_close(a.thermal.mean_clock_mhz, b.thermal.mean_clock_mhz, relative, "clock");
  expect_close(a.thermal.fan_fraction, b.thermal.fan_fraction, relative, "fans");
}

// Two groups that differ by their names alone are the plain cluster, stage by stage and replica by
// replica, as they are and under a cap, in a hot room, with unlike silicon and from a cold start;
// but for intervals, which know that nobody has seen unlike nodes together.
TEST(UnlikePower, GroupsOfOneHardwareDrawWhatThePlainClusterDraws) {
  for (const Values& more :
       {Values{}, Values{{"pp", "1"}}, Values{{"power_cap", "400"}},
        Values{{"inlet_c", "38"}, {"fan", "60"}}, Values{{"seed", "4"}},
        Values{{"override", "node1.power_cap=350W"}}, Values{{"duration", "20s"}}}) {
    spec::Job plain = unlike_job("hgx-h100", more);
    spec::Job groups = plain;
    groups.cluster.groups = {{plain.cluster.node, 1}, {plain.cluster.node, 1}};
    groups.cluster.groups[1].node.name = "the other one";
    const run::Run of_groups = powered(groups), of_plain = powered(plain);
    ASSERT_EQ(of_groups.power.kinds.size(), 2u);
    expect_same_power(of_groups, of_plain, 3e-4);
  }
}

TEST(UnlikePower, KindsAddUpToTheCluster) {
  for (const Values& more : {Values{}, Values{{"pp", "1"}}, Values{{"power_cap", "250"}}}) {
    const run::Run run = powered(unlike_job(kOldAndNew, more));
    const run::Power& power = run.power;
    ASSERT_EQ(power.kinds.size(), 2u);
    expect_close(base::sum(power.kinds, &run::KindPower::nodes_mean_w), power.cluster_mean_w, 1e-9,
                 "at the plug");
    expect_close(base::sum(power.kinds, &run::KindPower::energy_j_per_step),
                 power.energy_j_per_step, 1e-9, "energy");
    expect_close(base::sum(power.kinds, &run::KindPower::gpu_energy_j_per_step),
                 power.gpu_energy_j_per_step, 1e-9, "energy of GPUs");
    expect_close(base::sum(power.gpu_parts, &run::PowerPart::watts), power.mean_w_per_gpu, 1e-9,
                 "parts of a GPU");
    expect_close(base::sum(power.node_parts, &run::PowerPart::watts), power.cluster_mean_w / 2,
                 1e-9, "parts of a node");
    double of_operators = 0;
    for (const run::EnergyRow& row : power.step_energy)
      if (row.dimension == "operator") of_operators += row.joules;
    for (const run::KindPower& kind : power.kinds)
      expect_close(kind.energy_j_per_step, kind.nodes_mean_w * run.performance.step_time_s, 2e-3,
                   "power times time");
    EXPECT_LT(of_operators, 1.001 * power.gpu_energy_j_per_step);
  }
}

// By hand: a kind at its highest clock, voltage 1, draws constant + leakage at its temperature +
// clock tree + its work's joules over the step; on A100, and as much on H100 where nothing holds it
// back.
TEST(UnlikePower, AGpuDrawsItsKindsFormula) {
  const spec::Job job = unlike_job(kOldAndNew, {{"layers_by_speed", "on"}});
  const run::Run run = powered(job);
  const workload::Workload work = workload::lower(job);
  const plan::Plan plan = plan::make_plan(job, work);
  for (size_t kind = 0; kind < 2; ++kind) {
    const spec::Job alike = spec::on_group(job, kind);
    const auto gpu = physics::gpu_power(alike.cluster.node.gpu);
    const auto model = cost::EnergyModel::make(alike);
    ASSERT_TRUE(gpu && model);
    double joules = 0;
    for (const plan::Instruction& it : plan.roles[kind].program)
      if (draws(it))
        joules += model
                      ->energy(plan.operators[static_cast<size_t>(it.op)],
                               plan.placements[kind][static_cast<size_t>(it.op)])
                      .total_j();
    const run::KindPower& row = run.power.kinds[kind];
    const double by_hand_w = gpu->constant_w + gpu->leakage_at(row.mean_gpu_c, {}) + gpu->active_w +
                             joules / run.performance.step_time_s;
    if (row.throttled_time_fraction == 0) {
      expect_close(row.mean_w_per_gpu, by_hand_w, 0.01, "mean");
    }
    EXPECT_LE(row.mean_w_per_gpu, 1.01 * by_hand_w);
    EXPECT_GE(row.mean_w_per_gpu, gpu->constant_w + gpu->leakage_at(row.mean_gpu_c, {}) * 0.3);
    EXPECT_LT(row.peak_w_per_gpu, gpu->excursion * gpu->cap_w);
  }
  EXPECT_EQ(run.power.kinds[0].throttled_time_fraction, 0);  // the formula was held to something
}

// Which group is first, and so whose clock all are told in, changes nothing: the same ranks on the
// same GPUs.
TEST(UnlikePower, TheOrderOfGroupsDoesNotMatter) {
  std::string map = "8-15,0-7";
  for (const Values& more : {Values{}, Values{{"power_cap", "300"}}, Values{{"inlet_c", "40"}}}) {
    Values swapped = more;
    swapped.push_back({"rank_map", map});
    const run::Run one = powered(unlike_job(kOldAndNew, more)),
                   other = powered(unlike_job(kNewAndOld, swapped));
    ASSERT_EQ(other.power.kinds.size(), 2u);
    EXPECT_EQ(one.power.kinds[0].gpu, other.power.kinds[1].gpu);
    expect_same_power(one, other, 1e-2);
    expect_close(one.power.mean_interval_w.low, other.power.mean_interval_w.low, 0.01, "low");
    expect_close(one.power.mean_interval_w.high, other.power.mean_interval_w.high, 0.01, "high");
    for (size_t kind : {0, 1}) {
      const run::KindPower &here = one.power.kinds[kind], &there = other.power.kinds[1 - kind];
      expect_close(here.mean_w_per_gpu, there.mean_w_per_gpu, 1e-2, "mean of a kind");
      expect_close(here.max_gpu_c, there.max_gpu_c, 1e-2, "hottest of a kind");
    }
  }
}

// At nominal conditions prices hold, on every kind: a stage computes as long as with clocks that
// are constant.
TEST(UnlikePower, PricesHoldOnEveryKind) {
  for (const char* pp : {"1", "2"}) {
    const run::Run governed = powered(unlike_job(kOldAndNew, {{"pp", pp}})),
                   constant = powered(unlike_job(kOldAndNew, {{"pp", pp}, {"clocks", "constant"}}));
    EXPECT_FALSE(constant.has_power);
    expect_close(governed.performance.step_time_s, constant.performance.step_time_s, 1e-3, "step");
    for (size_t kind : {0, 1})
      expect_close(governed.gpu_kinds[kind].compute_s, constant.gpu_kinds[kind].compute_s, 0.01,
                   "compute of a kind");
  }
}

// Each kind gets of the cap as it would draw of all; none of it is drawn beyond.
TEST(UnlikePower, AClustersCapHoldsBothKinds) {
  const run::Run run = powered(unlike_job(kOldAndNew, {{"cluster_cap", "7kW"}}));
  EXPECT_LT(run.power.cluster_mean_w, 7000);
  EXPECT_GT(run.power.cluster_mean_w, 5000);
  EXPECT_GT(run.power.kinds[0].throttled_time_fraction, 0.5);
  const auto low = simulate(unlike_job(kOldAndNew, {{"cluster_cap", "3kW"}}), {});
  ASSERT_FALSE(low);
  EXPECT_NE(low.error().message.find("cluster_cap: found 3000 W; allowed: at least"),
            std::string::npos)
      << low.error().message;
}

// Held back, the kind that the others wait for slows the step; the one that waits has time to
// spare.
TEST(UnlikePower, AThrottledKindSlowsTheStepIfOthersWaitForIt) {
  const double free_s = powered(unlike_job(kOldAndNew)).performance.step_time_s;
  const auto capped = [](const char* node, const char* watts) {
    return powered(
        unlike_job(kOldAndNew, {{"override", std::string(node) + ".power_cap=" + watts}}));
  };
  const run::Run old_held = capped("node0", "200W"), young_held = capped("node1", "300W");
  EXPECT_GT(old_held.performance.step_time_s, 1.1 * free_s);
  EXPECT_LT(young_held.performance.step_time_s, 1.05 * free_s);
  EXPECT_GT(old_held.power.kinds[0].throttled_time_fraction, 0.5);
  EXPECT_EQ(old_held.power.kinds[1].throttled_time_fraction, 0);
  EXPECT_LT(young_held.power.kinds[1].mean_w_per_gpu, 300);
  // The same cap on a cluster of A100 alone slows its step by as much.
  const Values cap = {{"power_cap", "200"}};
  const double plain_s = powered(unlike_job("hgx-a100-80gb")).performance.step_time_s,
               held_s = powered(unlike_job("hgx-a100-80gb", cap)).performance.step_time_s;
  EXPECT_NEAR(old_held.performance.step_time_s / free_s, held_s / plain_s, 0.05);
}

// A replica that is quicker runs ahead at its own power and then waits for the gradients'
// reduction: with half the time at work it peaks as on a cluster of its kind, and its mean is
// lower.
TEST(UnlikePower, AQuickerReplicaRunsAheadAndWaits) {
  const Values replicas = {{"pp", "1"}};
  const run::Run unlike = powered(unlike_job(kOldAndNew, replicas)),
                 alike = powered(unlike_job("hgx-h100", replicas));
  const run::KindPower& young = unlike.power.kinds[1];
  EXPECT_NEAR(young.peak_w_per_gpu, alike.power.peak_w_per_gpu, 0.1 * alike.power.peak_w_per_gpu);
  EXPECT_LT(young.mean_w_per_gpu, 0.85 * alike.power.mean_w_per_gpu);
}

TEST(UnlikePower, WhatOneKindDoesNotAllowIsRefused) {
  const auto error = [](const Values& more) {
    Values values = {{"model", "llama3-8b"}, {"cluster", kOldAndNew}, {"gpus", "16"}, {"tp", "8"}};
    values.insert(values.end(), more.begin(), more.end());
    const auto job = test::try_job_of(values);
    return job ? std::string() : job.error().message;
  };
  EXPECT_NE(error({{"power_cap", "600"}}).find("A100-SXM4-80GB allows from 100 to 400 W"),
            std::string::npos)
      << error({{"power_cap", "600"}});
  EXPECT_EQ(error({{"override", "node1.power_cap=600W"}}), "");
  EXPECT_NE(error({{"override", "node0.power_cap=600W"}}).find("A100"), std::string::npos);
  EXPECT_NE(error({{"cooling", "air"}}).find("cooled as built"), std::string::npos);
  EXPECT_NE(error({{"override", "node1.nic=50%"}}).find("slower links"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::engine
