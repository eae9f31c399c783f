#include "analysis/operations/operation_slowdown.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/operations/operation_graph.h"

namespace ergometer::analysis {
namespace {

using run::OperationRole;

enum Kind { kForward, kBackward, kFs, kFr, kBs, kBr, kGather, kScatter, kClip, kOptimizer, kGc };

run::OperationTimeline empty_timeline(run::OperationGroups groups) {
  return {"t.json",
          groups,
          {{"forward-compute", OperationRole::kForward},
           {"backward-compute", OperationRole::kBackward},
           {"forward-send", OperationRole::kForwardSend},
           {"forward-recv", OperationRole::kForwardReceive},
           {"backward-send", OperationRole::kBackwardSend},
           {"backward-recv", OperationRole::kBackwardReceive},
           {"params-all-gather", OperationRole::kReplicaCollective},
           {"grads-reduce-scatter", OperationRole::kReplicaCollective},
           {"optimizer-clip-main-grad", OperationRole::kWorldCollective},
           {"optimizer", OperationRole::kOther},
           {"gc", OperationRole::kPause}},
          {7},
          {}};
}

void put(run::OperationTimeline& timeline, Kind kind, int stage, int number, double start_us,
         double duration_us, int replica = 0, int chunk = 0) {
  timeline.operations.push_back({.stage = stage,
                                 .replica = replica,
                                 .chunk = chunk,
                                 .micro_batch = number,
                                 .sequence = number,
                                 .kind = kind,
                                 .start_us = start_us,
                                 .duration_us = duration_us});
}

/// Two stages, two micro batches, 1F1B; stage 1 takes three times as long forwards and twice as
/// long backwards. Transfers take 1 us from the moment both sides are there; the last backward is
/// launched 5 us late.
run::OperationTimeline two_stages() {
  run::OperationTimeline t = empty_timeline({.stages = 2});
  put(t, kForward, 0, 0, 0, 10);
  put(t, kForward, 0, 1, 10, 10);
  put(t, kBackward, 0, 0, 82, 20);
  put(t, kBackward, 0, 1, 157, 20);
  put(t, kFs, 0, 0, 10, 1);
  put(t, kFs, 0, 1, 20, 22);  // waits until stage 1 receives, at 41
  put(t, kBr, 0, 0, 81, 1);
  put(t, kBr, 0, 1, 151, 1);
  put(t, kForward, 1, 0, 11, 30);
  put(t, kForward, 1, 1, 81, 30);
  put(t, kBackward, 1, 0, 41, 40);
  put(t, kBackward, 1, 1, 111, 40);
  put(t, kFr, 1, 0, 10, 1);
  put(t, kFr, 1, 1, 41, 1);
  put(t, kBs, 1, 0, 81, 1);
  put(t, kBs, 1, 1, 151, 1);
  return t;
}

/// Of a second replica nothing was recorded; of three steps one was cut off.
TEST(OperationSlowdown, SaysWhatIsMissing) {
  EXPECT_EQ(operation_slowdown(two_stages(), 1).missing_workers, 0);
  EXPECT_EQ(operation_slowdown(two_stages(), 1).short_steps, 0);
  run::OperationTimeline t = two_stages();
  t.groups.replicas = 2;
  const std::vector<run::Operation> step = t.operations;
  t.steps = {7, 8, 9};
  for (int32_t number = 1; number <= 2; ++number)
    for (size_t i = 0; i < step.size() / static_cast<size_t>(number); ++i) {
      t.operations.push_back(step[i]);
      t.operations.back().step = number;
    }
  const OperationSlowdown of = operation_slowdown(t, 1);
  EXPECT_EQ(of.missing_workers, 2);
  EXPECT_EQ(of.short_steps, 1);
}

TEST(OperationSlowdown, TwoStagesOfTwoMicroBatches) {
  const OperationSlowdown of = operation_slowdown(two_stages(), 1);
  constexpr double kUs = 1e-6;
  EXPECT_DOUBLE_EQ(of.recorded_step_s, 177 * kUs);
  // Forwards 0-10, 10-20 | 11-41, 81-111; backwards 41-81, 111-151 | 82-102, 152-172.
  EXPECT_DOUBLE_EQ(of.replayed_step_s, 172 * kUs);
  // Means 20 and 30: 0-20, 20-40 | 21-41, 71-91; 41-71, 91-121 | 72-102, 122-152.
  EXPECT_DOUBLE_EQ(of.ideal_step_s, 152 * kUs);
  EXPECT_DOUBLE_EQ(of.slowdown, 172.0 / 152);
  EXPECT_DOUBLE_EQ(of.launch_slowdown, 177.0 / 172);
  ASSERT_EQ(of.by_stage.size(), 2u);
  EXPECT_EQ(of.by_stage[0].name, "1");
  EXPECT_DOUBLE_EQ(of.by_stage[0].slowdown, 192.0 / 152);
  EXPECT_DOUBLE_EQ(of.by_stage[1].slowdown, 132.0 / 152);
  EXPECT_DOUBLE_EQ(of.by_replica.at(0).slowdown, 172.0 / 152);
  EXPECT_EQ(of.by_worker.at(0).stage, 1);
  EXPECT_DOUBLE_EQ(of.by_worker[0].slowdown, 172.0 / 152);
  EXPECT_EQ(of.slowest_count, 1u);
  EXPECT_DOUBLE_EQ(of.last_stage.step_s, 132 * kUs);
  EXPECT_DOUBLE_EQ(of.last_stage.alone_step_s, 192 * kUs);
  EXPECT_NEAR(of.last_stage.share, 2, 1e-9);
  EXPECT_NEAR(of.slowest_workers.share, 2, 1e-9);
  EXPECT_EQ(of.waits_left_out, 0u);
}

TEST(OperationSlowdown, SendsAndReceivesAreOneOperation) {
  const OperationSlowdown of = operation_slowdown(two_stages(), 1);
  for (const PartSlowdown& part : of.by_operation) {
    const double expected = part.name == "forward-compute"    ? 162.0 / 152
                            : part.name == "backward-compute" ? 162.0 / 152
                                                              : 1;
    EXPECT_DOUBLE_EQ(part.slowdown, expected) << part.name;
  }
}

/// Parameters, one forward and backward, a pause, gradients, the norm, the optimizer; two replicas.
TEST(OperationSlowdown, CollectivesJoinReplicas) {
  run::OperationTimeline t = empty_timeline({.replicas = 2});
  for (int replica = 0; replica < 2; ++replica) {
    const double more = replica * 20.0;  // replica 1 computes longer
    put(t, kGather, 0, 0, 0, 10, replica);
    put(t, kForward, 0, 0, 10, 10, replica);
    put(t, kBackward, 0, 0, 20, 20 + more, replica);
    put(t, kGc, 0, 0, 40 + more, 2, replica);
    put(t, kScatter, 0, 0, 42 + more, 30 - more, replica);  // from 62 on, until 72
    put(t, kClip, 0, 0, 72, 3, replica);
    put(t, kOptimizer, 0, 0, 75, 5, replica);
  }
  const OperationSlowdown of = operation_slowdown(t, 1);
  EXPECT_DOUBLE_EQ(of.replayed_step_s, 80e-6);
  EXPECT_DOUBLE_EQ(of.ideal_step_s, 70e-6);  // both backwards take 30
  EXPECT_DOUBLE_EQ(of.pause_s, 2e-6);
  EXPECT_EQ(of.by_replica.at(0).name, "1");
  EXPECT_DOUBLE_EQ(of.by_replica[0].slowdown, 80.0 / 70);
  // Both backwards at 30 where replica 1 keeps 40: it decides.
  EXPECT_DOUBLE_EQ(of.by_replica.at(1).slowdown, 1);
}

/// With chunks the last stage's forwards go back to the first one.
TEST(OperationGraph, ChunksGoRound) {
  run::OperationTimeline t = empty_timeline({.stages = 2, .chunks = 2});
  put(t, kForward, 0, 0, 0, 10, 0, 0);
  put(t, kFs, 0, 0, 10, 1);
  put(t, kFr, 1, 0, 10, 1);
  put(t, kForward, 1, 0, 11, 10, 0, 0);
  put(t, kFs, 1, 0, 21, 1);
  put(t, kFr, 0, 0, 21, 1);
  put(t, kForward, 0, 1, 22, 10, 0, 1);
  put(t, kFs, 0, 1, 32, 1);
  put(t, kFr, 1, 1, 32, 1);
  put(t, kForward, 1, 1, 33, 10, 0, 1);
  EXPECT_DOUBLE_EQ(operation_slowdown(t, 1).replayed_step_s, 43e-6);
}

/// Two collectives that two ranks join in different order: the earlier one goes first.
TEST(OperationGraph, CirclesAreCut) {
  run::OperationTimeline t = empty_timeline({.replicas = 2});
  put(t, kGather, 0, 0, 0, 10, 0);
  put(t, kScatter, 0, 0, 20, 10, 0);
  put(t, kScatter, 0, 0, 1, 10, 1);
  put(t, kGather, 0, 0, 21, 10, 1);
  const auto graphs = operation_graphs(t, 1);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].left_out, 1u);
  EXPECT_EQ(graphs[0].operations.size(), 4u);
}

