#include "workload/block/modules.h"

#include <gtest/gtest.h>

#include <string>

#include "workload/matrices.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

spec::Job with_modules(spec::Model model, int64_t seq = 128) {
  spec::Job job = test::job_of(std::move(model), seq);
  job.training.framework = spec::Framework::kTorchFsdp;
  job.training.grad_accumulation_fusion = false;
  job.training.fused_cross_entropy = false;
  job.training.autocast = true;
  job.parallelism.zero_stage = 0;
  job.software.parameters.set("modules.eager", {1, "", "", base::Grade::kMeasured});
  job.software.parameters.set("ddp.autocast", {1, "", "", base::Grade::kMeasured});
  job.software.parameters.set("memory.gate_copies", {1, "", "", base::Grade::kMeasured});
  return job;
}

spec::Job in_16_bit(spec::Job job) {
  job.training.master_weights = job.training.autocast = false;
  job.training.gradients_fp32 = false;
  return job;
}

/// Bytes and kernels of an operator of the first layer.
struct Found {
  double bytes = 0;
  int kernels = 0;
};
Found forward(const spec::Job& job, const std::string& name) {
  const Workload workload = lower(job);
  const Operator& op = test::find_op(workload, test::layer_block(workload, 0).forward, name);
  return {op.bytes, op.kernels};
}
Found backward(const spec::Job& job, const std::string& name) {
  const Workload workload = lower(job);
  const Operator& op = test::find_op(workload, test::layer_block(workload, 0).backward, name);
  return {op.bytes, op.kernels};
}

double kept(const spec::Job& job, const std::string& name) {
  const Workload workload = lower(job);
  double bytes = 0;
  for (const auto& [part, value] : test::layer_block(workload, 0).activations.parts)
    if (part == name) bytes += value;
  return bytes;
}

// 128 tokens of 64: 8,192 elements. To FP32 9.6, its square 8, the mean 4 x 1.33, times the root
// 8 x 1.33, to 16 bit 6, times the weight 4 x 2.4.
TEST(Modules, ANormIsEightKernels) {
  const spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024)));
  const Found norm = forward(job, "input_norm");
  EXPECT_DOUBLE_EQ(norm.bytes, 8192 * (9.6 + 8 + 5.32 + 10.64 + 6 + 9.6));
  EXPECT_EQ(norm.kernels, 8);
  // In FP32 and, where the weight is trained, what it was multiplied with.
  EXPECT_DOUBLE_EQ(kept(job, "input_norm_input"), 8192 * (4 + 2));
}

// Weights in FP32: the stream is in FP32 too, and every one of three projections casts it.
TEST(Modules, AutocastCastsWeightsAndWhatNormsWrite) {
  const spec::Job job = with_modules(test::dense_model(1, 64, 256, 4, 4, 1024));
  EXPECT_DOUBLE_EQ(forward(job, "input_norm").bytes, 8192 * (8 + 5.32 + 10.64 + 10.64));
  EXPECT_DOUBLE_EQ(forward(job, "qkv_input_cast").bytes, 3 * 6 * 8192);
  EXPECT_DOUBLE_EQ(forward(job, "fc1_input_cast").bytes, 2 * 6 * 8192);
  EXPECT_DOUBLE_EQ(forward(job, "qkv_weight_cast").bytes, 6 * 64 * 192);
  // The gradient is cast up, and there is none to add it to.
  EXPECT_DOUBLE_EQ(backward(job, "qkv_grad_accumulate").bytes, 9.6 * 64 * 192);
  EXPECT_DOUBLE_EQ(kept(job, "qkv_input"), 3 * 2 * 8192);
  EXPECT_DOUBLE_EQ(kept(job, "input_norm_input"), 8 * 8192);
  EXPECT_DOUBLE_EQ(kept(job, "cast_weights"), 2 * (64 * 192 + 64 * 64 + 3 * 64 * 256));
  EXPECT_EQ(forward(in_16_bit(job), "qkv_weight_cast").bytes, 0);
}

