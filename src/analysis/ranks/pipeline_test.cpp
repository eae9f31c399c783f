#include "analysis/ranks/pipeline.h"

#include <gtest/gtest.h>

namespace ergometer::analysis {
namespace {

using TaskKind = run::PipelineTask::Kind;

/// A rank of a stage, tasks added in seconds.
struct Rank {
  run::RankTrace trace;
  Rank(int64_t stage, int64_t stages) {
    trace.stage = stage;
    trace.stages = stages;
  }
  Rank& add(TaskKind kind, int64_t start_s, int64_t end_s, int64_t micro_batch = -1,
            int64_t step = 0, int64_t chunk = -1) {
    trace.tasks.push_back({.kind = kind,
                           .step = step,
                           .micro_batch = micro_batch,
                           .chunk = chunk,
                           .start_ns = start_s * 1'000'000'000,
                           .duration_ns = (end_s - start_s) * 1'000'000'000});
    return *this;
  }
};

// 1F1B, 2 stages, 2 micro batches, F = 1 s, B = 2 s.
//   time     0  1  2  3  4  5  6  7  8  9
//   stage 0  F0 F1       B0 B0    B1 B1
//   stage 1     F0 B0 B0 F1 B1 B1
std::vector<run::RankTrace> one_forward_one_backward(int64_t step = 0, int64_t at_s = 0) {
  Rank first(0, 2), last(1, 2);
  first.add(TaskKind::kForward, at_s + 0, at_s + 1, 0, step)
      .add(TaskKind::kForward, at_s + 1, at_s + 2, 1, step);
  first.add(TaskKind::kBackward, at_s + 4, at_s + 6, 0, step)
      .add(TaskKind::kBackward, at_s + 7, at_s + 9, 1, step);
  last.add(TaskKind::kForward, at_s + 1, at_s + 2, 0, step)
      .add(TaskKind::kBackward, at_s + 2, at_s + 4, 0, step);
  last.add(TaskKind::kForward, at_s + 4, at_s + 5, 1, step)
      .add(TaskKind::kBackward, at_s + 5, at_s + 7, 1, step);
  return {first.trace, last.trace};
}

TEST(Pipeline, OneForwardOneBackwardMeetsItsIdeal) {
  const auto report = pipeline_report(one_forward_one_backward());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->schedule, PipelineSchedule::k1F1B);
  EXPECT_EQ(report->stages, 2);
  EXPECT_EQ(report->micro_batches, 2);
  EXPECT_DOUBLE_EQ(report->step_s, 9);
  // Every stage works 6 s of 9: (p-1)/(m+p-1) = 1/3.
  EXPECT_DOUBLE_EQ(report->bubble_fraction, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report->ideal_bubble_fraction, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report->imbalance, 0);
}

TEST(Pipeline, SplitsTheBubbleAtFirstBackwardAndLastForward) {
  const auto report = pipeline_report(one_forward_one_backward());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->rows.size(), 2u);
  const PipelineStage& first = report->rows[0];
  EXPECT_DOUBLE_EQ(first.forward_s, 2);
  EXPECT_DOUBLE_EQ(first.backward_s, 4);
  EXPECT_DOUBLE_EQ(first.warm_up_s, 2);  // 2..4
  EXPECT_DOUBLE_EQ(first.steady_s, 0);
  EXPECT_DOUBLE_EQ(first.drain_s, 1);  // 6..7
  const PipelineStage& last = report->rows[1];
  EXPECT_DOUBLE_EQ(last.warm_up_s, 1);  // 0..1
  EXPECT_DOUBLE_EQ(last.steady_s, 0);   // 2..5 is full
  EXPECT_DOUBLE_EQ(last.drain_s, 2);    // 7..9
  EXPECT_DOUBLE_EQ(last.forward_task_s, 1);
  EXPECT_DOUBLE_EQ(last.backward_task_s, 2);
}

TEST(Pipeline, WaitsInReceivesCountWhereNothingElseRuns) {
  auto ranks = one_forward_one_backward();
  const auto add = [](run::RankTrace& rank, TaskKind kind, int64_t start_s, int64_t end_s) {
    rank.tasks.push_back({.kind = kind,
                          .step = 0,
                          .start_ns = start_s * 1'000'000'000,
                          .duration_ns = (end_s - start_s) * 1'000'000'000});
  };
  add(ranks[0], TaskKind::kReceive, 1, 4);     // 1..2 lies under F1
  add(ranks[0], TaskKind::kOptimizer, 9, 20);  // behind the step
  add(ranks[0], TaskKind::kSend, 3, 5);        // under the receive and B0
  add(ranks[0], TaskKind::kSend, 6, 7);
  const auto report = pipeline_report(ranks);
  ASSERT_TRUE(report);
  EXPECT_DOUBLE_EQ(report->step_s, 9);
  EXPECT_DOUBLE_EQ(report->rows[0].wait_s, 2);
  EXPECT_DOUBLE_EQ(report->rows[0].other_s, 1);
  EXPECT_DOUBLE_EQ(report->bubble_fraction, 1.0 / 3);
}

TEST(Pipeline, AStepMuchLongerThanTheMedianIsLeftOut) {
  auto ranks = one_forward_one_backward(1, 100);
  for (const int64_t step : {2, 3}) {
    const auto more = one_forward_one_backward(step, step * 100);
    for (size_t i = 0; i < ranks.size(); ++i)
      ranks[i].tasks.insert(ranks[i].tasks.end(), more[i].tasks.begin(), more[i].tasks.end());
  }
  ranks[0].tasks[0].start_ns -= 5'000'000'000;  // 14 s against 9 s: more than 1.5 times
  const auto report = pipeline_report(ranks);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->steps.size(), 3u);
  EXPECT_FALSE(report->steps[0].counted);
  EXPECT_EQ(report->steps[0].span_ns, 14'000'000'000);
  EXPECT_TRUE(report->steps[1].counted);
  EXPECT_DOUBLE_EQ(report->step_s, 9);
}

TEST(Pipeline, NamesTheSlowestStageOfAMicroBatch) {
  auto ranks = one_forward_one_backward();
  ranks[1].tasks[3].duration_ns = 4'000'000'000;  // B1 on the last stage: 4 s, F1 + B1 = 5 s
  const auto report = pipeline_report(ranks);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->micro_batch_rows.size(), 2u);
  EXPECT_EQ(report->micro_batch_rows[1].slowest_stage, 1);
  EXPECT_DOUBLE_EQ(report->micro_batch_rows[1].slowest_s, 5);
  EXPECT_DOUBLE_EQ(report->micro_batch_rows[1].mean_s, 4);
  EXPECT_DOUBLE_EQ(report->imbalance, 0.125);  // 1/4 for one of two micro batches
  EXPECT_EQ(report->rows[1].slowest, 1);
}

TEST(Pipeline, KnowsSchedulesByTheirTasks) {
  auto gpipe = one_forward_one_backward();
  std::swap(gpipe[1].tasks[1].start_ns, gpipe[1].tasks[2].start_ns);  // F0 F1 B0 B1
  EXPECT_EQ(pipeline_report(gpipe)->schedule, PipelineSchedule::kGpipe);
  auto interleaved = one_forward_one_backward();
  interleaved[0].tasks[0].chunk = 0;
  interleaved[0].tasks[1].chunk = 1;
  EXPECT_EQ(pipeline_report(interleaved)->schedule, PipelineSchedule::kInterleaved);
  EXPECT_EQ(pipeline_report(interleaved)->chunks, 2);
  auto zero = one_forward_one_backward();
  zero[0].tasks[3].kind = TaskKind::kBackwardWeight;
  EXPECT_EQ(pipeline_report(zero)->schedule, PipelineSchedule::kZeroBubble);
}

TEST(Pipeline, IdealBubbles) {
  // 8 stages, 16 micro batches: 7/23. In 2 chunks: 7/39.
  EXPECT_DOUBLE_EQ(ideal_bubble_fraction(PipelineSchedule::k1F1B, 8, 16), 7.0 / 23);
  EXPECT_DOUBLE_EQ(ideal_bubble_fraction(PipelineSchedule::kInterleaved, 8, 32), 7.0 / 39);
  // F = B = W = 1: a third of 1F1B's bubble, 7 x 1 beside 16 x 3.
  EXPECT_DOUBLE_EQ(ideal_bubble_fraction(PipelineSchedule::kZeroBubble, 8, 16, 1, 1, 1), 7.0 / 55);
  EXPECT_DOUBLE_EQ(ideal_bubble_fraction(PipelineSchedule::k1F1B, 8, 0), 0);
}

TEST(Pipeline, NeedsTwoStages) {
  EXPECT_FALSE(pipeline_report({}));
  auto one = one_forward_one_backward();
  one.pop_back();
  one[0].stages = -1;
  EXPECT_FALSE(pipeline_report(one));
  // Ranks that do not say their stage are numbered by position.
  auto unsaid = one_forward_one_backward();
  for (run::RankTrace& rank : unsaid) rank.stage = rank.stages = -1;
  ASSERT_TRUE(pipeline_report(unsaid));
  EXPECT_EQ(pipeline_report(unsaid)->stages, 2);
}

TEST(Pipeline, StepsThatARankLacksAreNotCounted) {
  auto ranks = one_forward_one_backward();
  ranks[0].tasks.push_back(
      {.kind = TaskKind::kForward, .step = 1, .start_ns = 0, .duration_ns = 1});
  const auto report = pipeline_report(ranks);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->steps.size(), 2u);
  EXPECT_FALSE(report->steps[1].counted);
  EXPECT_DOUBLE_EQ(report->step_s, 9);
}

}  // namespace
}  // namespace ergometer::analysis