TEST(OperationSlowdown, MicroBatchesOfUnequalLengthAreAlikeOnAllStages) {
  run::OperationTimeline t = empty_timeline({.stages = 3});
  constexpr double lengths[] = {10, 14, 8, 12};  // mean 11
  for (int stage = 0; stage < 3; ++stage) {
    double at_us = 100.0 * stage;
    for (int batch = 0; batch < 4; ++batch) {
      put(t, kForward, stage, batch, at_us, lengths[batch] * (stage + 1));
      at_us += lengths[batch] * (stage + 1);
    }
  }
  const OperationSlowdown of = operation_slowdown(t, 1);
  EXPECT_NEAR(of.micro_batch_correlation, 1, 1e-12);
  EXPECT_NEAR(of.micro_batch_spread, std::sqrt(5.0) / 11, 1e-12);
}

TEST(OperationSlowdown, ThreadsDoNotChangeIt) {
  run::OperationTimeline t = two_stages();
  const size_t count = t.operations.size();
  for (int step = 1; step < 5; ++step) {
    t.steps.push_back(7 + step);
    for (size_t i = 0; i < count; ++i) {
      t.operations.push_back(t.operations[i]);
      t.operations.back().step = step;
      t.operations.back().duration_us += step;
    }
  }
  EXPECT_EQ(operation_slowdown(t, 1).slowdown, operation_slowdown(t, 3).slowdown);
}

}  // namespace
}  // namespace ergometer::analysis
