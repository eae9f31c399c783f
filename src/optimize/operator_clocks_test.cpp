#include "optimize/operator_clocks.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "optimize/test_jobs.h"

namespace ergometer::optimize {
namespace {

constexpr double kGigahertz = 1e9;

physics::Energy core(double joules) { return {.tensor_j = joules}; }

/// Clocks of 2, 1.5 and 1 GHz with voltages of 1, 0.75 and 0.5; 100 W at the highest for being
/// awake, so 42.1875 W and 12.5 W at the others.
physics::GpuPower plain_gpu() {
  physics::GpuPower gpu;
  gpu.clocks = {1 * kGigahertz, 2 * kGigahertz, 0.5 * kGigahertz};
  gpu.voltage = {0.5, 1 * kGigahertz, 2 * kGigahertz};
  gpu.active_w = 100;
  return gpu;
}

/// A second of kernels that follow the clock and a second of others, 100 J each.
RankRuns two_runs() {
  return {{WorkKind::kCompute, {1, 1, core(100)}}, {WorkKind::kMemory, {1, 0, core(100)}}};
}

OperatorClocks weighed(const RankRuns& runs, double change_s, double most_slowdown) {
  return operator_clocks({runs},
                         {.change_s = change_s,
                          .most_slowdown = most_slowdown,
                          .reference_hz = 2 * kGigahertz,
                          .gpus = 1,
                          .settled = {60, 2 * kGigahertz}},
                         plain_gpu());
}

// A kernel from 0 to 4 with a collective from 3 to 6 and a message from 6 to 7, all of 10: the
// collective is exposed for two of its three seconds, and has its energy where it runs.
TEST(WorkRuns, CutTheStepWhereWhatTellsItChanges) {
  const std::vector<WorkRun> runs = work_runs({{0, 4, WorkKind::kCompute, 2, core(40)},
                                               {3, 6, WorkKind::kCommunication, 0, core(3)},
                                               {6, 7, WorkKind::kWaiting, 0, core(1)}},
                                              10);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].kind, WorkKind::kCompute);
  EXPECT_DOUBLE_EQ(runs[0].work.wall_s, 4);
  EXPECT_DOUBLE_EQ(runs[0].work.clocked_s, 2);
  EXPECT_DOUBLE_EQ(runs[0].work.energy.core_j(), 41);
  EXPECT_EQ(runs[1].kind, WorkKind::kCommunication);
  EXPECT_DOUBLE_EQ(runs[1].work.wall_s, 2);
  EXPECT_DOUBLE_EQ(runs[1].work.energy.core_j(), 2);
  EXPECT_EQ(runs[2].kind, WorkKind::kWaiting);
  EXPECT_DOUBLE_EQ(runs[2].work.wall_s, 4);
  EXPECT_DOUBLE_EQ(runs[2].work.energy.core_j(), 1);
}

// At 2 GHz 200 J a second. No time is granted for a lower clock of all; the second that does not
// follow it takes (100 + 50) / 4 = 37.5 J at 1 GHz.
TEST(OperatorClocks, WithFreeChangesOnlyWhatFollowsTheClockKeepsIt) {
  const OperatorClocks clocks = weighed(two_runs(), 0, 0.05);
  EXPECT_DOUBLE_EQ(clocks.governed.gpu_energy_j, 400);
  EXPECT_DOUBLE_EQ(clocks.locked.gpu_energy_j, 400);
  EXPECT_DOUBLE_EQ(clocks.free.gpu_energy_j, 200 + 25 + 12.5);
  EXPECT_DOUBLE_EQ(clocks.changed.gpu_energy_j, clocks.free.gpu_energy_j);
  EXPECT_DOUBLE_EQ(clocks.free.step_s, 2);
  EXPECT_DOUBLE_EQ(clocks.kinds[0].free_hz, 2 * kGigahertz);
  EXPECT_DOUBLE_EQ(clocks.kinds[1].free_hz, 1 * kGigahertz);
}

