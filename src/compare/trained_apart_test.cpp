#include "compare/trained_apart.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "compare/test_jobs.h"
#include "spec/resolve/resolve.h"

namespace ergometer::compare {
namespace {

using test::small;
using test::Values;

spec::Job stages(const Values& more) {
  Values values = {{"tp", "1"}, {"pp", "4"}, {"mbs", "1"}};
  values.insert(values.end(), more.begin(), more.end());
  auto job = spec::resolve(small(values));
  EXPECT_TRUE(job.has_value()) << base::error_of(job);
  return *std::move(job);
}

engine::Simulation played(const spec::Job& job) {
  auto simulation = engine::simulate_in_full(job, {.intervals = false, .whole_step = true});
  EXPECT_TRUE(simulation.has_value()) << base::error_of(simulation);
  return *std::move(simulation);
}

// Where all steps are recovery it is 1F1B, to the last bit.
TEST(TrainedApart, AllStepsAsRecoveryAreOneFOneB) {
  const run::Run recovered =
      played(stages({{"stage_training", "local-heads"}, {"recovery_steps", "1"}})).run;
  const run::Run together = played(stages({})).run;
  EXPECT_EQ(recovered.performance.step_time_s, together.performance.step_time_s);
  EXPECT_EQ(recovered.power.energy_j_per_step, together.power.energy_j_per_step);
  EXPECT_EQ(recovered.memory.peak_bytes, together.memory.peak_bytes);
}

// No gradient is sent; a stage keeps the activations of one micro batch; with heads of their own
// the stages hold a matrix of the vocabulary each, with labels none.
TEST(TrainedApart, StagesSendNoGradients) {
  const engine::Simulation together = played(stages({})),
                           heads = played(stages({{"stage_training", "local-heads"}})),
                           labels = played(stages({{"stage_training", "synthetic-labels"}}));
  const auto sends = [](const engine::Simulation& simulation, workload::Pass pass) {
    int64_t count = 0;
    for (const plan::Role& role : simulation.plan.roles)
      for (const plan::Instruction& it : role.program)
        if (it.kind == plan::InstructionKind::kSend &&
            simulation.plan.operators[static_cast<size_t>(it.op)].pass == pass)
          ++count;
    return count;
  };
  // Three borders, 32 sequences over four replicas.
  for (const engine::Simulation* it : {&together, &heads, &labels})
    EXPECT_EQ(sends(*it, workload::Pass::kForward), 3 * 8);
  EXPECT_EQ(sends(together, workload::Pass::kBackward), 3 * 8);
  EXPECT_EQ(sends(heads, workload::Pass::kBackward), 0);
  EXPECT_EQ(sends(labels, workload::Pass::kBackward), 0);
  const run::StageMemory& first = together.run.memory.stages.front();
  EXPECT_LT(labels.run.memory.stages.front().activations_bytes, first.activations_bytes);
  EXPECT_EQ(labels.run.memory.stages.front().weights_bytes, first.weights_bytes);
  EXPECT_EQ(heads.run.memory.stages.front().weights_bytes,
            first.weights_bytes + 2 * (128256.0 * 4096 + 4096));
  EXPECT_LT(labels.run.performance.step_time_s, together.run.performance.step_time_s);
  EXPECT_GT(heads.run.performance.step_time_s, labels.run.performance.step_time_s);
}

TEST(TrainedApart, MeanIsByTheShareOfRecoverySteps) {
  const TrainedApart trained{
      .apart_s = 4, .together_s = 6, .recovery_steps = 0.25, .together_peak_bytes = 1 << 30};
  EXPECT_DOUBLE_EQ(trained.mean_s(), 4.5);
  EXPECT_EQ(to_text(trained),
            "--stage-training: 4.00 s a step where stages train apart, 6.00 s together; with 25 % "
            "of steps together 4.50 s on average, and these take at least 1.00 GiB");
  const spec::Job job = stages({{"stage_training", "local-heads"}, {"recovery_steps", "0.25"}});
  const auto of_job = trained_apart(job, played(job).run);
  ASSERT_TRUE(of_job.has_value());
  EXPECT_EQ(of_job->together_s, played(stages({})).run.performance.step_time_s);
}

}  // namespace
}  // namespace ergometer::compare
