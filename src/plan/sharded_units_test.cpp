#include <gtest/gtest.h>

#include <string>

#include "plan/plan.h"
#include "plan/test_job.h"
#include "workload/workload.h"

namespace ergometer::plan {
namespace {

/// The plan's operator of this name that moves most bytes; none: an empty one.
workload::Operator largest(const spec::Job& job, const std::string& name) {
  const Plan plan = make_plan(job, test::fake_workload(job));
  workload::Operator found;
  for (const workload::Operator& op : plan.operators)
    if (op.name == name && op.bytes >= found.bytes) found = op;
  return found;
}

spec::Job sharded_job() {
  spec::Job job = test::make_job({.dp = 2, .micro_batches = 1, .layers = 1});
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  return job;
}

/// Parameters of the largest unit, a layer.
constexpr double kUnit = 100;

TEST(ShardedUnits, FrameworksThatGatherInPlaceCopyNothing) {
  EXPECT_EQ(largest(sharded_job(), "fsdp_copy_out").name, "");
  EXPECT_EQ(largest(sharded_job(), "fsdp_copy_in").name, "");
}

TEST(ShardedUnits, CopiesAreSoManyBytesForEveryByteSent) {
  spec::Job job = sharded_job();
  job.software.parameters.set("fsdp.gather_copies", {2, "", "", {}});
  job.software.parameters.set("fsdp.scatter_copies", {1.5, "", "", {}});
  // Parameters travel in 16 bit, gradients in 32.
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 2 * 2 * kUnit);
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_in").bytes, 1.5 * 4 * kUnit);
}

TEST(ShardedUnits, Fp8WeightsAreQuantizedBehindEveryGather) {
  spec::Job job = sharded_job();
  job.training.precision = spec::Precision::kFp8;
  // Read in 16 bit, written twice in 8.
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 4 * kUnit);
  job.training.fp8_parameters = true;
  EXPECT_EQ(largest(job, "fsdp_copy_out").name, "");
}

}  // namespace
}  // namespace ergometer::plan
