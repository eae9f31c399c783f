#include "workload/block/eager.h"

#include <gtest/gtest.h>

#include <string>

#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

double backward_bytes(const spec::Job& job, const std::string& name) {
  const Workload workload = lower(job);
  return test::find_op(workload, test::layer_block(workload, 0).backward, name).bytes;
}

// One sequence of 128 tokens, hidden 64, FFN 256, in 16 bit.
TEST(Eager, PyTorchJoinsGradientsAndSumsBiasesInKernelsOfTheirOwn) {
  spec::Job job = test::job_of(test::gpt_model(1, 64, 4, 1024), 128);
  EXPECT_EQ(backward_bytes(job, "input_grad_joins"), 0);
  job.training.framework = spec::Framework::kTorchFsdp;
  EXPECT_DOUBLE_EQ(backward_bytes(job, "input_grad_joins"), 2 * 2 * 128 * 3 * 64);
  EXPECT_DOUBLE_EQ(backward_bytes(job, "norm_wgrad"), 2 * 2 * 2 * 128 * 64);
  // qkv, proj, fc1, fc2: 3 + 1 + 4 + 1 times the hidden size.
  EXPECT_DOUBLE_EQ(backward_bytes(job, "bias_wgrad"), 2 * 128 * 9 * 64);
}

TEST(Eager, SeparateProjectionsAddTheirInputGradients) {
  spec::Job job = test::job_of(test::dense_model(1, 64, 256, 4, 4, 1024), 128);
  job.training.framework = spec::Framework::kTorchFsdp;
  ASSERT_TRUE(job.model.gated);
  EXPECT_DOUBLE_EQ(backward_bytes(job, "input_grad_joins"), 3 * 3 * 2 * 128 * 64);
  EXPECT_EQ(backward_bytes(job, "bias_wgrad"), 0);
}

TEST(Eager, FullyShardedGradientsAreNotAccumulatedWhole) {
  spec::Job job = test::job_of(test::dense_model(1, 64, 256, 4, 4, 1024), 128, 1, 2);
  job.training.grad_accumulation_fusion = false;
  EXPECT_GT(backward_bytes(job, "qkv_grad_accumulate"), 0);
  job.training.framework = spec::Framework::kTorchFsdp;
  job.parallelism.fsdp = true;
  job.parallelism.zero_stage = 3;
  EXPECT_EQ(backward_bytes(job, "qkv_grad_accumulate"), 0);
}

}  // namespace
}  // namespace ergometer::workload
