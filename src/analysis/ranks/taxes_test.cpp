#include "analysis/ranks/taxes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/trace/example_trace.h"
#include "analysis/work/kernel_class.h"
#include "analysis/work/kernel_table.h"

namespace ergometer::analysis {
namespace {

//   GPU     [0..10)      [30..40)      [70..80)
//   launch  at 0         at 25         at 60
//   wait            [5..20)
// The first gap of 20: late by 15, of which the wait lasts 10 beyond the GPU's work; 5 of latency.
// The second of 30: late by 20, 10 of latency, and nobody waited.
TEST(Taxes, TellSynchronisationFromLateLaunches) {
  ExampleTrace t;
  t.kernel("a", 0, 0, 10).kernel("b", 25, 30, 40).kernel("c", 60, 70, 80);
  t.trace.waits.push_back({.start_ns = 5, .duration_ns = 15, .thread = 1});
  const IdleCauses idle = idle_causes(t.trace);
  EXPECT_EQ(idle.launch_ns, 35);
  EXPECT_EQ(idle.synchronized_ns, 10);
  EXPECT_EQ(idle.elsewhere_ns, 5 + 20);
  EXPECT_EQ(idle.queued_ns, 15);
  EXPECT_EQ(idle.latency_ns, 15);
  EXPECT_EQ(idle.late_events, 2);
  const Taxes taxes =
      add_up({{.span_ns = 80, .idle = idle, .launches = {}, .round_trips = {}}}, {});
  EXPECT_EQ(taxes.host_sync_ns, 10);
  EXPECT_EQ(taxes.launch_idle_ns, 35 - 10 + 15);
  EXPECT_EQ(taxes.launch_idle_ns,
            taxes.launching_ns + taxes.loading_ns + taxes.elsewhere_ns + taxes.latency_ns);
  EXPECT_FALSE(taxes.ranks_compared);
}

// A wait of another thread, or one that began when the GPU was idle already, is not the cause.
TEST(Taxes, WaitsElsewhereAreNoCause) {
  ExampleTrace t;
  t.kernel("a", 0, 0, 10).kernel("b", 25, 30, 40);
  t.trace.waits = {{.start_ns = 5, .duration_ns = 15, .thread = 2},
                   {.start_ns = 12, .duration_ns = 3, .thread = 1}};
  EXPECT_EQ(idle_causes(t.trace).synchronized_ns, 0);
}

// A copy to the host whose call lasts until it is over has blocked: 2 beyond the copy's end.
TEST(Taxes, BlockingCopiesAreWaits) {
  ExampleTrace t;
  t.kernel("copy", 0, 2, 10).kernel("b", 25, 30, 40);
  t.trace.events[0].kind = run::GpuClass::kMemory;
  t.trace.launches[0].duration_ns = 12;
  EXPECT_EQ(idle_causes(t.trace).synchronized_ns, 2);
}

// The GPU is idle in [10..100), the next kernel is called at 90. Of these 80 the thread waits for
// the GPU until 15, loads data in [20..50), with an operator of it, launches another kernel in
// [50..54), is in aten::mm in [54..70) but for a cudaFree in [60..65); another thread's time is not
// its own, nor is a mark of the whole step what it does.
TEST(Taxes, LateTimeIsPartedByWhatTheCpuDid) {
  ExampleTrace t;
  t.kernel("a", 0, 0, 10).kernel("later", 50, 130, 140).kernel("b", 90, 100, 120);
  t.trace.launches[1].duration_ns = 4;
  t.trace.waits = {
      {.start_ns = 5, .duration_ns = 10, .thread = 1, .name = t.name("cudaDeviceSynchronize")},
      {.start_ns = 60, .duration_ns = 5, .thread = 1, .name = t.name("cudaFree")}};
  t.op("aten::stack", 30, 45);
  t.op("aten::mm", 54, 70);
  t.op("aten::elsewhere", 70, 90, 2);
  t.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 50);
  t.range("ProfilerStep#1", 0, 200);
  std::ranges::sort(t.trace.events, {}, &run::GpuEvent::start_ns);
  const IdleCauses idle = idle_causes(t.trace);
  EXPECT_EQ(idle.launch_ns, 80);
  EXPECT_EQ(idle.synchronized_ns, 5);
  EXPECT_EQ(idle.loading_ns, 30);
  EXPECT_EQ(idle.launching_ns, 4);
  EXPECT_EQ(idle.elsewhere_ns, 80 - 5 - 30 - 4);
  const std::vector<std::pair<std::string, int64_t>> named = {{"aten::mm", 11}, {"cudaFree", 5}};
  EXPECT_EQ(idle.elsewhere, named);
  EXPECT_EQ(idle.long_launch_ns, 0);
}

// A launch of 3 ms loads its kernel: that the GPU idles for 2.9 ms of it is no launch overhead.
TEST(Taxes, LongLaunchesStandApart) {
  ExampleTrace t;
  t.kernel("a", 0, 0, 100'000).kernel("b", 50'000, 3'000'000, 3'100'000);
  t.trace.launches[1].duration_ns = 2'950'000;
  const IdleCauses idle = idle_causes(t.trace);
  EXPECT_EQ(idle.queued_ns, 2'900'000);
  EXPECT_EQ(idle.long_launch_ns, 2'900'000);
  EXPECT_EQ(idle.launch_ns, 0);
}

// Calls of 4, 6 and 8 ns: 6 in the middle; kernels of 5, 10 and 20 ns, 100 behind their calls but
// for one that is 40 behind. A graph's call starts two kernels and stands apart.
TEST(Launches, AreCountedWithoutGraphs) {
  ExampleTrace t;
  t.kernel("a", 0, 100, 105).kernel("b", 10, 110, 120).kernel("c", 100, 140, 160);
  t.trace.launches[0].duration_ns = 4;
  t.trace.launches[1].duration_ns = 6;
  t.trace.launches[2].duration_ns = 8;
  t.kernel("g1", 200, 300, 301).alone("g2", 301, 302, 3);
  t.trace.launches[3].name = t.name("cudaGraphLaunch");
  const LaunchOverhead overhead = launch_overhead(t.trace);
  EXPECT_EQ(overhead.calls, 3);
  EXPECT_EQ(overhead.call_ns, 18);
  EXPECT_EQ(overhead.median_call_ns, 6);
  EXPECT_EQ(overhead.median_delay_ns, 100);
  EXPECT_EQ(overhead.short_kernels, 1);
  EXPECT_EQ(overhead.short_ns, 5);
  EXPECT_EQ(overhead.graph_calls, 1);
  EXPECT_EQ(overhead.graph_events, 2);
}

// mul writes 64 B that add reads: of mul's 192 B in 30 ns a third, of add's 192 in 60 ns a third.
// The copy behind it is of another size, the GEMM is not memory-bound.
TEST(RoundTrips, CountWhatOneKernelHandsToTheNext) {
  ExampleTrace t;
  const std::string two = "[[4, 8], [4, 8]]", types = R"(["c10::BFloat16", "c10::BFloat16"])";
  t.shaped("aten::mul", 0, 10, two, types);
  t.shaped("aten::add", 10, 20, two, types);
  t.shaped("aten::copy_", 20, 30, "[[2, 8], [2, 8]]", types);
  t.shaped("aten::mm", 30, 40, "[[2, 8], [8, 8]]", types);
  t.kernel("elementwise_mul", 5, 100, 130).kernel("elementwise_add", 15, 130, 190);
  t.kernel("copy_kernel", 25, 190, 200).kernel("gemm", 35, 200, 210);
  const RoundTrips trips = round_trips(t.trace, Attribution(t.trace));
  EXPECT_EQ(trips.pairs, 1);
  EXPECT_DOUBLE_EQ(trips.bytes, 128);
  EXPECT_EQ(trips.saved_ns, 10 + 20);
  EXPECT_EQ(trips.memory_bound_ns, 100);
  EXPECT_EQ(trips.known_ns, 100);
}

// "lambda" is no LAMB; the runtime of AMD sets memory by a kernel.
TEST(KernelClass, ByNamesOfRealKernels) {
  const auto of = [](const char* name) { return kernel_class(name, run::GpuClass::kCompute); };
  EXPECT_EQ(of("at::native::arange_cuda_out::{lambda()#1}::operator()"), "other");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::lamb_cuda_kernel_part1<float>"),
            "optimizer");
  EXPECT_EQ(of("multi_tensor_apply_kernel<LAMBStage1Functor<float>>"), "optimizer");
  EXPECT_EQ(of("LAMBStage2Functor"), "optimizer");
  EXPECT_EQ(of("__amd_rocclr_fillBufferAligned"), "set");
  EXPECT_EQ(of("__amd_rocclr_copyBuffer"), "copy");
}

