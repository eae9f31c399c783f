#include "plan/allocator.h"

#include <gtest/gtest.h>

#include "plan/memory.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

// Two sequences of 128 tokens, 64 wide: w = 2 * 128 * 64 * 2 B = 32,768 B. Eight layers: the host
// runs ahead by E = 3.25 * 8 w = 26 w, and three micro batches make 10 * 8 * 3 = 240 w.
struct Waits {
  spec::Job job = test::make_job({.tp = 2, .micro_batches = 3});
  double whole = 32'768, peak = 0;

  Waits() {
    job.training.micro_batch = 2;
    job.training.global_batch = 6;
    job.software.parameters.set("allocator.rate", {1e9, "B/s", "", base::Grade::kFitted});
    const workload::Workload workload = workload::lower(job);
    peak = memory(job, workload, divide(job, workload)).worst().total();
  }
  double with_spare(double bytes) {
    job.cluster.node.gpu.memory_bytes = peak + bytes + 2 * kGib;
    const workload::Workload workload = workload::lower(job);
    return allocator_wait_s(job, workload, divide(job, workload)[0], 0);
  }
};

TEST(Allocator, WaitsForTheShareThatFindsNoMemory) {
  Waits waits;
  EXPECT_EQ(waits.with_spare(26 * waits.whole), 0);
  EXPECT_NEAR(waits.with_spare(13 * waits.whole), 0.5 * 240 * 32'768 / 1e9, 1e-9);
  EXPECT_NEAR(waits.with_spare(0), 240 * 32'768 / 1e9, 1e-9);
  EXPECT_NEAR(waits.with_spare(-waits.whole), 240 * 32'768 / 1e9, 1e-9);
}

TEST(Allocator, RunsAheadByNoMoreThanTheDriverQueues) {
  // 40 layers: 65 w, not 130.
  Waits waits;
  waits.job.model.layers.resize(40);
  const workload::Workload workload = workload::lower(waits.job);
  waits.peak = memory(waits.job, workload, divide(waits.job, workload)).worst().total();
  EXPECT_EQ(waits.with_spare(65 * waits.whole), 0);
  EXPECT_GT(waits.with_spare(64 * waits.whole), 0);
}

TEST(Allocator, ContextParallelismDividesTheSequence) {
  // w = 2 * (128 / 2) * 64 * 2 B = 16,384 B, all of which lack memory.
  Waits waits;
  waits.job.parallelism.cp = 2;
  EXPECT_NEAR(waits.with_spare(-waits.peak), 240 * 16'384 / 1e9, 1e-9);
}

TEST(Allocator, OnlyWholeSequencesUnderTensorParallelism) {
  Waits waits;
  waits.job.parallelism.sequence_parallel = false;
  EXPECT_EQ(waits.with_spare(0), 0);
  waits.job.parallelism.sequence_parallel = true;
  waits.job.software.parameters = {};
  EXPECT_EQ(waits.with_spare(0), 0);
}

}  // namespace
}  // namespace ergometer::plan
