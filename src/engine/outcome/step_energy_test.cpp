#include "engine/outcome/step_energy.h"

#include <gtest/gtest.h>

#include <string_view>

#include "engine/simulate.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

using test::job_of;

constexpr auto kCompute = static_cast<size_t>(Part::kCompute);
constexpr auto kGather = static_cast<size_t>(Part::kAllGather);

WorkUse work(size_t part, double charged_s, double running_s, const physics::Energy& energy) {
  WorkUse use;
  use.charged_s[part] = charged_s;
  use.running_s[part] = running_s;
  use.energy = energy;
  return use;
}

TEST(EnergyDivision, WorkedByHand) {
  const WorkUse first = work(kCompute, 0.5, 0.5, {.tensor_j = 2});
  const WorkUse second = work(kCompute, 0.25, 0.25, {.vector_j = 4});
  WorkUse all = work(kCompute, 0.75, 0.75, {.tensor_j = 2, .vector_j = 4});
  std::array<double, kPartCount> parts_s{};
  parts_s[kCompute] = 0.75;
  parts_s[static_cast<size_t>(Part::kIdle)] = 0.25;
  const EnergyDivision division({.core_j = 12, .standing_j = 18, .ranks = 2}, all, parts_s, 1);
  EXPECT_DOUBLE_EQ(division.of(first).work_j, 4);
  EXPECT_DOUBLE_EQ(division.of(first).standing_j, 9);
  EXPECT_DOUBLE_EQ(division.of(first).seconds, 1);  // of two ranks
  EXPECT_DOUBLE_EQ(division.of(second).joules(), 12.5);
  EXPECT_DOUBLE_EQ(division.idle().joules(), 4.5);
}

/// The step as played takes twice as long as at the reference clock; a gather that a lone rank
/// never waits for takes what all ranks wait for, 0.5 of 2 s; rails are scaled by themselves.
TEST(EnergyDivision, FollowsTheStepAsPlayed) {
  const WorkUse compute = work(kCompute, 0.75, 0.75, {.tensor_j = 6, .memory_j = 1});
  const WorkUse gather = work(kGather, 0, 0.5, {.memory_j = 1, .link_j = 4});
  WorkUse all = compute;
  all.running_s[kGather] = 0.5;
  all.energy += gather.energy;
  std::array<double, kPartCount> parts_s{};
  parts_s[kCompute] = 1.5;
  parts_s[kGather] = 0.5;
  const EnergyDivision division(
      {.core_j = 3, .memory_j = 2, .link_j = 8, .standing_j = 20, .ranks = 1}, all, parts_s, 2);
  EXPECT_DOUBLE_EQ(division.of(compute).work_j, 3 + 1);
  EXPECT_DOUBLE_EQ(division.of(compute).standing_j, 15);
  EXPECT_DOUBLE_EQ(division.of(gather).work_j, 1 + 8);
  EXPECT_DOUBLE_EQ(division.of(gather).standing_j, 5);
  EXPECT_DOUBLE_EQ(division.idle().joules(), 0);
}

/// What no work can be charged with is idle.
TEST(EnergyDivision, TimeWithoutWorkIsIdle) {
  std::array<double, kPartCount> parts_s{};
  parts_s[kGather] = 1;
  const EnergyDivision division({.standing_j = 6, .ranks = 1}, {}, parts_s, 2);
  EXPECT_DOUBLE_EQ(division.idle().joules(), 6);
}

/// Seconds of the collectives of a kind, of all groups; or of what has that name.
double seconds_of(const run::Run& run, std::string_view kind) {
  double seconds = 0;
  for (const run::EnergyRow& row : run.power.step_energy)
    if (row.dimension == "collective" && row.name.ends_with(kind)) seconds += row.seconds;
  return seconds;
}

/// Every part has the seconds of the breakdown of the step time, capped and in a pipeline.
TEST(StepEnergy, SecondsAreTheBreakdowns) {
  const spec::Job job = job_of({{"model", "llama3-8b"},
                                {"cluster", "hgx-h100"},
                                {"gpus", "16"},
                                {"tp", "2"},
                                {"pp", "2"},
                                {"mbs", "1"},
                                {"gbs", "32"},
                                {"power_cap", "450"}});
  const auto run = simulate(job, {.energy_parts = true});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  const run::Breakdown& parts = run->performance.breakdown_s;
  EXPECT_NEAR(seconds_of(*run, "compute"), parts.compute, 1e-9);
  EXPECT_NEAR(seconds_of(*run, "optimizer"), parts.optimizer, 1e-9);
  EXPECT_NEAR(seconds_of(*run, "all_gather"), parts.exposed_all_gather, 1e-9);
  EXPECT_NEAR(seconds_of(*run, "reduce_scatter"), parts.exposed_reduce_scatter, 1e-9);
  EXPECT_NEAR(seconds_of(*run, "send_recv"), parts.exposed_send_recv, 1e-9);
  EXPECT_NEAR(seconds_of(*run, "idle"), parts.idle, 1e-9);
  EXPECT_GT(parts.idle, 0);
  EXPECT_GT(parts.exposed_all_gather, 0);
}

}  // namespace
}  // namespace ergometer::engine