// Training in FP32 casts nothing: the square, the mean, the products with root and weight.
TEST(Modules, Fp32CastsNothing) {
  spec::Job job = with_modules(test::dense_model(1, 64, 256, 4, 4, 1024));
  job.training.precision = spec::Precision::kFp32;
  job.training.autocast = false;
  EXPECT_DOUBLE_EQ(forward(job, "input_norm").bytes, 8192 * (8 + 5.32 + 10.64 + 10.64));
  EXPECT_EQ(forward(job, "qkv_input_cast").bytes, 0);
  EXPECT_EQ(forward(job, "qkv_weight_cast").bytes, 0);
  EXPECT_DOUBLE_EQ(forward(job, "activation").bytes, 4 * (2 + 3) * 128 * 256);
  EXPECT_DOUBLE_EQ(kept(job, "qkv_input"), 4 * 8192);
}

// Of four micro batches three add their gradients: FP32, two read and one written.
TEST(Modules, TheFirstMicroBatchsGradientIsKeptAsItIs) {
  spec::Job job = with_modules(test::dense_model(1, 64, 256, 4, 4, 1024));
  job.training.global_batch = 4;
  EXPECT_DOUBLE_EQ(backward(job, "proj_grad_accumulate").bytes, (9.6 + 12 * 0.75) * 64 * 64);
}

// A LayerNorm is one kernel, which autocast lets run in FP32.
TEST(Modules, LayerNormRunsInFp32) {
  spec::Job job = in_16_bit(with_modules(test::gpt_model(1, 64, 4, 1024)));
  job.model.qkv_matrix = spec::QkvMatrix::kSplit;
  EXPECT_DOUBLE_EQ(forward(job, "input_norm").bytes, 8192 * (9.6 + 8));
  EXPECT_DOUBLE_EQ(forward(job, "qkv_input_cast").bytes, 6 * 8192);
  EXPECT_DOUBLE_EQ(kept(job, "input_norm_input"), 4 * 8192);  // as it was cast
  job.model.parallel_branches = true;                         // each norm casts for itself
  job.model.norms_per_layer = 2;
  EXPECT_DOUBLE_EQ(kept(job, "mlp_norm_input"), 4 * 8192);
  // Without autocast it is in 16 bit as everything else.
  job.software.parameters.set("ddp.autocast", {0, "", "", base::Grade::kMeasured});
  EXPECT_DOUBLE_EQ(forward(job, "input_norm").bytes, 8192 * 4);
  EXPECT_EQ(forward(job, "qkv_input_cast").bytes, 0);
}

// 128 tokens of 64 to 2 of 4 experts: 256 rows, 16,384 elements. Gathered 4 and masked 4 x 2.1;
// masked, copied for it, weighted, gathered and summed; 8,192 elements between the matrices.
TEST(Modules, RowsOfExpertsAreMaskedThreeTimes) {
  spec::Model model = test::dense_model(1, 64, 256, 4, 4, 1024);
  model.experts.count = 4, model.experts.top_k = 2, model.experts.ffn = 32;
  model.layers[0].moe = true;
  const spec::Job job = in_16_bit(with_modules(model));
  constexpr double kMask = 4 * 2.1;
  EXPECT_DOUBLE_EQ(forward(job, "expert_rows").bytes, 16384 * (4 + kMask));
  EXPECT_DOUBLE_EQ(forward(job, "expert_sum").bytes, 16384 * (4 + kMask + 4 * 2.1 + 4 + 2 * 1.33));
  EXPECT_DOUBLE_EQ(forward(job, "expert_activation").bytes,
                   8192 * (2 * (4 + kMask) + 4 * 2.1 + 6 * 1.5) + 4 * 256);
  EXPECT_DOUBLE_EQ(backward(job, "expert_rows_backward").bytes, 16384 * (4 + kMask + 4 * 2.1));
  EXPECT_DOUBLE_EQ(backward(job, "expert_sum_backward").bytes,
                   16384 * (3 * 4 * 2.1 + 10 + 4 + kMask));
  EXPECT_EQ(forward(job, "sort_chunks").bytes, 0);
  EXPECT_DOUBLE_EQ(kept(job, "expert_output"), 2 * 16384);
}

