#include "engine/kernel_stream.h"

#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

/// 32 ranks: more than are played at a time.
spec::Job job_of_32(const test::Values& more = {}) { return test::llama3_8b(32, more); }

auto all_of(const run::Kernel& k) {
  return std::tuple(k.rank, k.stream, k.name, k.category, k.start_ns, k.duration_ns, k.micro_batch,
                    k.chunk, k.layer, k.flops, k.bytes, k.comm_bytes, k.pass);
}

void expect_the_runs_kernels(const spec::Job& job, SimulateOptions options) {
  const auto listed = simulate_in_full(job, options);
  options.kernels = false;
  const auto streamed = simulate_in_full(job, options);
  ASSERT_TRUE(listed && streamed);
  EXPECT_TRUE(streamed->run.kernels.empty());
  EXPECT_EQ(streamed->run.performance.step_time_s, listed->run.performance.step_time_s);
  const KernelStream stream(job, *streamed, options.engine, options.sampled_ranks);
  for (int again = 0; again < 2; ++again) {
    size_t at = 0;
    stream.each([&](const run::Kernel& kernel) {
      ASSERT_LT(at, listed->run.kernels.size());
      ASSERT_EQ(all_of(kernel), all_of(listed->run.kernels[at])) << at;
      ++at;
    });
    EXPECT_EQ(at, listed->run.kernels.size());
  }
  EXPECT_FALSE(listed->run.kernels.empty());
}

TEST(KernelStream, GivesWhatTheRunWouldList) {
  std::vector<int64_t> all(32);
  std::iota(all.begin(), all.end(), 0);
  expect_the_runs_kernels(job_of_32(), {.sampled_ranks = all});
  expect_the_runs_kernels(job_of_32({{"clocks", "constant"}}), {.sampled_ranks = all});
  expect_the_runs_kernels(job_of_32({{"seed", "3"}}), {.sampled_ranks = {3, 17, 31}});
  expect_the_runs_kernels(job_of_32(), {.engine = EngineKind::kEvents, .sampled_ranks = {0, 16}});
}

TEST(KernelStream, OfNoRanksIsEmpty) {
  const spec::Job job = job_of_32();
  const auto simulation = simulate_in_full(job, {.kernels = false});
  ASSERT_TRUE(simulation);
  KernelStream(job, *simulation, EngineKind::kSweep, {}).each([](const run::Kernel&) {
    FAIL() << "a kernel";
  });
}

}  // namespace
}  // namespace ergometer::engine
