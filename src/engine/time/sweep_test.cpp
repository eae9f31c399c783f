#include "engine/time/sweep.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "engine/time/test_plan.h"

namespace ergometer::engine {
namespace {

using test::part;
using test::TestPlan;
using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

double sum_of_parts(const RankTimes& rank) {
  return std::accumulate(rank.parts_s.begin(), rank.parts_s.end(), 0.0);
}

// Two ranks, 10 s of clocked work, then a 1 s all-reduce. Rank 1 runs at half the clock: it needs
// 20 s, so both end at 21 s, and rank 0 spends 11 s in the all-reduce, 10 of them waiting.
TEST(Sweep, SlowRankDelaysItsTensorGroup) {
  TestPlan test(2, 1, 1, 1);
  const int32_t work = test.op(0, 10);
  const int32_t reduce = test.communication(CollectiveKind::kAllReduce, GroupKind::kTensor, 1);
  test.compute(0, work);
  test.collective(0, reduce);
  test.clocks_hz = {1e9, 0.5e9};
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 21);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kCompute), 10);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kAllReduce), 11);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kCompute), 20);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kAllReduce), 1);
}

// The same where nobody waits: both spend the all-reduce's second for themselves. A collective
// that is excepted by its name is waited in as ever.
TEST(Sweep, RanksThatDoNotWaitForEachOther) {
  TestPlan test(2, 1, 1, 1);
  test.compute(0, test.op(0, 10));
  test.collective(0, test.communication(CollectiveKind::kAllReduce, GroupKind::kTensor, 1));
  test.clocks_hz = {1e9, 0.5e9};
  EngineInput input = test.input();
  input.waits_left_out = {.collectives = true};
  const Timeline timeline = sweep(input);
  EXPECT_DOUBLE_EQ(timeline.ranks[0].end_s, 11);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].end_s, 21);
  input.waits_left_out.but_at = "communication";
  EXPECT_DOUBLE_EQ(sweep(input).ranks[0].end_s, 21);
}

// Two stages of 2 and 5 s, then a second in which all of them meet: stage 0 need not be there at 5.
TEST(Sweep, StagesThatDoNotWaitForEachOther) {
  TestPlan test(1, 1, 1, 2);
  test.compute(0, test.op(2));
  test.compute(1, test.op(5));
  test.world(test.communication(CollectiveKind::kAllReduce, GroupKind::kWorld, 1));
  EngineInput input = test.input();
  EXPECT_DOUBLE_EQ(sweep(input).ranks[0].end_s, 6);
  input.waits_left_out = {.collectives = true};
  EXPECT_DOUBLE_EQ(sweep(input).ranks[0].end_s, 3);
}

// tp 2, dp 2, ranks 0 1 | 2 3; rank 3 is slow. The tensor group {2, 3} waits at once, the other
// learns of it in the data-parallel groups {0, 2} and {1, 3}: 4 s of work (8 on rank 3), 1 s
// all-reduce, 2 s gradients.
TEST(Sweep, DelaySpreadsFromGroupToGroup) {
  TestPlan test(2, 1, 2, 1);
  test.compute(0, test.op(0, 4));
  test.collective(0, test.communication(CollectiveKind::kAllReduce, GroupKind::kTensor, 1));
  test.collective(0, test.communication(CollectiveKind::kReduceScatter, GroupKind::kData, 2));
  test.clocks_hz = {1e9, 1e9, 1e9, 0.5e9};
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 11);  // 8 + 1 + 2
  for (const int rank : {0, 1}) {
    EXPECT_DOUBLE_EQ(part(timeline.ranks[static_cast<size_t>(rank)], Part::kAllReduce), 1);
    EXPECT_DOUBLE_EQ(part(timeline.ranks[static_cast<size_t>(rank)], Part::kReduceScatter),
                     6);  // 4 of them waiting
  }
  EXPECT_DOUBLE_EQ(part(timeline.ranks[2], Part::kAllReduce), 5);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[3], Part::kAllReduce), 1);
}

