#include "plan/memory_reserve.h"

#include <gtest/gtest.h>

#include "plan/memory.h"
#include "plan/test_job.h"

// The model of `plan/test_job.h`: hidden 64, f = 256, eight layers, sequences of 128.
namespace ergometer::plan {
namespace {

Reserve reserve_of(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  return memory_reserve(job, divide(job, workload)[0]);
}

void set(spec::Job& job, const char* name, double value) {
  job.software.parameters.set(name, {value, "", "", base::Grade::kAssumed});
}

// w = 2 * 128 * 64 * 2 B = 32,768 B, E = 3.25 * 8 w = 26 w = 851,968 B.
TEST(MemoryReserve, IsAShareOfActivationsAndOfWhatCollectivesHold) {
  spec::Job job = test::make_job({.tp = 2, .micro_batches = 3});
  job.training.micro_batch = 2;
  job.training.global_batch = 6;
  set(job, "memory.fragmentation", 0.4);
  set(job, "memory.held", 0.25);
  const Reserve reserve = reserve_of(job);
  EXPECT_EQ(reserve.held, 0.25 * 851'968);
  EXPECT_DOUBLE_EQ(reserve.bytes(1e6), 400'000 + 212'992);
  EXPECT_EQ(reserve.bytes(0), 0);
  job.parallelism.sequence_parallel = false;
  EXPECT_EQ(reserve_of(job).held, 0);
}

TEST(MemoryReserve, OfSoftwareThatDoesNotSayIsFivePercent) {
  const Reserve reserve = reserve_of(test::make_job({.tp = 2}));
  EXPECT_EQ(reserve.share, 0.05);
  EXPECT_EQ(reserve.held, 0);
}

// What is free during the optimizer step is where the holes of the forward pass are.
TEST(MemoryReserve, WhatTheStepNeedsLiesInTheHoles) {
  spec::Job job = test::make_job({.dp = 4});
  job.cluster.node.gpu.memory_bytes = 80e9;
  job.training.framework = spec::Framework::kNanotron;
  set(job, "memory.fragmentation", 0.5);
  const StageMemory stage = test::memory_of(job).worst();
  const double active = stage.activations + stage.other - 0.07 * 1024 * 1024 * 1024;
  EXPECT_NEAR(stage.reserved, 0.5 * active, 1);
  // The gathered parameters of 656,448 x 2 B x 5/4 are more than eight layers keep of two tokens.
  job.training.seq_length = 2;
  EXPECT_EQ(test::memory_of(job).worst().reserved, 0);
}

TEST(MemoryReserve, DecidesWhetherAJobFits) {
  spec::Job job = test::make_job({});
  job.cluster.node.gpu.memory_bytes = 80e9;
  const double total = test::memory_of(job).worst().total(),
               needed = test::memory_of(job).worst().needed();
  EXPECT_GT(needed, total);
  job.cluster.node.gpu.memory_bytes = (total + needed) / 2;
  const MemoryReport report = test::memory_of(job);
  EXPECT_FALSE(report.fits);
  const std::string advice = memory_advice(job, report);
  EXPECT_NE(advice.find("that the allocator keeps of"), std::string::npos) << advice;
  job.cluster.node.gpu.memory_bytes = needed;
  EXPECT_TRUE(test::memory_of(job).fits);
}

}  // namespace
}  // namespace ergometer::plan
