#include <gtest/gtest.h>

#include <string>

#include "plan/plan.h"
#include "plan/test_job.h"
#include "workload/workload.h"

namespace ergometer::plan {
namespace {

/// The plan's operator of this name that moves most bytes; none: an empty one.
workload::Operator largest(const spec::Job& job, const workload::Workload& workload,
                           const std::string& name) {
  const Plan plan = make_plan(job, workload);
  workload::Operator found;
  for (const workload::Operator& op : plan.operators)
    if (op.name == name && op.bytes >= found.bytes) found = op;
  return found;
}

workload::Operator largest(const spec::Job& job, const std::string& name) {
  return largest(job, test::fake_workload(job), name);
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

TEST(ShardedUnits, WideShardsAreCastAndCopiedBeforeEveryGather) {
  spec::Job job = sharded_job();
  job.software.parameters.set("fsdp.shard_copies", {2, "", "", {}});
  // Half a unit a rank: 4 read and 2 written by the cast, 2 and 2 by the copy.
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 10 * kUnit / 2);
  job.software.parameters.set("fsdp.gather_copies", {2, "", "", {}});
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 10 * kUnit / 2 + 4 * kUnit);
  job.training.precision = spec::Precision::kFp32;  // sent as they are kept
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 8 * kUnit / 2 + 8 * kUnit);
}

// As one H100 does, whose kernels tests/data/h100/trace.json.gz has: a layer of 60.8 million
// parameters is cast and copied twice a step, 10 bytes each, then its gradients are joined (2 read,
// 4 written) and copied in FP32.
TEST(ShardedUnits, OneRankCopiesInsteadOfSending) {
  spec::Job job = test::make_job({.micro_batches = 1, .layers = 1});
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  job.software.parameters.set("fsdp.shard_copies", {2, "", "", {}});
  job.software.parameters.set("fsdp.gather_copies", {2, "", "", {}});
  job.software.parameters.set("fsdp.scatter_copies", {1.5, "", "", {}});
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_out").bytes, 10 * kUnit);
  EXPECT_DOUBLE_EQ(largest(job, "fsdp_copy_in").bytes, (6 + 8) * kUnit);
  EXPECT_EQ(largest(job, "fsdp_all_gather").name, "");
}

TEST(ShardedUnits, Fp8WeightsAreQuantizedBehindEveryGather) {
  spec::Job job = sharded_job();
  job.training.precision = spec::Precision::kFp8;
  // Four matrices of 64 x 64 and three of 64 x 256 of a layer, read in 16 bit and written twice in
  // 8. Norms are not quantized, nor are embedding and head.
  const workload::Workload workload = workload::lower(job);
  EXPECT_DOUBLE_EQ(largest(job, workload, "fsdp_copy_out").bytes, 4 * (4 * 64 * 64 + 3 * 64 * 256));
  job.training.fp8_parameters = true;
  EXPECT_EQ(largest(job, workload, "fsdp_copy_out").name, "");
}

}  // namespace
}  // namespace ergometer::plan
