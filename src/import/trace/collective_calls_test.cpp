#include "import/trace/collective_calls.h"

#include <gtest/gtest.h>

namespace ergometer::importer {
namespace {

constexpr int64_t kThread = 5;

run::RankTrace trace_with(int kernels) {
  run::RankTrace trace;
  trace.names = {"ncclDevKernel_Generic"};
  for (int i = 0; i < kernels; ++i)
    trace.events.push_back({.correlation = i, .kind = run::GpuClass::kCommunication});
  return trace;
}

CollectiveCall call(const char* name, int64_t start, int64_t end, int64_t bytes = -1) {
  return {.name = name,
          .thread = kThread,
          .start_ns = start,
          .end_ns = end,
          .bytes = bytes,
          .group_size = 4,
          .group = ""};
}

TEST(CollectiveCalls, TheCallAroundTheLaunch) {
  run::RankTrace trace = trace_with(3);
  join_collective_calls({call("ncclAllReduce", 10, 20, 100), call("ncclAllGather", 30, 40, 100)},
                        {{0, kThread, 15}, {1, kThread, 30}, {2, kThread, 25}}, trace);
  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives[trace.events[0].collective].name, "allreduce");
  EXPECT_EQ(trace.collectives[trace.events[1].collective].name, "all_gather");
  EXPECT_EQ(trace.events[2].collective, run::GpuEvent::kNone);  // between two calls
}

TEST(CollectiveCalls, AnotherThreadsCallIsNone) {
  run::RankTrace trace = trace_with(1);
  join_collective_calls({call("ncclAllReduce", 10, 20)}, {{0, kThread + 1, 15}}, trace);
  EXPECT_EQ(trace.events[0].collective, run::GpuEvent::kNone);
}

/// NCCL counts what one rank gives to an all-gather and gets from a reduce-scatter.
TEST(CollectiveCalls, MessagesAsNcclCountsThem) {
  run::RankTrace trace = trace_with(3);
  join_collective_calls({call("ncclAllReduce", 10, 20, 100), call("ncclAllGather", 30, 40, 100),
                         call("ncclReduceScatter", 50, 60, 100)},
                        {{0, kThread, 15}, {1, kThread, 35}, {2, kThread, 55}}, trace);
  ASSERT_EQ(trace.collectives.size(), 3U);
  EXPECT_EQ(trace.collectives[0].in_elements, 100);
  EXPECT_EQ(trace.collectives[0].out_elements, 100);
  EXPECT_EQ(trace.collectives[1].in_elements, 100);
  EXPECT_EQ(trace.collectives[1].out_elements, 400);
  EXPECT_EQ(trace.collectives[2].in_elements, 400);
  EXPECT_EQ(trace.collectives[2].out_elements, 100);
  EXPECT_EQ(trace.collectives[2].dtype, "Byte");
}

TEST(CollectiveCalls, AGroupOfOneKindIsOneOfAllItsBytes) {
  run::RankTrace trace = trace_with(1);
  join_collective_calls(
      {call("ncclSend", 1, 2, 1000), call("ncclGroupStart", 10, 11), call("ncclSend", 12, 13, 100),
       call("ncclGroupStart", 14, 15), call("ncclSend", 16, 17, 20), call("ncclGroupEnd", 18, 19),
       call("ncclGroupEnd", 20, 30)},
      {{0, kThread, 25}}, trace);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].name, "send");
  EXPECT_EQ(trace.collectives[0].in_elements, 120);
}

TEST(CollectiveCalls, OfAGroupOfSeveralKindsNothingIsSaid) {
  run::RankTrace trace = trace_with(1);
  join_collective_calls({call("ncclGroupStart", 10, 11), call("ncclSend", 12, 13, 100),
                         call("ncclRecv", 14, 15, 100), call("ncclGroupEnd", 20, 30)},
                        {{0, kThread, 25}}, trace);
  EXPECT_EQ(trace.events[0].collective, run::GpuEvent::kNone);
}

TEST(CollectiveCalls, BytesThatOverflowAreNotKnown) {
  run::RankTrace trace = trace_with(1);
  join_collective_calls({call("ncclAllGather", 10, 20, INT64_MAX)}, {{0, kThread, 15}}, trace);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].out_elements, -1);
}

}  // namespace
}  // namespace ergometer::importer