// Each clock is there for half a second of kernels that follow it, and neither can be lowered.
TEST(OperatorClocks, AChangeBackComesLateToo) {
  const OperatorClocks clocks = weighed(two_runs(), 0.5, 0.05);
  EXPECT_DOUBLE_EQ(clocks.kinds[1].reached, 0.5);
  EXPECT_DOUBLE_EQ(clocks.changed.gpu_energy_j, 400);
  EXPECT_DOUBLE_EQ(clocks.changed.step_s, 2);
  EXPECT_DOUBLE_EQ(clocks.gain(), 0);
}

// Kernels that follow the clock are over after a quarter of a second. The other's clock is there
// from 0.75 s on and, of the next step, until 0.5 s: for 1.75 s with all of these. The lock of
// 1.5 GHz takes 2 + 0.25 / 3 s, which that clock at 1.5 GHz takes too; the quarter of a second
// between goes to 1 GHz.
TEST(OperatorClocks, AChangeLastsIntoTheNextStep) {
  const RankRuns runs = {{WorkKind::kCompute, {0.25, 0.25, core(25)}},
                         {WorkKind::kMemory, {1.75, 0, core(175)}}};
  const OperatorClocks clocks = weighed(runs, 0.5, 0.05);
  const double lock_s = 2 + 0.25 / 3;
  EXPECT_DOUBLE_EQ(clocks.lock_hz, 1.5 * kGigahertz);
  EXPECT_NEAR(clocks.locked.gpu_energy_j, 112.5 + 42.1875 * lock_s, 1e-9);
  EXPECT_NEAR(clocks.changed.step_s, lock_s, 1e-12);
  EXPECT_NEAR(clocks.changed.gpu_energy_j,
              (175 * 0.5625 + 42.1875 * (lock_s - 0.25)) + (25 + 12.5) / 4, 1e-9);
  EXPECT_DOUBLE_EQ(clocks.kinds[1].own_hz, 1.5 * kGigahertz);
  EXPECT_DOUBLE_EQ(clocks.other_hz, 1 * kGigahertz);
  // No run of it is longer than a change, and none is of the last two kinds.
  EXPECT_DOUBLE_EQ(clocks.kinds[0].own_hz, clocks.other_hz);
  EXPECT_DOUBLE_EQ(clocks.kinds[3].free_hz, clocks.lock_hz);
}