// The host needs 3 s a launch, the kernels 1 s: kernel i starts at 3 i, the fourth ends at 10, 6 s
// are idle. Then a kernel of 10 s is launched at 12, and one of 1 s waits for it: 23.
TEST(Sweep, MergedRunKnowsTheHost) {
  TestPlan test(1, 1, 1, 1);
  const int32_t small = test.op(1), large = test.op(10);
  for (int i = 0; i < 4; ++i) test.compute(0, small);
  test.costs.launch_s = 3;
  Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 10);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kIdle), 6);
  test.compute(0, large);
  test.compute(0, small);
  timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 23);
}

// After a launch elsewhere, kernels of 2 and 1 s of clocked work; 1.5 s a launch. At full clock
// they run from 1.5 to 3.5 and from 3.5, launched at 3, to 4.5. At clock 4 the first runs from 1.5
// to 2, the second from its launch at 3 to 3.25. Which of host and GPU is late differs from rank to
// rank, so the run must not become one line.
TEST(Sweep, RunIsNotMergedWhereClocksDisagreeOnWhatIsLate) {
  TestPlan test(1, 1, 2, 1);
  test.compute(0, test.op(0), Stream::kExpert);
  test.compute(0, test.op(0, 2));
  test.compute(0, test.op(0, 1));
  test.costs.launch_s = 1.5;
  test.clocks_hz = {1e9, 4e9};
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.ranks[0].end_s, 4.5);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].end_s, 3.25);
}

// 2 s of work, a device-to-host copy, then two launches of 1 s each: the first starts at 2, the
// second is launched at 3 and starts at max(2.5, 3); it ends at 3.5.
TEST(Sweep, HostWaitsForTheDevice) {
  TestPlan test(1, 1, 1, 1);
  const int32_t half = test.op(0.5);
  test.compute(0, test.op(2));
  test.add(0, {.kind = plan::InstructionKind::kHostSync});
  test.compute(0, half);
  test.compute(0, half);
  test.costs.launch_s = 1;
  EngineInput input = test.input();
  EXPECT_DOUBLE_EQ(sweep(input).step_s, 3.5);
  // A host that does not has launched the two at 1 and 2: they run from 2 to 3.
  input.waits_left_out = {.host = true};
  EXPECT_DOUBLE_EQ(sweep(input).step_s, 3);
}

// Launches of 1 s; behind the first the host loses 5 s more: the second starts at 6, the third
// at 7.
TEST(Sweep, AHostThatStalls) {
  TestPlan test(1, 1, 1, 1);
  const int32_t half = test.op(0.5);
  for (int i = 0; i < 3; ++i) test.compute(0, half);
  test.costs.launch_s = 1;
  constexpr std::array kStalls = {HostStall{.instruction = 0, .seconds = 5}};
  EngineInput input = test.input();
  EXPECT_DOUBLE_EQ(sweep(input).step_s, 2.5);
  input.host_stalls = kStalls;
  const Timeline timeline = sweep(input);
  EXPECT_DOUBLE_EQ(timeline.step_s, 7.5);
  EXPECT_DOUBLE_EQ(timeline.launches_s[0], 8);
}

// A 5 s gather on its own stream beside 3 s of work: 2 s are exposed, charged where the compute
// stream waits.
TEST(Sweep, JoinChargesWhatIsExposed) {
  TestPlan test(2, 1, 1, 1);
  const int32_t gather = test.communication(CollectiveKind::kAllGather, GroupKind::kTensor, 5);
  test.collective(0, gather, Stream::kTensor);
  test.compute(0, test.op(3));
  test.add(0, {.kind = plan::InstructionKind::kJoin,
               .stream = Stream::kCompute,
               .on = Stream::kTensor,
               .op = gather});
  test.compute(0, test.op(1));
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 6);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kAllGather), 2);
}

