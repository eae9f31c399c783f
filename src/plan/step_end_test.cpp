#include "plan/step_end.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using workload::GroupKind;
using workload::Module;
using workload::Stream;

/// Four stages of three nodes whose cards have twice the rate of each of four circuits.
spec::Job phased_job() {
  spec::Job job = test::make_job({.tp = 8, .pp = 4, .dp = 3, .micro_batches = 4});
  job.parallelism.zero_stage = 0;
  job.cluster.fabric.kind = spec::FabricKind::kOptical;
  job.cluster.fabric.topology.circuits = {.degree = 4,
                                          .link_bytes_per_s = 200e9,
                                          .when = spec::Reconfigure::kPhase,
                                          .reconfiguration_s = 1e-3};
  return job;
}

/// Where a role makes circuits for a module: the stream, and the instruction's place; -1: nowhere.
struct Change {
  Stream stream = Stream::kCompute;
  int64_t place = -1;
};

Change change_for(Module module, const Plan& plan, size_t role) {
  const std::vector<Instruction>& program = plan.roles[role].program;
  for (size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind != InstructionKind::kCompute || program[i].op < 0) continue;
    const workload::Operator& op = plan.operators[static_cast<size_t>(program[i].op)];
    if (op.name == kReconfiguration && op.module == module)
      return {program[i].stream, static_cast<int64_t>(i)};
  }
  return {};
}

int64_t place_of(std::string_view name, const Plan& plan, size_t role) {
  const std::vector<Instruction>& program = plan.roles[role].program;
  for (size_t i = 0; i < program.size(); ++i)
    if (program[i].op >= 0 && plan.operators[static_cast<size_t>(program[i].op)].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

double uplink_of(std::string_view name, const Plan& plan) {
  for (size_t op = 0; op < plan.operators.size(); ++op)
    if (plan.operators[op].name == name) return plan.placements[1][op].ring_uplink;
  return 0;
}

TEST(StepEnd, CircuitsOfThePassesHideUntilAStageSends) {
  const spec::Job job = phased_job();
  const Plan plan = make_plan(job, test::fake_workload(job));
  for (size_t role = 0; role < 4; ++role) {
    const Change passes = change_for(Module::kPipeline, plan, role);
    EXPECT_EQ(passes.stream, Stream::kData);
    EXPECT_EQ(passes.place, 0);
    const Change end = change_for(Module::kData, plan, role);
    EXPECT_EQ(end.stream, Stream::kCompute);
    EXPECT_LT(place_of("fc1_wgrad", plan, role), end.place);
    EXPECT_LT(end.place, place_of("grad_all_reduce", plan, role));
    EXPECT_EQ(change_for(Module::kOptimizer, plan, role).place, -1);
  }
}

// Cards send 8 x 50 GB/s. In passes two of four links of 200 GB/s lead to the next stage: half of
// 400 over each. At the end three form rings of three nodes, a third of the bytes on each: 133 of
// 200, less than the cards. With two and two for good one link leads to the next stage, which takes
// twice as long, and rings have two: 200 of 200. Of links of 100 rings make 4/3 and 2.
TEST(StepEnd, EveryPhaseHasItsOwnCircuits) {
  spec::Job job = phased_job();
  const Plan phased = make_plan(job, test::fake_workload(job));
  EXPECT_NEAR(uplink_of("send_forward", phased), 1, 1e-12);
  EXPECT_NEAR(uplink_of("grad_all_reduce", phased), 1, 1e-12);
  job.cluster.fabric.topology.circuits.when = spec::Reconfigure::kStep;
  const Plan fixed = make_plan(job, test::fake_workload(job));
  EXPECT_NEAR(uplink_of("send_forward", fixed), 2, 1e-12);
  EXPECT_NEAR(uplink_of("grad_all_reduce", fixed), 1, 1e-12);
  job.cluster.fabric.topology.circuits.link_bytes_per_s = 100e9;
  EXPECT_NEAR(uplink_of("grad_all_reduce", make_plan(job, test::fake_workload(job))), 2, 1e-12);
  job.cluster.fabric.topology.circuits.when = spec::Reconfigure::kPhase;
  EXPECT_NEAR(uplink_of("grad_all_reduce", make_plan(job, test::fake_workload(job))), 4.0 / 3,
              1e-12);
}

// Gradients go beside the passes and share their circuits: only parameters have circuits of their
// own, made beside the optimizer. What is sent within stages waits for the passes' from the start.
TEST(StepEnd, CircuitsForParametersAreMadeBesideTheOptimizer) {
  spec::Job job = phased_job();
  job.training.overlap_grad_reduce = true;
  job.parallelism.zero_stage = 1;
  const Plan plan = make_plan(job, test::fake_workload(job));
  const Change end = change_for(Module::kData, plan, 0);
  EXPECT_EQ(end.stream, Stream::kData);
  EXPECT_LT(place_of("grad_norm_all_reduce", plan, 0), end.place);
  EXPECT_LT(end.place, place_of("param_all_gather", plan, 0));
  EXPECT_EQ(change_for(Module::kPipeline, plan, 0).stream, Stream::kCompute);
}

// What goes back over a single ring of circuits passes all other stages.
TEST(StepEnd, SendsOnCircuitsHaveAWayEach) {
  spec::Job job = phased_job();
  job.cluster.fabric.topology.circuits.degree = 2;
  job.cluster.fabric.topology.circuits.when = spec::Reconfigure::kJob;
  const Plan plan = make_plan(job, test::fake_workload(job));
  EXPECT_NEAR(uplink_of("send_forward", plan), 2, 1e-12);
  EXPECT_NEAR(uplink_of("recv_forward", plan), 2, 1e-12);
  EXPECT_NEAR(uplink_of("send_backward", plan), 6, 1e-12);
  EXPECT_NEAR(uplink_of("recv_backward", plan), 6, 1e-12);
}

}  // namespace
}  // namespace ergometer::plan
