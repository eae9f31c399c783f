#include "analysis/findings/trace_summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/trace/step_breakdown.h"
#include "analysis/trace/test_traces.h"
#include "analysis/work/kernel_class.h"

namespace ergometer::analysis {
namespace {

using run::GpuClass;

/// A trace of one rank, events added by name.
struct Trace {
  run::RankTrace trace;
  explicit Trace(int64_t rank = 0) { trace.rank = rank; }
  Trace& add(GpuClass kind, const std::string& name, int64_t start, int64_t duration,
             int64_t correlation = -1) {
    trace.names.push_back(name);
    trace.events.push_back({.start_ns = start,
                            .duration_ns = duration,
                            .correlation = correlation,
                            .name = static_cast<uint32_t>(trace.names.size() - 1),
                            .kind = kind});
    return *this;
  }
  Trace& launch(int64_t correlation, int64_t start) {
    trace.launches.push_back({.correlation = correlation, .start_ns = start, .duration_ns = 1});
    return *this;
  }
};

//   time      0    10   20   30   40   50   60
//   compute   [=========)         [==)
//   nccl           [=========)
//   copy                [=========)    [)  <- 25..35 under nccl until 30, then alone; 48..50 alone
TEST(Breakdown, CountsUnions) {
  const RankBreakdown b = break_down(Trace()
                                         .add(GpuClass::kCompute, "a", 0, 20)
                                         .add(GpuClass::kCommunication, "nccl", 10, 20)
                                         .add(GpuClass::kMemory, "c", 25, 10)
                                         .add(GpuClass::kCompute, "a", 40, 5)
                                         .add(GpuClass::kMemory, "c", 48, 2)
                                         .trace);
  EXPECT_EQ(b.gpu_events, 5);
  EXPECT_EQ(b.span_ns, 50);
  EXPECT_EQ(b.compute_ns, 25);
  EXPECT_EQ(b.communication_ns, 20);
  EXPECT_EQ(b.memory_ns, 12);
  EXPECT_EQ(b.overlap_ns, 10);
  EXPECT_EQ(b.exposed_communication_ns, 10);
  EXPECT_EQ(b.exposed_memory_ns, 5 + 2);
  EXPECT_EQ(b.busy_ns, 35 + 5 + 2);
  EXPECT_EQ(b.idle_ns, 8);
}

TEST(Summary, ManyThreadsFindTheSame) {
  std::vector<run::RankTrace> ranks;
  for (int64_t rank = 0; rank < 7; ++rank)
    ranks.push_back(Trace(rank)
                        .add(GpuClass::kCompute, "gemm", 10 * rank, 20 + rank, 1)
                        .add(GpuClass::kCommunication, "nccl", 15 * rank, 20, 2)
                        .launch(1, 5 * rank)
                        .launch(2, 6 * rank)
                        .trace);
  const TraceSummary alone = summarize(ranks), together = summarize(ranks, {}, 3);
  ASSERT_EQ(together.ranks.size(), ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(together.ranks[i].breakdown.span_ns, alone.ranks[i].breakdown.span_ns) << i;
    EXPECT_EQ(together.ranks[i].breakdown.overlap_ns, alone.ranks[i].breakdown.overlap_ns) << i;
  }
  EXPECT_EQ(together.ranks[6].breakdown.busy_ns, break_down(ranks[6]).busy_ns);
  EXPECT_EQ(together.phases.total_ns, alone.phases.total_ns);
  EXPECT_EQ(together.findings.size(), alone.findings.size());
}

TEST(Breakdown, OfNothingIsZero) {
  EXPECT_EQ(break_down({}).span_ns, 0);
  EXPECT_TRUE(summarize({run::RankTrace{}}).findings.empty());
}

// Rank 0 waits from 10 to 40 for rank 1 and computes until 20: 20 of its 40 without compute are
// waiting, and of the 60 of both together 40 are left for links.
TEST(Summary, ExposedCommunicationIsWithoutWaiting) {
  const TraceSummary summary = summarize({TestTrace(0).kernel(0, 20).collective(10, 60, 1).trace,
                                          TestTrace(1).kernel(0, 40).collective(40, 60, 1).trace});
  ASSERT_EQ(summary.arrivals.ranks.size(), 2u);
  EXPECT_EQ(summary.arrivals.ranks[0].waiting_ns, 30);
  EXPECT_EQ(summary.arrivals.ranks[0].exposed_waiting_ns, 20);
  EXPECT_EQ(summary.arrivals.ranks[0].exposed_waiting_by_kind.at(CollectiveKind::kAllReduce), 20);
  EXPECT_EQ(summary.arrivals.ranks[1].exposed_waiting_ns, 0);
  const auto exposed = std::ranges::find(summary.findings, "exposed_communication", &Finding::name);
  ASSERT_NE(exposed, summary.findings.end());
  EXPECT_NEAR(exposed->fraction, 40.0 / 120, 1e-12);
  EXPECT_NEAR(exposed->cost_s, 20e-9, 1e-18);
}

TEST(Summary, SaysWhichRanksAreMissingAndWhichAreThereTwice) {
  const auto notes = [](std::vector<run::RankTrace> ranks) { return summarize(ranks).notes; };
  const auto rank = [](int64_t number) {
    TestTrace trace(number);
    trace.kernel(0, 10).trace.world_size = 4;
    return trace.trace;
  };
  const auto missing = notes({rank(0), rank(3)});
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_TRUE(missing[0].starts_with("of the job's 4 ranks 2 have no trace: 1, 2.")) << missing[0];
  const auto twice = notes({rank(0), rank(1), rank(2), rank(3), rank(1)});
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_TRUE(twice[0].starts_with("rank 1 is there more than once")) << twice[0];
  EXPECT_TRUE(notes({rank(0), rank(1), rank(2), rank(3)}).empty());
  EXPECT_TRUE(notes({rank(2)}).empty());
}

// Gaps 10..30 and 40..50. The kernel at 30 was launched at 25: 15 late, 5 queued. That at 50 has no
// launch in the trace.
TEST(IdleCauses, AskWhatTheNextKernelWaitedFor) {
  const IdleCauses causes = idle_causes(Trace()
                                            .add(GpuClass::kCompute, "a", 0, 10, 1)
                                            .add(GpuClass::kCompute, "b", 30, 10, 2)
                                            .add(GpuClass::kCompute, "c", 50, 10, 3)
                                            .launch(1, -5)
                                            .launch(2, 25)
                                            .trace);
  EXPECT_EQ(causes.launch_ns, 15);
  EXPECT_EQ(causes.queued_ns, 5);
  EXPECT_EQ(causes.unknown_ns, 10);
}

TEST(Steps, AreChosenByWhenWorkWasLaunched) {
  Trace t;
  t.add(GpuClass::kCompute, "first", 90, 5, 1).add(GpuClass::kCompute, "second", 95, 5, 2);
  t.add(GpuClass::kCompute, "not launched here", 120, 5).launch(1, 10).launch(2, 110);
  t.trace.steps = {{7, 0, 100}, {8, 100, 200}};
  const auto eight = select_steps(t.trace, {8, 8});
  ASSERT_TRUE(eight);
  ASSERT_EQ(eight->events.size(), 2u);
  EXPECT_EQ(eight->events[0].start_ns, 95);
  EXPECT_EQ(select_steps(t.trace, {1, 7})->events.size(), 1u);
  EXPECT_FALSE(select_steps(t.trace, {9, 12}));
  EXPECT_EQ(step_times(t.trace).count, 2);
  EXPECT_DOUBLE_EQ(step_times(t.trace).mean_s, 100e-9);
}

// The GPU runs 300 behind: what it does until then was launched before the profiler began, and the
// step is as long as its own work, 200 of which 30 are a copy beside an all-reduce of 40.
TEST(Steps, WhatWasLaunchedBeforeBelongsToNone) {
  TestTrace t;
  t.kernel(0, 100).kernel(100, 290).kernel(0, 250, 20);
  t.kernel(300, 460).launched(10).collective(460, 500, 1).launched(20);
  t.kernel(460, 490, 9, "Memcpy DtoD", run::GpuClass::kMemory).launched(30);
  t.step(7, 0, 100);
  EXPECT_EQ(select_steps(t.trace, {7, 7})->events.size(), 3u);
  const auto performance = step_breakdown({t.trace});
  ASSERT_TRUE(performance);
  EXPECT_DOUBLE_EQ(performance->step_time_s, 200e-9);
  EXPECT_DOUBLE_EQ(performance->breakdown_s.compute, 160e-9);
  EXPECT_DOUBLE_EQ(performance->breakdown_s.exposed_all_reduce, 40e-9);
  EXPECT_NEAR(performance->breakdown_s.idle, 0, 1e-15);
}

// The CPU sets the pace: of its step of 200 the GPU idles 30, for it works until 60 on what was
// launched before and for 110 on what the step launched, of which 10 come behind the mark.
TEST(Steps, WorkFromBeforeIsNoIdleTime) {
  TestTrace t;
  t.kernel(0, 60).kernel(70, 140).launched(10).kernel(160, 210).launched(20).step(7, 0, 200);
  const auto performance = step_breakdown({t.trace});
  ASSERT_TRUE(performance);
  EXPECT_DOUBLE_EQ(performance->step_time_s, 200e-9);
  EXPECT_DOUBLE_EQ(performance->breakdown_s.compute, 170e-9);
  EXPECT_DOUBLE_EQ(performance->breakdown_s.idle, 30e-9);
}

// 3 and 6 alone are marked: what lies between them is no part of either.
TEST(Steps, GapsBetweenMarksAreNoStep) {
  TestTrace t;
  t.kernel(10, 60).launched(5).kernel(910, 990).launched(905);
  t.step(3, 0, 100).step(6, 900, 1000);
  EXPECT_DOUBLE_EQ(step_times(t.trace).mean_s, 100e-9);
  EXPECT_DOUBLE_EQ(step_breakdown({t.trace})->step_time_s, 100e-9);
}

TEST(Steps, RangesAreRead) {
  EXPECT_EQ(parse_steps("3")->last, 3);
  EXPECT_EQ(parse_steps("3..5")->first, 3);
  EXPECT_EQ(parse_steps("3..5")->last, 5);
  for (const char* wrong : {"", "a", "5..3", "..", "1..", "-1"}) EXPECT_FALSE(parse_steps(wrong));
}

// Rank 1 joins 30 ns after rank 0, both end at 50: 20 of transfer. Then rank 0 joins 5 later.
TEST(Arrivals, NameTheRankThatComesLast) {
  const auto rank = [](int64_t number, int64_t first, int64_t second) {
    return Trace(number)
        .add(GpuClass::kCommunication, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", first,
             50 - first)
        .add(GpuClass::kCommunication, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", second,
             90 - second)
        .trace;
  };
  const ArrivalTable table = arrival_table({rank(0, 0, 75), rank(1, 30, 70)});
  EXPECT_EQ(table.matched, 2);
  EXPECT_EQ(table.skew_ns, 35);
  EXPECT_EQ(table.transfer_ns, 20 + 15);
  ASSERT_EQ(table.ranks.size(), 2u);
  EXPECT_EQ(table.ranks[0].last, 1);
  EXPECT_EQ(table.ranks[0].waiting_ns, 30);
  EXPECT_EQ(table.ranks[1].lateness_ns, 30);
}

TEST(Arrivals, DoNotGuessWhereCountsDiffer) {
  Trace one(0), two(1);
  one.add(GpuClass::kCommunication, "ncclKernel_AllGather", 0, 1);
  one.add(GpuClass::kCommunication, "ncclKernel_AllGather", 5, 1);
  two.add(GpuClass::kCommunication, "ncclKernel_AllGather", 0, 1);
  const ArrivalTable table = arrival_table({one.trace, two.trace});
  EXPECT_EQ(table.matched, 0);
  EXPECT_EQ(table.unmatched, 3);
}

// Two groups of two among four ranks; in the first the profiler of rank 1 missed number 4.
TEST(Arrivals, GoByGroupAndSequenceNumber) {
  const auto rank = [](int64_t number, const std::string& group,
                       const std::vector<std::pair<int64_t, int64_t>>& calls) {
    Trace t(number);
    for (const auto& [sequence, start] : calls) {
      t.add(GpuClass::kCommunication, "ncclDevKernel_Generic", start, 50);
      run::Collective collective;
      collective.name = "allreduce";
      collective.group = group;
      collective.sequence = sequence;
      t.trace.collectives.push_back(collective);
      t.trace.events.back().collective = static_cast<uint32_t>(t.trace.collectives.size() - 1);
    }
    return t.trace;
  };
  const ArrivalTable table =
      arrival_table({rank(0, "a", {{4, 0}, {5, 100}}), rank(1, "a", {{5, 130}}),
                     rank(2, "b", {{1, 0}}), rank(3, "b", {{1, 7}})});
  EXPECT_EQ(table.matched, 2);
  EXPECT_EQ(table.unmatched, 1);
  EXPECT_EQ(table.skew_ns, 30 + 7);
  EXPECT_EQ(table.transfer_ns, 20 + 43);
  EXPECT_EQ(table.ranks[1].last, 1);
  EXPECT_EQ(table.ranks[3].lateness_ns, 7);
}

// The clock of rank 1 counts from 100 later.
TEST(Arrivals, PutClocksOnOneEpoch) {
  Trace one(0), two(1);
  one.add(GpuClass::kCommunication, "ncclKernel_AllGather", 110, 10).trace.base_time_ns = 1000;
  two.add(GpuClass::kCommunication, "ncclKernel_AllGather", 12, 8).trace.base_time_ns = 1100;
  EXPECT_EQ(arrival_table({one.trace, two.trace}).skew_ns, 2);
}

TEST(Sums, StopAtTheLargestTime) {
  Trace t;
  for (int i = 0; i < 4; ++i) t.add(GpuClass::kCompute, "k", -(int64_t{1} << 61), int64_t{1} << 62);
  EXPECT_EQ(class_table(kernel_table({t.trace}))[0].total_ns, INT64_MAX);
}

// 8 ranks all-reduce 1000 BF16 elements in 1000 ns: 2000 B x 2 x 7/8 / 1000 ns = 3.5 GB/s on the
// bus.
TEST(Collectives, CountBusBandwidthAsNcclTestsDo) {
  Trace t;
  t.add(GpuClass::kCommunication, "ncclDevKernel_Generic", 0, 1000);
  t.trace.collectives.push_back({.name = "allreduce",
                                 .group = "0",
                                 .description = "",
                                 .dtype = "BFloat16",
                                 .in_elements = 1000,
                                 .out_elements = 1000,
                                 .group_size = 8});
  t.trace.events[0].collective = 0;
  const auto table = collective_table({t.trace});
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].kind, CollectiveKind::kAllReduce);
  EXPECT_DOUBLE_EQ(table[0].bytes, 2000);
  EXPECT_DOUBLE_EQ(table[0].mean_bus_gb_per_s, 3.5);
}