// An event recorded before the second gather of a stream: the wait sees the first only.
TEST(Sweep, WaitSeesWhatWasRecorded) {
  TestPlan test(2, 1, 1, 1);
  const int32_t gather = test.communication(CollectiveKind::kAllGather, GroupKind::kTensor, 5);
  test.plan.roles[0].events = 1;
  test.collective(0, gather, Stream::kData);
  test.add(0, {.kind = plan::InstructionKind::kRecord, .stream = Stream::kData, .slot = 0});
  test.collective(0, gather, Stream::kData);
  test.add(
      0,
      {.kind = plan::InstructionKind::kWait, .stream = Stream::kCompute, .op = gather, .slot = 0});
  test.compute(0, test.op(1));
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kAllGather), 5);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kIdle), 4);  // the second gather runs on to 10
  EXPECT_DOUBLE_EQ(timeline.step_s, 10);
}

// One event is over before two others, made at 2 and 5, are awaited: they must not share memory.
// Waiting for the first of them only, work of 1 s ends at 3; for the second too, at 6.
TEST(Sweep, EventsKeepApart) {
  TestPlan test(1, 1, 1, 1);
  test.plan.roles[0].events = 3;
  const auto record = [&](int32_t event) {
    test.add(0, {.kind = plan::InstructionKind::kRecord, .stream = Stream::kData, .slot = event});
  };
  const auto wait = [&](int32_t event, Stream stream) {
    test.add(0, {.kind = plan::InstructionKind::kWait, .stream = stream, .slot = event});
  };
  record(0);
  wait(0, Stream::kCompute);
  test.compute(0, test.op(2), Stream::kData);
  record(1);
  test.compute(0, test.op(3), Stream::kData);
  record(2);
  const int32_t work = test.op(1);
  wait(1, Stream::kTensor);
  test.compute(0, work, Stream::kTensor);
  wait(2, Stream::kCompute);
  test.compute(0, work);
  test.sampled = {0};
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 6);
  test.plan.roles[0].program.resize(8);  // up to the work behind the first wait
  test.compute(0, test.op(2.5), Stream::kTensor);
  EXPECT_DOUBLE_EQ(sweep(test.input()).step_s, 5.5);  // 2 + 1 + 2.5
}

// Stage 0 works 4 s and sends (1 s); stage 1 has nothing to do before. It receives at 4, has it at
// 5, works to 9. Of its 5 s of waiting 1 s is the transfer, 4 s are bubble; stage 0 idles from 5
// on.
TEST(Sweep, WaitingForANeighbourIsIdle) {
  TestPlan test(1, 1, 1, 2);
  const int32_t work = test.op(4);
  const int32_t transfer = test.communication(CollectiveKind::kSendRecv, GroupKind::kPipeline, 1);
  test.compute(0, work);
  test.message(0, 1, transfer);
  test.compute(1, work);
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 9);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kSendRecv), 1);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kIdle), 4);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kSendRecv), 1);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kIdle), 4);
}

// The same received on a stream of its own, with the compute stream joining it.
TEST(Sweep, JoiningAReceiveChargesAtMostTheTransfer) {
  TestPlan test(1, 1, 1, 2);
  const int32_t transfer = test.communication(CollectiveKind::kSendRecv, GroupKind::kPipeline, 1);
  test.compute(0, test.op(4));
  test.add(0, {.kind = plan::InstructionKind::kJoin,
               .stream = Stream::kPipelineForward,
               .on = Stream::kCompute});
  test.message(0, 1, transfer, Stream::kPipelineForward);
  test.add(1, {.kind = plan::InstructionKind::kJoin,
               .stream = Stream::kCompute,
               .on = Stream::kPipelineForward,
               .op = transfer});
  test.compute(1, test.op(2));
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 7);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kSendRecv), 1);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[1], Part::kIdle), 4);
}