// Names and classes as the study's scripts give them when they are run.
TEST(KernelClass, StudysEightClasses) {
  const auto of = [](const char* name) { return study_class(name, run::GpuClass::kCompute); };
  EXPECT_EQ(of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL()"), "AllReduce");
  EXPECT_EQ(of("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL()"), "ReduceScatter");
  EXPECT_EQ(of("ncclDevKernel_AllGather_RING_LL()"), "AllGather");
  EXPECT_EQ(of("ncclDevKernel_SendRecv()"), "SendRecv");
  EXPECT_EQ(of("ncclDevKernel_Broadcast_RING_LL()"), "SendRecv");
  EXPECT_EQ(of("ncclDevKernel_Generic()"), "Memory/Elementwise");
  EXPECT_EQ(of("userbuffers_fp16_sum_inplace_gpu_rr_rs"), "Memory/Elementwise");
  EXPECT_EQ(of("triton_red_fused_add_0"), "Memory/Elementwise");
  EXPECT_EQ(of("cutlass::Kernel<s1688gemm>"), "Compute (MatMul)");
  EXPECT_EQ(of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop"), "Compute (MatMul)");
  EXPECT_EQ(of("flash_fwd_kernel<traits>"), "Memory/Elementwise");
  EXPECT_EQ(of("nvjet_tst_128x256"), "Other");
  EXPECT_EQ(of("rmsnorm_fwd_tuned"), "Layer Norm");
  EXPECT_EQ(study_class("Memcpy DtoD", run::GpuClass::kMemory), "");
  ExampleTrace t;
  t.alone("nvjet", 0, 10).alone("rmsnorm", 10, 15).alone("Memcpy", 15, 30);
  t.trace.events[2].kind = run::GpuClass::kMemory;
  const auto rows = study_table(kernel_table({t.trace}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "Other");
  EXPECT_EQ(rows[0].total_ns, 10);
}

}  // namespace
}  // namespace ergometer::analysis
