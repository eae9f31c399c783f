#include "analysis/ranks/critical_path.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"
#include "base/random.h"

namespace ergometer::analysis {
namespace {

struct Solved {
  EventGraph graph;
  CriticalPath path;
};

Solved solve(const std::vector<run::RankTrace>& ranks) {
  const MatchedCollectives collectives = match_collectives(ranks);
  Solved solved;
  solved.graph =
      event_graph(ranks, collectives, align_clocks(ranks, collectives), label_groups(ranks));
  solved.path = critical_path(ranks, solved.graph);
  return solved;
}

int64_t on_path(const CriticalPath& path, const std::string& kind) {
  for (const PathShare& share : path.kinds)
    if (share.kind == kind) return share.on_path_ns;
  return 0;
}
int64_t saved(const CriticalPath& path, const std::string& kind) {
  for (const PathShare& share : path.kinds)
    if (share.kind == kind) return share.saved_if_free_ns;
  return -2;
}

/// Segments follow each other without gaps from the first start to the last end.
void expect_whole(const CriticalPath& path) {
  int64_t sum = 0, of_kinds = 0, of_ranks = 0;
  for (size_t i = 0; i < path.segments.size(); ++i) {
    EXPECT_LT(path.segments[i].start_ns, path.segments[i].end_ns);
    if (i > 0) {
      EXPECT_EQ(path.segments[i].start_ns, path.segments[i - 1].end_ns);
    }
    sum += path.segments[i].end_ns - path.segments[i].start_ns;
  }
  for (const PathShare& kind : path.kinds) of_kinds += kind.on_path_ns;
  for (const PathRank& rank : path.ranks) of_ranks += rank.on_path_ns;
  EXPECT_EQ(sum, path.span_ns);
  EXPECT_EQ(of_kinds, path.span_ns);
  EXPECT_EQ(of_ranks, path.span_ns);
}

//   rank 0   [== gemm ==]  [ all-reduce, waits ......|==]  [softmax]
//            0        100  100                           500      540
//   rank 1   [========== attention ===============]  [==]
//            0                                 400    450..500
// Rank 1 joins at 450 (its launch was early, nothing else is known: queued 50), both end at 500.
TEST(CriticalPath, GoesOverToTheRankThatJoinedLast) {
  const std::vector<run::RankTrace> ranks = {TestTrace(0)
                                                 .kernel(0, 100)
                                                 .launched(-20)
                                                 .collective(100, 500, 1)
                                                 .launched(-19)
                                                 .kernel(500, 540, 7, "softmax")
                                                 .launched(-18)
                                                 .trace,
                                             TestTrace(1)
                                                 .kernel(0, 400, 7, "flash_attention")
                                                 .launched(-20)
                                                 .collective(450, 500, 1)
                                                 .launched(-10)
                                                 .trace};
  const CriticalPath path = solve(ranks).path;
  expect_whole(path);
  EXPECT_EQ(path.span_ns, 540);
  EXPECT_EQ(on_path(path, "softmax"), 40);
  EXPECT_EQ(on_path(path, "collective tp"), 50);
  EXPECT_EQ(on_path(path, "queued"), 50);
  EXPECT_EQ(on_path(path, "attention"), 400);
  EXPECT_EQ(on_path(path, "gemm"), 0);
  ASSERT_EQ(path.ranks.size(), 2u);
  EXPECT_EQ(path.ranks[0].rank, 1);
  EXPECT_EQ(path.ranks[0].on_path_ns, 450);
  // The gap of 50 us is more than a wait's reaction: it ended exactly there, so it is inferred.
  // Attention free: rank 1 joins at 50, rank 0 at 100, end 150, then 40: 190.
  EXPECT_EQ(saved(path, "attention"), 540 - 190);
  EXPECT_EQ(saved(path, "collective tp"), 50);
  EXPECT_EQ(saved(path, "softmax"), 40);
}

//   one rank, one stream; the third kernel's launch came late:
//   [gemm 0..10][gemm 10..20]    launch at 50, [softmax 55..75]
TEST(CriticalPath, GoesToTheCpuWhereALaunchWasLate) {
  const CriticalPath path = solve({TestTrace()
                                       .kernel(0, 10)
                                       .launched(-9)
                                       .kernel(10, 20)
                                       .launched(-8)
                                       .kernel(55, 75, 7, "softmax")
                                       .launched(50)
                                       .trace})
                                .path;
  expect_whole(path);
  EXPECT_EQ(on_path(path, "softmax"), 20);
  EXPECT_EQ(on_path(path, "queued"), 5);
  EXPECT_EQ(on_path(path, "cpu"), 50);
  // With launches in time: 20 of gemm, 5 of latency, 20.
  EXPECT_EQ(saved(path, "cpu"), 75 - 45);
}

// The CPU waits for the copy to the host from 12 to 31, then launches at 40: what made it late is
// the GPU, and only 9 of the time since is the CPU's.
TEST(CriticalPath, LeavesTheCpuWhereItWaitedForTheGpu) {
  TestTrace t;
  t.kernel(0, 20).launched(-9).kernel(20, 31, 7, "Memcpy DtoH", run::GpuClass::kMemory);
  t.launched(12, 20);  // the call lasts until 32
  t.kernel(45, 60).launched(40);
  const CriticalPath by_call = solve({t.trace}).path;
  expect_whole(by_call);
  EXPECT_EQ(on_path(by_call, "cpu"), 9);
  EXPECT_EQ(on_path(by_call, "queued"), 5);
  EXPECT_EQ(on_path(by_call, "copy"), 11);
  EXPECT_EQ(on_path(by_call, "gemm"), 35);

  t.trace.launches[1].duration_ns = 2;  // asynchronous, and .item() around it waits
  t.trace.operators.push_back({});
  t.trace.operators[0].external_id = 2;
  t.trace.operators[0].start_ns = 11;
  t.trace.operators[0].duration_ns = 22;
  EXPECT_EQ(on_path(solve({t.trace}).path, "cpu"), 9);
  t.trace.operators[0].duration_ns = 5;  // over before the copy: it did not wait
  EXPECT_EQ(on_path(solve({t.trace}).path, "cpu"), 40);
  run::Launch wait;
  wait.start_ns = 18;
  wait.duration_ns = 15;  // cudaStreamSynchronize until 33
  t.trace.waits.push_back(wait);
  EXPECT_EQ(on_path(solve({t.trace}).path, "cpu"), 9);
}

// Stream 8 starts when stream 7's kernel ends: it waited for it. Stream 9 starts 60 us after.
TEST(CriticalPath, InfersWaitsBetweenStreams) {
  const CriticalPath near = solve({TestTrace()
                                       .kernel(0, 1000)
                                       .launched(-10)
                                       .kernel(1003, 2000, 8, "softmax")
                                       .launched(-5)
                                       .trace})
                                .path;
  expect_whole(near);
  EXPECT_EQ(near.inferred_waits, 1);
  EXPECT_EQ(on_path(near, "gemm"), 1000);
  EXPECT_EQ(on_path(near, "queued"), 3);
  const CriticalPath far = solve({TestTrace()
                                      .kernel(0, 1000)
                                      .launched(-10)
                                      .kernel(61000, 62000, 8, "softmax")
                                      .launched(-5)
                                      .trace})
                               .path;
  expect_whole(far);
  EXPECT_EQ(far.inferred_waits, 0);
  EXPECT_EQ(on_path(far, "gemm"), 0);
}

// Kernels of one stream that overlap (programmatic dependent launch), of no length, at one time.
TEST(CriticalPath, TakesOddOnes) {
  const CriticalPath path = solve({TestTrace()
                                       .kernel(0, 50)
                                       .kernel(40, 90)
                                       .kernel(90, 90)
                                       .kernel(90, 90)
                                       .kernel(90, 95, 7, "softmax")
                                       .trace})
                                .path;
  expect_whole(path);
  EXPECT_EQ(on_path(path, "gemm"), 90);
  EXPECT_TRUE(solve({run::RankTrace{}}).path.segments.empty());
}

/// Ranks that compute for random times and meet in collectives.
std::vector<run::RankTrace> random_ranks(uint64_t seed) {
  const base::Random random(seed, 0, "ranks");
  constexpr size_t kRanks = 4;
  std::vector<TestTrace> ranks;
  std::vector<int64_t> at(kRanks, 0);
  for (size_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(static_cast<int64_t>(rank));
  uint64_t n = 0;
  for (int64_t round = 0; round < 50; ++round) {
    int64_t last = 0;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t start = at[rank] + random.below(n++, 30'000),
                    end = start + random.below(n++, 100'000);
      ranks[rank].kernel(start, end, 7, round % 3 == 0 ? "softmax" : "gemm");
      if (random.uniform(n++) < 0.7) ranks[rank].launched(start - random.below(n++, 200'000));
      at[rank] = end + random.below(n++, 5'000);
      last = std::max(last, at[rank]);
    }
    const int64_t end = last + 1 + random.below(n++, 50'000);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t mine = end + random.below(n++, 1'000);
      ranks[rank].collective(at[rank], mine, round, "allreduce", "g", 4);
      at[rank] = mine;
    }
  }
  std::vector<run::RankTrace> traces;
  for (TestTrace& rank : ranks) traces.push_back(rank.trace);
  return traces;
}

TEST(CriticalPath, AddsUpAndAReplayWithNothingFreeIsTheSpan) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Solved solved = solve(random_ranks(seed));
    expect_whole(solved.path);
    EXPECT_EQ(replayed_span(solved.graph, {}), solved.path.span_ns) << seed;
    for (const PathShare& kind : solved.path.kinds)
      EXPECT_LE(kind.saved_if_free_ns, solved.path.span_ns);
    EXPECT_GT(saved(solved.path, "gemm"), 0);
  }
}

// What is not on the path saves nothing: rank 0's softmax runs while rank 1 is awaited.
TEST(CriticalPath, SlackSavesNothing) {
  const Solved solved =
      solve({TestTrace(0).kernel(0, 10, 7, "softmax").collective(10, 110, 1).trace,
             TestTrace(1).kernel(0, 100).collective(100, 110, 1).trace});
  const auto softmax = std::find(solved.graph.kinds.begin(), solved.graph.kinds.end(), "softmax");
  ASSERT_NE(softmax, solved.graph.kinds.end());
  const auto kind = static_cast<uint32_t>(softmax - solved.graph.kinds.begin());
  EXPECT_EQ(replayed_span(solved.graph, {.free_kind = kind}), 110);
  // Rank 1 twice as fast: it joins at 50.
  EXPECT_EQ(replayed_span(solved.graph, {.faster_rank = 1, .paces = {{.share = 0.5}}}), 60);
  EXPECT_EQ(replayed_span(solved.graph, {.faster_rank = 0, .paces = {{.share = 0.5}}}), 110);
}

// Times are rounded, so that the second kernel begins one before the first is over. Twice as fast,
// it begins at half of 49 and ends 25 later; rank 0 waits until then for a transfer of 10.
TEST(CriticalPath, AFasterKernelIsFollowedSooner) {
  const Solved solved =
      solve({TestTrace(0).kernel(0, 10).collective(10, 110, 1).trace,
             TestTrace(1).kernel(0, 50).kernel(49, 100).collective(100, 110, 1).trace});
  EXPECT_EQ(replayed_span(solved.graph, {}), 110);
  EXPECT_EQ(replayed_span(solved.graph, {.faster_rank = 1, .paces = {{.share = 0.5}}}), 59);
}

// By rounded times the collective begins one before the kernel that it waits for is over.
TEST(CriticalPath, AWaitIsSeenThroughRounding) {
  const Solved solved = solve({TestTrace(0).kernel(0, 10).collective(10, 110, 1).trace,
                               TestTrace(1).kernel(0, 100).collective(99, 110, 1).trace});
  EXPECT_EQ(replayed_span(solved.graph, {}), 110);
  EXPECT_EQ(replayed_span(solved.graph, {.faster_rank = 1, .paces = {{.share = 0.5}}}), 60);
}

// Rank 1 is slow between the first collective and the second alone: 200 instead of 100.
TEST(CriticalPath, APaceHoldsFromATimeOn) {
  const Solved solved = solve({TestTrace(0)
                                   .kernel(0, 100)
                                   .collective(100, 110, 1)
                                   .kernel(110, 210)
                                   .collective(210, 320, 2)
                                   .trace,
                               TestTrace(1)
                                   .kernel(0, 100)
                                   .collective(100, 110, 1)
                                   .kernel(110, 310)
                                   .collective(310, 320, 2)
                                   .trace});
  const auto span = [&](std::vector<Pace> paces) {
    return replayed_span(solved.graph, {.faster_rank = 1, .paces = std::move(paces)});
  };
  EXPECT_EQ(span({{.share = 1}, {100, 0.5}, {310, 1}}), 220);
  EXPECT_EQ(span({{.share = 0.5}, {100, 1}}), 320);
  // From half of the second kernel on: 100 as they were, 100 in half of it.
  EXPECT_EQ(span({{.share = 1}, {210, 0.5}}), 270);
}

// Rank 1's CPU comes back 90 after the first collective, and rank 0 waits that long in the second.
TEST(CriticalPath, ACpuThatIsEarlierLaunchesSooner) {
  const Solved solved = solve({TestTrace(0)
                                   .kernel(0, 100)
                                   .launched(0)
                                   .collective(100, 110, 1)
                                   .launched(1)
                                   .kernel(110, 210)
                                   .launched(2)
                                   .collective(210, 310, 2)
                                   .launched(3)
                                   .trace,
                               TestTrace(1)
                                   .kernel(0, 100)
                                   .launched(0)
                                   .collective(100, 110, 1)
                                   .launched(1)
                                   .kernel(200, 300)
                                   .launched(200)
                                   .collective(300, 310, 2)
                                   .launched(200)
                                   .trace});
  const auto span = [&](int64_t sooner_ns) {
    return replayed_span(solved.graph, {.faster_rank = 1, .leads = {{110, sooner_ns}}});
  };
  EXPECT_EQ(span(0), 310);
  EXPECT_EQ(span(40), 270);
  EXPECT_EQ(span(90), 220);
  EXPECT_EQ(span(500), 220);  // not before the collective that was over when it was launched
}

// The same, and its CPU waits for the collective, comes back at once and only then is 90 late.
TEST(CriticalPath, ACpuThatWaitsIsEarlierFromThenOn) {
  TestTrace late = TestTrace(1)
                       .kernel(0, 100)
                       .launched(0)
                       .collective(100, 110, 1)
                       .launched(1)
                       .kernel(200, 300)
                       .launched(200)
                       .collective(300, 310, 2)
                       .launched(200);
  late.trace.waits.push_back({.start_ns = 50, .duration_ns = 62});
  const Solved solved = solve({TestTrace(0)
                                   .kernel(0, 100)
                                   .collective(100, 110, 1)
                                   .kernel(110, 210)
                                   .collective(210, 310, 2)
                                   .trace,
                               late.trace});
  const auto span = [&](int64_t sooner_ns) {
    return replayed_span(solved.graph, {.faster_rank = 1, .leads = {{110, sooner_ns}}});
  };
  EXPECT_EQ(span(0), 310);
  EXPECT_EQ(span(90), 220);
}

// Messages: rank 1's receive waits for rank 0's send; groups of two pair them.
TEST(CriticalPath, FollowsAMessage) {
  const CriticalPath path =
      solve({TestTrace(0).kernel(0, 200).collective(200, 210, -1, "send", "p", 2, "mesh_pp").trace,
             TestTrace(1)
                 .collective(5, 210, -1, "recv", "p", 2, "mesh_pp")
                 .kernel(210, 300, 7, "softmax")
                 .trace})
          .path;
  expect_whole(path);
  EXPECT_EQ(on_path(path, "softmax"), 90);
  EXPECT_EQ(on_path(path, "collective pp"), 10);
  EXPECT_EQ(on_path(path, "gemm"), 200);
}

}  // namespace
}  // namespace ergometer::analysis