// ReLU's backward reads its output, which the next matrix keeps.
TEST(Modules, ReluKeepsItsOutputAlone) {
  spec::Job job = in_16_bit(with_modules(test::gpt_model(1, 64, 4, 1024)));
  EXPECT_DOUBLE_EQ(kept(job, "fc1_output"), 2 * 128 * 256);
  job.model.activation = spec::Activation::kRelu;
  EXPECT_EQ(kept(job, "fc1_output"), 0);
  EXPECT_DOUBLE_EQ(kept(job, "fc2_input"), 2 * 128 * 256);
}

// GELU written out keeps the base of its power, the tangent and both factors of the last product.
TEST(Modules, AWrittenGeluKeepsSevenTimesAsMuch) {
  spec::Job job = with_modules(test::gpt_model(1, 64, 4, 1024));
  EXPECT_DOUBLE_EQ(kept(job, "fc1_output"), 2 * 128 * 256);
  job.model.written_gelu = true;
  EXPECT_EQ(kept(job, "fc1_output"), 0);
  EXPECT_DOUBLE_EQ(kept(job, "written_activation"), 14 * 128 * 256);
  EXPECT_EQ(forward(job, "activation").kernels, 10);
  job.software.parameters.set("modules.eager", {0, "", "", base::Grade::kMeasured});
  EXPECT_DOUBLE_EQ(kept(job, "fc1_output"), 2 * 128 * 256);
}

// A fourth of a head is turned: the rest is joined to it, read and written.
TEST(Modules, PartOfAHeadIsTurned) {
  spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024)));
  const double whole = forward(job, "rope").bytes;
  job.model.rotary_share = 0.25;
  EXPECT_DOUBLE_EQ(forward(job, "rope").bytes, 0.25 * whole + 4 * 2.4 * 2 * 8192);
  EXPECT_DOUBLE_EQ(kept(job, "proj_input"), 2 * 8192);  // heads stand one behind the other
}

// PEFT has an adapter for each of queries, keys and values: 3 x 64 x 4 + 4 x 192 of rank 4.
TEST(Modules, AdaptersAreOneAMatrixOfTheModel) {
  spec::Job job = with_modules(test::dense_model(1, 64, 256, 4, 4, 1024));
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  job.training.lora_targets = {"qkv"};
  const Workload workload = lower(job);
  EXPECT_DOUBLE_EQ(test::layer_block(workload, 0).parameters.trainable_dense, 3 * 64 * 4 + 4 * 192);
  EXPECT_EQ(adapters_in(job), 3);
  // The input to FP32 and back for each, the product scaled and added.
  EXPECT_DOUBLE_EQ(forward(job, "qkv_lora_add").bytes, 128 * (3 * 64 * (9.6 + 6) + 192 * (4 + 6)));
  job.software.parameters.set("modules.eager", {0, "", "", base::Grade::kMeasured});
  EXPECT_DOUBLE_EQ(test::layer_block(lower(job), 0).parameters.trainable_dense, 64 * 4 + 4 * 192);
}

// Of queries and values alone: 2 x 64 x 4 + 4 x (64 + 64), and no third copy of their input.
TEST(Modules, QueriesAndValuesAreAdaptedAlone) {
  spec::Job job = with_modules(test::dense_model(1, 64, 256, 4, 2, 1024));
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  job.training.lora_targets = {"q", "v"};
  const auto trained = [&] { return test::layer_block(lower(job), 0).parameters.trainable_dense; };
  EXPECT_DOUBLE_EQ(trained(), 2 * 64 * 4 + 4 * (64 + 32));
  EXPECT_DOUBLE_EQ(kept(job, "qkv_input"), 2 * 2 * 128 * 64);
  EXPECT_DOUBLE_EQ(kept(job, "adapters"), 2 * 2 * 128 * 4);
  // One matrix for all three is adapted whole, as PEFT does by default.
  job.model.qkv_matrix = spec::QkvMatrix::kSplit;
  EXPECT_DOUBLE_EQ(trained(), 64 * 4 + 4 * 128);
  // Adapters of Megatron's one matrix may be of a part of it.
  job.software.parameters.set("modules.eager", {0, "", "", base::Grade::kMeasured});
  EXPECT_DOUBLE_EQ(trained(), 2 * 64 * 4 + 4 * (64 + 32));
}