// A quarter more time: all at 1.5 GHz takes 7/3 s, compute 4/3 at 42.1875 W and 56.25 J.
TEST(OperatorClocks, ThatComeTooLateAreOneLockedClock) {
  const OperatorClocks clocks = weighed(two_runs(), 1, 0.25);
  EXPECT_DOUBLE_EQ(clocks.lock_hz, 1.5 * kGigahertz);
  EXPECT_NEAR(clocks.locked.step_s, 7.0 / 3, 1e-12);
  EXPECT_NEAR(clocks.locked.gpu_energy_j, 2 * 56.25 + 42.1875 * 7 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(clocks.changed.gpu_energy_j, clocks.locked.gpu_energy_j);
  EXPECT_DOUBLE_EQ(clocks.other_hz, clocks.lock_hz);
  EXPECT_EQ(clocks.gain(), 0);
}

// Of a real job: runs add up to its step, kernels are milliseconds, and no change of 10 ms pays.
TEST(OperatorClocks, OfAJobAddUpToItsStep) {
  const spec::Job job = spec::test::job_of(small_job());
  const OperatorClocks clocks = base::value_of(operator_clocks(job, 0.01, 0.02));
  double sum_s = 0;
  for (const WorkKindRow& row : clocks.kinds) sum_s += row.time_s;
  const run::Run run = base::value_of(engine::simulate(job, {}));
  EXPECT_NEAR(sum_s, run.performance.step_time_s, 0.05 * run.performance.step_time_s);
  EXPECT_NEAR(clocks.governed.gpu_energy_j, run.power.gpu_energy_j_per_step,
              0.05 * run.power.gpu_energy_j_per_step);
  EXPECT_LE(clocks.locked.gpu_energy_j, clocks.governed.gpu_energy_j);
  EXPECT_LE(clocks.changed.gpu_energy_j, clocks.locked.gpu_energy_j);
  EXPECT_LE(clocks.free.gpu_energy_j, clocks.changed.gpu_energy_j * (1 + 1e-9));
  EXPECT_LT(clocks.gain(), 0.02);
}

Values mixtral_values(std::string routing) {
  return {{"model", "mixtral-8x7b"},
          {"num_layers", "4"},
          {"cluster", "hgx-h200"},
          {"gpus", "8"},
          {"ep", "8"},
          {"gbs", "16"},
          {"seq", "4096"},
          {"moe_routing", std::move(routing)}};
}

double kind_s(const OperatorClocks& clocks, WorkKind kind) {
  return clocks.kinds[static_cast<size_t>(kind)].time_s;
}

// A rank with two of eight shares computes longer, and all wait for it: its time counts, and the
// joules of all. Where another rank is full in every layer it is the same.
TEST(OperatorClocks, OfUnevenExpertsFollowTheFullest) {
  const OperatorClocks even =
      base::value_of(operator_clocks(spec::test::job_of(mixtral_values("even")), 0, 0.02));
  for (const char* routing : {"hot-rank:2", "rotating-rank:2"}) {
    const spec::Job job = spec::test::job_of(mixtral_values(routing));
    const OperatorClocks hot = base::value_of(operator_clocks(job, 0, 0.02));
    double sum_s = 0;
    for (const WorkKindRow& row : hot.kinds) sum_s += row.time_s;
    const run::Run run = base::value_of(engine::simulate(job, {}));
    EXPECT_NEAR(sum_s, run.performance.step_time_s, 0.01 * run.performance.step_time_s) << routing;
    EXPECT_GT(kind_s(hot, WorkKind::kCompute), 1.2 * kind_s(even, WorkKind::kCompute)) << routing;
    EXPECT_LT(kind_s(hot, WorkKind::kWaiting), 0.05 * sum_s) << routing;
    EXPECT_NEAR(hot.governed.gpu_energy_j, run.power.gpu_energy_j_per_step,
                0.05 * run.power.gpu_energy_j_per_step)
        << routing;
    EXPECT_LE(hot.free.gpu_energy_j, hot.locked.gpu_energy_j) << routing;
  }
}

// The replica with most work hardly waits, and its runs are the step; joules are the mean
// replica's.
TEST(OperatorClocks, OfUnlikeDocumentsFollowTheReplicaWithMostWork) {
  for (const char* batching : {"packed", "variable"}) {
    const spec::Job job = spec::test::job_of({{"model", "llama3-8b"},
                                              {"num_layers", "4"},
                                              {"cluster", "hgx-h200"},
                                              {"gpus", "8"},
                                              {"tp", "2"},
                                              {"gbs", "16"},
                                              {"seq", "4096"},
                                              {"sequence_lengths", "lognormal:900,1"},
                                              {"sequence_batching", batching}});
    const OperatorClocks clocks = base::value_of(operator_clocks(job, 0, 0.02));
    double sum_s = 0;
    for (const WorkKindRow& row : clocks.kinds) sum_s += row.time_s;
    const run::Run run = base::value_of(engine::simulate(job, {}));
    EXPECT_NEAR(sum_s, run.performance.step_time_s, 0.02 * run.performance.step_time_s) << batching;
    EXPECT_NEAR(clocks.governed.gpu_energy_j, run.power.gpu_energy_j_per_step,
                0.05 * run.power.gpu_energy_j_per_step)
        << batching;
    EXPECT_LE(clocks.free.gpu_energy_j, clocks.locked.gpu_energy_j) << batching;
  }
}

TEST(OperatorClocks, NeedPowerThatFollowsClocks) {
  Values values = small_job();
  values.emplace_back("clocks", "constant");
  const auto clocks = operator_clocks(spec::test::job_of(values), 0.01, 0.02);
  ASSERT_FALSE(clocks.has_value());
  EXPECT_EQ(clocks.error().message,
            "optimize: weighs power and heat, which --clocks constant leaves out; leave it out");
}

}  // namespace
}  // namespace ergometer::optimize
