#include "workload/by_operator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workload/flops.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

TEST(ByOperator, EverySecondProductIsComputedAgain) {
  const spec::Model llama = test::dense_model(1, 64, 256, 4, 2, 1024);
  // q 4, k 2, v 2: keys, the second, alone; then the projection, and `up` of gate, up and down.
  EXPECT_DOUBLE_EQ(repeated(llama, "qkv", 0).share, 2.0 / 8);
  EXPECT_EQ(repeated(llama, "qkv", 0).products, 3);
  EXPECT_DOUBLE_EQ(repeated(llama, "proj", 3).share, 1);
  EXPECT_DOUBLE_EQ(repeated(llama, "fc1", 4).share, 0.5);
  EXPECT_DOUBLE_EQ(repeated(llama, "fc2", 6).share, 0);
}

TEST(ByOperator, AFusedProductIsOne) {
  const spec::Model gpt = test::gpt_model(1, 64, 4, 1024);
  EXPECT_EQ(repeated(gpt, "qkv", 0).products, 1);
  EXPECT_DOUBLE_EQ(repeated(gpt, "qkv", 0).share, 0);
  EXPECT_DOUBLE_EQ(repeated(gpt, "proj", 1).share, 1);
}

// 128 tokens, hidden 64, FFN 256, 4 query and 2 key-value heads of 16.
TEST(ByOperator, TheListHasNeitherAttentionNorKeptProducts) {
  spec::Job job = test::job_of(test::dense_model(1, 64, 256, 4, 2, 1024), 128);
  job.training.recompute = spec::Recompute::kSelective;
  job.training.recompute_modules = {"op"};
  const Workload workload = lower(job);
  const Block& layer = test::layer_block(workload, 0);
  std::vector<std::string> products;
  for (const Item& item : layer.recompute) {
    const Operator& op = workload.operators[static_cast<size_t>(item.op)];
    EXPECT_NE(op.kind, OperatorKind::kAttention);
    EXPECT_EQ(op.model_flops, 0);
    if (op.kind == OperatorKind::kGemm) products.push_back(op.name);
  }
  EXPECT_EQ(products, (std::vector<std::string>{"qkv", "proj", "fc1"}));
  EXPECT_DOUBLE_EQ(test::find_op(workload, layer.recompute, "qkv").flops, 2.0 * 128 * 64 * 32);
  EXPECT_DOUBLE_EQ(test::find_op(workload, layer.recompute, "proj").flops, 2.0 * 128 * 64 * 64);
  EXPECT_DOUBLE_EQ(test::find_op(workload, layer.recompute, "fc1").flops, 2.0 * 128 * 64 * 256);
  // Hardware FLOPs are the model's and these three products.
  EXPECT_DOUBLE_EQ(
      (hardware_flops_per_step(job) - model_flops_per_step(job)).value(),
      2.0 * 128 * 64 * (32 + 64 + 256) * static_cast<double>(job.training.global_batch));
  // 16 bit: the input (64), queries (64), values (32), attention's output (64), the gate (256), the
  // MLP's output (64), and 4 heads' log-sum-exp in FP32.
  EXPECT_DOUBLE_EQ(layer.activations.checkpoint,
                   128.0 * (2 * (64 + 64 + 32 + 64 + 256 + 64) + 4 * 4));
}

}  // namespace
}  // namespace ergometer::workload