// Parts of one product, 192 wide: their gradients are joined; or slices of it, whose gradients are
// put into zeros and added up. The values are a view that keeps it.
TEST(Modules, JoinedProductsAreTakenApart) {
  spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024)));
  const double activation = backward(job, "activation_backward").bytes;
  EXPECT_EQ(backward(job, "qkv_join_backward").bytes, 0);
  job.model.qkv_matrix = spec::QkvMatrix::kSplit;
  EXPECT_DOUBLE_EQ(backward(job, "qkv_join_backward").bytes, 128 * 192 * 4);
  job.model.qkv_matrix = spec::QkvMatrix::kSliced;
  EXPECT_DOUBLE_EQ(backward(job, "qkv_join_backward").bytes, 128 * 192 * 22);
  EXPECT_DOUBLE_EQ(kept(job, "joined_query_key"), 2 * 128 * 128);
  job.model.joined_gate = true;
  EXPECT_DOUBLE_EQ(backward(job, "activation_backward").bytes, activation + 128 * 512 * 4);
}

// 128 tokens, 4 heads: 65,536 scores, and 128 x 1,024 logits. Three kernels forward, read and
// written; backward the tangent's gradient reads its output too, which is kept, as is the softmax
// in FP32 beside its copy in 16 bit.
TEST(Modules, CappedScoresAndLogitsAreSixPassesMore) {
  spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024)));
  job.training.attention = spec::AttentionBackend::kUnfused;
  EXPECT_EQ(forward(job, "score_cap").bytes, 0);
  EXPECT_DOUBLE_EQ(kept(job, "softmax_output"), 4 * 65536);
  EXPECT_EQ(kept(job, "score_tangents"), 0);
  job.model.capped_scores = job.model.capped_logits = true;
  EXPECT_DOUBLE_EQ(forward(job, "score_cap").bytes, 6 * 2 * 65536);
  EXPECT_DOUBLE_EQ(backward(job, "score_cap_backward").bytes, 7 * 2 * 65536);
  EXPECT_EQ(forward(job, "score_cap").kernels, 3);
  EXPECT_DOUBLE_EQ(kept(job, "score_tangents"), 2 * 65536);
  const Workload workload = lower(job);
  const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
  EXPECT_DOUBLE_EQ(test::find_op(workload, head.forward, "logit_cap").bytes, 12.0 * 128 * 1024);
  EXPECT_DOUBLE_EQ(test::find_op(workload, head.backward, "logit_cap_backward").bytes,
                   14.0 * 128 * 1024);
}

// Of a norm's 49.16 bytes an element, all but the square and the cast to 16 bit.
TEST(Modules, WhatDoesNotStreamIsBoundByInstructions) {
  const spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024)));
  const Workload workload = lower(job);
  const Operator& norm =
      test::find_op(workload, test::layer_block(workload, 0).forward, "input_norm");
  EXPECT_DOUBLE_EQ(norm.issued_share * norm.bytes, norm.bytes - 8192 * (8 + 6));
}

// A window that is a mask to cuDNN's kernel saves nothing; one longer than the sequence is none.
TEST(Modules, AMaskedWindowIsNotSkipped) {
  spec::Job job = in_16_bit(with_modules(test::dense_model(1, 64, 256, 4, 4, 1024), 1024));
  job.training.attention = spec::AttentionBackend::kCudnn;
  const auto pairs = [&](int64_t window) { return executed_pairs(shapes_of(job), window); };
  EXPECT_DOUBLE_EQ(pairs(1024), 1024.0 * 1024);
  EXPECT_DOUBLE_EQ(pairs(256), 1024.0 * 1024);
  EXPECT_DOUBLE_EQ(pairs(1025), 1024.0 * 1024 / 2 + 1024 * 64);
  EXPECT_EQ(kept(job, "window_mask"), 0);
  job.model.layers[0].window = 256;
  EXPECT_DOUBLE_EQ(kept(job, "window_mask"), 2.0 * 1024 * 1024);
  job.training.attention = spec::AttentionBackend::kFlash2;
  EXPECT_LT(pairs(256), 1024.0 * 512);
}

}  // namespace
}  // namespace ergometer::workload