// Everybody meets at 6, when stage 1 is done, for 1 s; then 2 s of optimizer.
TEST(Sweep, AllStagesMeet) {
  TestPlan test(2, 1, 1, 2);
  test.compute(0, test.op(1));
  test.compute(1, test.op(6));
  test.world(test.communication(CollectiveKind::kAllReduce, GroupKind::kWorld, 1));
  const int32_t adam = test.op(2, 0, workload::Pass::kOptimizer);
  test.compute(0, adam);
  test.compute(1, adam);
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.step_s, 9);
  for (const RankTimes& rank : timeline.ranks) {
    EXPECT_DOUBLE_EQ(part(rank, Part::kAllReduce), 1);
    EXPECT_DOUBLE_EQ(part(rank, Part::kOptimizer), 2);
    EXPECT_DOUBLE_EQ(sum_of_parts(rank), 9);
  }
  EXPECT_DOUBLE_EQ(part(timeline.ranks[0], Part::kIdle), 5);
  EXPECT_DOUBLE_EQ(part(timeline.ranks[2], Part::kIdle), 0);
}

// First and last stage exchange embedding gradients rank by rank; the stage between does not take
// part.
TEST(Sweep, EmbeddingGroupJoinsEqualIndices) {
  TestPlan test(2, 1, 1, 3);
  const int32_t work = test.op(0, 4);
  const int32_t tie = test.communication(CollectiveKind::kAllReduce, GroupKind::kEmbedding, 1);
  for (const size_t role : {size_t{0}, size_t{2}}) {
    test.compute(role, work);
    test.add(role, {.kind = plan::InstructionKind::kWorld, .op = tie});
  }
  test.compute(1, work);
  test.clocks_hz = {1e9, 1e9, 1e9, 1e9, 0.5e9, 1e9};  // the last stage's first rank is slow
  const Timeline timeline = sweep(test.input());
  EXPECT_DOUBLE_EQ(timeline.ranks[0].end_s, 9);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].end_s, 5);
  EXPECT_DOUBLE_EQ(timeline.ranks[2].end_s, 4);
  EXPECT_DOUBLE_EQ(timeline.ranks[4].end_s, 9);
}

TEST(Sweep, StretchMultipliesOneInstruction) {
  TestPlan test(1, 1, 1, 1);
  const int32_t work = test.op(1, 1);
  test.compute(0, work);
  test.compute(0, work);
  test.stretch = {{1.0f, 1.5f}};
  EXPECT_DOUBLE_EQ(sweep(test.input()).step_s, 5);
}

TEST(Sweep, SampledRanksShowEveryKernel) {
  TestPlan test(2, 1, 1, 1);
  const int32_t work = test.op(0, 2);
  test.compute(0, work);
  test.compute(0, work);
  test.collective(0, test.communication(CollectiveKind::kAllReduce, GroupKind::kTensor, 1));
  test.compute(0, work);
  test.clocks_hz = {1e9, 0.5e9};
  test.sampled = {0};
  const Timeline timeline = sweep(test.input());
  ASSERT_EQ(timeline.spans.size(), 4u);
  const double starts[] = {0, 2, 4, 9}, ends[] = {2, 4, 9, 11};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(timeline.spans[i].start_s, starts[i]);
    EXPECT_DOUBLE_EQ(timeline.spans[i].end_s, ends[i]);
  }
}

TEST(SweepDeathTest, DeadlockIsOurBug) {
  TestPlan test(1, 1, 1, 2);
  const int32_t transfer = test.communication(CollectiveKind::kSendRecv, GroupKind::kPipeline, 1);
  test.plan.messages = 1;
  test.add(1, {.kind = plan::InstructionKind::kRecv, .op = transfer, .slot = 0});
  EXPECT_EXIT(sweep(test.input()), testing::ExitedWithCode(70), "deadlock");
  EXPECT_EXIT(simulate_events(test.input()), testing::ExitedWithCode(70), "deadlock");
}

}  // namespace
}  // namespace ergometer::engine
