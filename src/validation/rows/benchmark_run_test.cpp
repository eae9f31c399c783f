#include "validation/rows/benchmark_run.h"

#include <gtest/gtest.h>

namespace ergometer::validation {
namespace {

TEST(BenchmarkRun, SixtyFourSamplesAStep) {
  const auto run = benchmark_run("MLPerf v4.0", "Llama 2 70B LoRA", "lora");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->pause_s, 23);
  const spec::RunPhases phases = phases_of(*run, 117, 64);
  EXPECT_EQ(phases.length_s, 117);
  EXPECT_EQ(phases.eval_every, 6);
  EXPECT_EQ(phases.eval_from, 24);
  EXPECT_EQ(phases.eval_batches, 3);  // 173 / 64 = 2.7
  EXPECT_EQ(phases.eval_pause_s, 1.8);
  EXPECT_EQ(phases.pause_s, 23);
}

TEST(BenchmarkRun, NothingOfOthers) {
  EXPECT_FALSE(benchmark_run("MLPerf v4.0", "Llama 2 70B", "pretrain"));
  EXPECT_FALSE(benchmark_run("MLPerf v3.1", "Llama 2 70B", "lora"));
  EXPECT_FALSE(benchmark_run("MLPerf v4.0", "GPT-3 175B", "lora"));
}

}  // namespace
}  // namespace ergometer::validation