TEST(Collectives, AreKnownByEitherName) {
  EXPECT_EQ(collective_kind("_allgather_base"), CollectiveKind::kAllGather);
  EXPECT_EQ(collective_kind("reduce_scatter_tensor_coalesced"), CollectiveKind::kReduceScatter);
  EXPECT_EQ(collective_kind("all_to_allv"), CollectiveKind::kAllToAll);
  EXPECT_EQ(collective_kind("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"),
            CollectiveKind::kSendRecv);
  EXPECT_EQ(collective_kind("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL()"),
            CollectiveKind::kReduceScatter);
  EXPECT_EQ(collective_kind("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
            CollectiveKind::kUnknown);
}

TEST(Collectives, ServeTheParallelismThatTheirGroupIsNamedFor) {
  EXPECT_EQ(parallelism_of("default_pg"), "world");
  EXPECT_EQ(parallelism_of("TENSOR_MODEL_PARALLEL_GROUP"), "tp");
  EXPECT_EQ(parallelism_of("PIPELINE_MODEL_PARALLEL_GROUP"), "pp");
  EXPECT_EQ(parallelism_of("DATA_PARALLEL_GROUP_WITH_CP"), "dp");
  EXPECT_EQ(parallelism_of("CONTEXT_PARALLEL_GROUP"), "cp");
  EXPECT_EQ(parallelism_of("TENSOR_AND_CONTEXT_PARALLEL_GROUP"), "tp-cp");
  EXPECT_EQ(parallelism_of("EXPERT_MODEL_PARALLEL_GROUP"), "ep");
  EXPECT_EQ(parallelism_of("EXPERT_TENSOR_PARALLEL_GROUP"), "etp");
  EXPECT_EQ(parallelism_of("EXPERT_DATA_PARALLEL_GROUP"), "edp");
  EXPECT_EQ(parallelism_of("mesh_tp"), "tp");
  EXPECT_EQ(parallelism_of("mesh_dp_shard"), "dp");
  EXPECT_EQ(parallelism_of("undefined"), "");
  EXPECT_EQ(parallelism_of(""), "");
}

TEST(KernelClass, GoesByTheNameAndNotByItsTemplateArguments) {
  const auto of = [](const char* name) { return kernel_class(name, GpuClass::kCompute); };
  EXPECT_EQ(of("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, cutlass::half_t>>()"),
            "attention");
  EXPECT_EQ(of("nvjet_tst_128x256_64x4_2x1_v_bz_TNN"), "gemm");
  EXPECT_EQ(of("Cijk_Ailk_Bljk_BBS_BH_MT128x128"), "gemm");
  EXPECT_EQ(of("volta_sgemm_128x32_nt"), "gemm");
  EXPECT_EQ(of("void at::native::vectorized_elementwise_kernel<4, at::native::reduce_gemm>()"),
            "elementwise");
  EXPECT_EQ(of("void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<x>()"), "norm");
  EXPECT_EQ(of("deep_ep::intranode::dispatch<8>"), "device_communication");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Adam>()"),
            "optimizer");
  EXPECT_EQ(of("my_kernel"), "other");
  EXPECT_EQ(kernel_class("Memcpy HtoD (Pinned -> Device)", GpuClass::kMemory), "copy");
  EXPECT_EQ(kernel_class("Memset (Device)", GpuClass::kMemory), "set");
}

}  // namespace
}  // namespace ergometer::analysis
