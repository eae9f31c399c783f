#include <gtest/gtest.h>

#include "workload/test_lines.h"

// Whole dense layers, operator by operator. Bytes of a GEMM are 2 (m k + n k + m n); of a weight
// gradient 2 (rows in + rows out) + 8 in out, for it reads and writes FP32.

namespace ergometer::workload {
namespace {

using namespace test;

// GPT-3 175B, 2048 tokens, TP 8 without sequence parallelism, dropout. n = 2048 everywhere; h =
// 12288, so the residual stream has 2048 * 12288 = 25,165,824 elements; a rank has 12 of 96 heads
// of 128 (1536 wide) and 6144 of 49152 FFN columns.
constexpr double kGptStream = 25'165'824;

spec::Job gpt_job() {
  spec::Job job = job_of(gpt_model(96, 12288, 96, 50257), 2048, 8);
  job.parallelism.sequence_parallel = false;
  return job;
}

TEST(GptLayer, Forward) {
  const Workload workload = lower(gpt_job());
  // Half a square plus half a tile: 2048 * (2048 + 128) / 2 = 2,228,224 pairs; 2 * 12 heads * (128
  // + 128) FLOPs each.
  const double core = 2.0 * 12 * 256 * 2'228'224;
  EXPECT_EQ(core, 13'690'208'256);
  expect_lines(
      workload, layer_block(workload, 0).forward,
      {memory("input_norm", 4 * kGptStream),
       gemm("qkv", 2048, 4608, 12288, 2.0 * (kGptStream + 4608.0 * 12288 + 2048 * 4608)),
       // q, k, v, o of 2048 x 1536 and a log-sum-exp of 4 bytes a row and head
       attention("core_attention", core, 4 * 2.0 * 2048 * 1536 + 4 * 2048 * 12),
       gemm("proj", 2048, 12288, 1536, 2.0 * (2048 * 1536 + 12288.0 * 1536 + kGptStream)),
       memory("tp_all_reduce", 2 * kGptStream),
       memory("attention_residual_add", 7 * kGptStream),  // two operands, the sum, a one-byte mask
       memory("mlp_norm", 4 * kGptStream),
       gemm("fc1", 2048, 6144, 12288, 2.0 * (kGptStream + 6144.0 * 12288 + 2048 * 6144)),
       memory("activation", 4.0 * 2048 * 6144),
       gemm("fc2", 2048, 12288, 6144, 2.0 * (2048 * 6144 + 12288.0 * 6144 + kGptStream)),
       memory("tp_all_reduce", 2 * kGptStream), memory("mlp_residual_add", 7 * kGptStream)});
}

TEST(GptLayer, Backward) {
  const Workload workload = lower(gpt_job());
  expect_lines(
      workload, layer_block(workload, 0).backward,
      {memory("mlp_residual_add_backward", 5 * kGptStream),  // gradient, mask, result
       gemm("fc2_dgrad", 2048, 6144, 12288, 2.0 * (kGptStream + 12288.0 * 6144 + 2048 * 6144)),
       gemm("fc2_wgrad", 12288, 6144, 2048, 2.0 * (kGptStream + 2048 * 6144) + 8 * 12288.0 * 6144),
       memory("activation_backward", 6.0 * 2048 * 6144),
       gemm("fc1_dgrad", 2048, 12288, 6144, 2.0 * (2048 * 6144 + 12288.0 * 6144 + kGptStream)),
       join("tensor<compute"), memory("tp_all_reduce@tensor", 2 * kGptStream),
       gemm("fc1_wgrad", 6144, 12288, 2048, 2.0 * (kGptStream + 2048 * 6144) + 8 * 12288.0 * 6144),
       join("compute<tensor"), memory("mlp_norm_backward", 6 * kGptStream),
       memory("residual_grad_add", 6 * kGptStream),
       memory("attention_residual_add_backward", 5 * kGptStream),
       gemm("proj_dgrad", 2048, 1536, 12288, 2.0 * (kGptStream + 12288.0 * 1536 + 2048 * 1536)),
       gemm("proj_wgrad", 12288, 1536, 2048, 2.0 * (kGptStream + 2048 * 1536) + 8 * 12288.0 * 1536),
       // Five products against two. Reads q, k, v, twice o and do, LSE; writes dq, dk, dv; dq in
       // FP32 back and forth.
       attention("core_attention_backward", 2.5 * 13'690'208'256,
                 (2 * 3 + 2 + 2) * 2.0 * 2048 * 1536 + 4 * 2048 * 12 + 8.0 * 2048 * 1536),
       gemm("qkv_dgrad", 2048, 12288, 4608, 2.0 * (2048 * 4608 + 12288.0 * 4608 + kGptStream)),
       join("tensor<compute"), memory("tp_all_reduce@tensor", 2 * kGptStream),
       gemm("qkv_wgrad", 4608, 12288, 2048, 2.0 * (kGptStream + 2048 * 4608) + 8 * 12288.0 * 4608),
       join("compute<tensor"), memory("input_norm_backward", 6 * kGptStream),
       memory("residual_grad_add", 6 * kGptStream)});
}

TEST(GptLayer, KeepsFourWholeStreamsWithoutSequenceParallelism) {
  const Workload workload = lower(gpt_job());
  const ActivationShare& share = layer_block(workload, 0).activations;
  // 2 bytes of norm input and linear input twice, masks twice; q, k, v, o 1536 wide, LSE; FC1's
  // output and FC2's input 6144 wide.
  EXPECT_EQ(share.kept, 8 * kGptStream + 2 * kGptStream + 2048 * (8.0 * 1536 + 4 * 12 + 4 * 6144));
  EXPECT_EQ(share.checkpoint, 2 * kGptStream);
}

// Llama 3 70B, 8192 tokens, TP 4 with sequence parallelism: n = 8192 in GEMMs, 2048 outside. h =
// 8192: the whole stream has 8192^2 = 67,108,864 elements, a shard a quarter. A rank has 16 query
// and 2 key-value heads of 128 (QKV 2560 wide, attention 2048) and 7168 of 28672 FFN columns.
constexpr double kWhole = 67'108'864, kShard = kWhole / 4;

TEST(LlamaLayer, Forward) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  // 8192 * (8192 + 128) / 2 = 34,078,720 pairs.
  expect_lines(
      workload, layer_block(workload, 0).forward,
      {memory("input_norm", 4 * kShard), memory("tp_all_gather", 2 * kWhole),
       gemm("qkv", 8192, 2560, 8192, 2 * (kWhole + 2 * 2560.0 * 8192)),
       memory("rope", 4.0 * 8192 * (16 + 2) * 128),
       attention("core_attention", 2.0 * 16 * 256 * 34'078'720,
                 2.0 * 8192 * (2048 + 256 + 256 + 2048) + 4 * 8192 * 16),
       gemm("proj", 8192, 8192, 2048, 2 * (2 * 2048.0 * 8192 + kWhole)),
       memory("tp_reduce_scatter", 2 * kWhole), memory("attention_residual_add", 6 * kShard),
       memory("mlp_norm", 4 * kShard), memory("tp_all_gather", 2 * kWhole),
       gemm("fc1", 8192, 14336, 8192, 2 * (kWhole + 2 * 14336.0 * 8192)),
       memory("activation", 6.0 * 8192 * 7168),
       gemm("fc2", 8192, 8192, 7168, 2 * (2 * 7168.0 * 8192 + kWhole)),
       memory("tp_reduce_scatter", 2 * kWhole), memory("mlp_residual_add", 6 * kShard)});
}

TEST(LlamaLayer, BackwardGathersTwiceMore) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  expect_lines(
      workload, layer_block(workload, 0).backward,
      {memory("tp_all_gather", 2 * kWhole),
       gemm("fc2_dgrad", 8192, 7168, 8192, 2 * (2 * 7168.0 * 8192 + kWhole)),
       gemm("fc2_wgrad", 8192, 7168, 8192, 2 * (kWhole + 7168.0 * 8192) + 8 * 7168.0 * 8192),
       memory("activation_backward", 10.0 * 8192 * 7168),
       join("tensor<compute"),
       memory("tp_all_gather@tensor", 2 * kWhole),
       gemm("fc1_dgrad", 8192, 8192, 14336, 2 * (2 * 14336.0 * 8192 + kWhole)),
       join("compute<tensor"),
       join("tensor<compute"),
       memory("tp_reduce_scatter@tensor", 2 * kWhole),
       gemm("fc1_wgrad", 14336, 8192, 8192, 2 * (kWhole + 14336.0 * 8192) + 8 * 14336.0 * 8192),
       join("compute<tensor"),
       memory("mlp_norm_backward", 6 * kShard),
       memory("residual_grad_add", 6 * kShard),
       memory("tp_all_gather", 2 * kWhole),
       gemm("proj_dgrad", 8192, 2048, 8192, 2 * (2 * 2048.0 * 8192 + kWhole)),
       gemm("proj_wgrad", 8192, 2048, 8192, 2 * (kWhole + 2048.0 * 8192) + 8 * 2048.0 * 8192),
       attention(
           "core_attention_backward", 2.5 * 2 * 16 * 256 * 34'078'720,
           2.0 * 8192 * (2 * (2048 + 256 + 256) + 4 * 2048) + 4 * 8192 * 16 + 8.0 * 8192 * 2048),
       memory("rope_backward", 4.0 * 8192 * (16 + 2) * 128),
       join("tensor<compute"),
       memory("tp_all_gather@tensor", 2 * kWhole),
       gemm("qkv_dgrad", 8192, 8192, 2560, 2 * (2 * 2560.0 * 8192 + kWhole)),
       join("compute<tensor"),
       join("tensor<compute"),
       memory("tp_reduce_scatter@tensor", 2 * kWhole),
       gemm("qkv_wgrad", 2560, 8192, 8192, 2 * (kWhole + 2560.0 * 8192) + 8 * 2560.0 * 8192),
       join("compute<tensor"),
       memory("input_norm_backward", 6 * kShard),
       memory("residual_grad_add", 6 * kShard)});
}

TEST(LlamaLayer, PassesSayWhatZeroBubbleMayPutOff) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  for (const Item& item : layer_block(workload, 0).backward) {
    if (item.kind == Item::Kind::kJoin) continue;
    const Operator& op = op_of(workload, item);
    const bool wgrad = op.name.ends_with("_wgrad") ||
                       (op.name == "tp_all_gather" && item.stream == Stream::kTensor);
    EXPECT_EQ(op.pass, wgrad ? Pass::kWeight : Pass::kBackward) << op.name;
  }
}

TEST(LlamaLayer, FullRecomputationRepeatsForward) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.recompute = spec::Recompute::kFull;
  const Workload workload = lower(job);
  expect_repeats_forward(workload, layer_block(workload, 0));
}

TEST(LlamaLayer, HoldsAndKeepsAQuarter) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  const Block& block = layer_block(workload, 0);
  EXPECT_EQ(block.parameters.dense, 8192.0 * (2560 + 2048 + 3 * 7168) + 2 * 8192);
  EXPECT_EQ(block.parameters.trainable_dense, block.parameters.dense);
  EXPECT_EQ(block.parameters.expert, 0);
  EXPECT_EQ(block.weight_shapes,
            (std::vector<double>{8192.0 * 2560, 8192.0 * 2048, 8192.0 * 14336, 8192.0 * 7168}));
  // Everything is divided by 4: 8h, q, k, v and o, LSE, gate, up and their product; per token of
  // the shard.
  EXPECT_EQ(block.activations.kept,
            8 * kShard + 8192 * (2.0 * 2560 + 2 * 2048 + 4 * 16 + 6 * 7168));
  EXPECT_EQ(workload.boundary_bytes, 2 * kShard);
}

TEST(LlamaHead, GathersMultipliesAndTakesTheLoss) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
  // 128256 padded to a multiple of 4 * 128 is 128512: 32128 columns a rank, 8192 * 32128 =
  // 263,192,576 logits.
  const double logits = 263'192'576, matrix = 32128.0 * 8192;
  expect_lines(workload, head.forward,
               {memory("final_norm", 4 * kShard), memory("tp_all_gather", 2 * kWhole),
                gemm("head", 8192, 32128, 8192, 2 * (kWhole + matrix + logits)),
                memory("cross_entropy", 4 * logits), memory("loss_all_reduce", 4 * 8192),
                memory("loss_all_reduce", 8 * 8192)});
  expect_lines(workload, head.backward,
               {memory("cross_entropy_backward", 4 * logits), join("tensor<compute"),
                memory("tp_all_gather@tensor", 2 * kWhole),
                gemm("head_dgrad", 8192, 8192, 32128, 2 * (logits + matrix + kWhole)),
                join("compute<tensor"), join("tensor<compute"),
                memory("tp_reduce_scatter@tensor", 2 * kWhole),
                gemm("head_wgrad", 32128, 8192, 8192, 2 * (kWhole + logits) + 8 * matrix),
                join("compute<tensor"), memory("final_norm_backward", 6 * kShard)});
  // Kept: the norm's and the matrix's inputs and the 16-bit logits; while the loss runs, their
  // gradient.
  EXPECT_EQ(head.activations.kept, 4 * kShard + 2 * logits);
  EXPECT_EQ(head.activations.transient, 2 * logits);
}

// 128 tokens, hidden 64.
TEST(LlamaHead, LossKeepsWhatItsImplementationMakes) {
  spec::Job job = job_of(dense_model(1, 64, 256, 4, 4, 1024), 128);
  const auto head = [&] {
    const Workload workload = lower(job);
    return workload.blocks[static_cast<size_t>(workload.head_block)].activations;
  };
  const double logits = 128.0 * 1024, inputs = 2 * 2.0 * 128 * 64;
  EXPECT_DOUBLE_EQ(head().kept, inputs + 2 * logits);
  job.training.fused_cross_entropy = false;
  EXPECT_DOUBLE_EQ(head().kept, inputs + 4 * logits);
  EXPECT_DOUBLE_EQ(head().transient, 6 * logits);
  job.software.parameters.set("memory.loss_copies", {2, "", "", {}});  // the softmax in place
  EXPECT_DOUBLE_EQ(head().transient, 2 * logits);
  job.training.precision = spec::Precision::kFp32;  // of the logits themselves
  EXPECT_DOUBLE_EQ(head().transient, 0);
  job.software.parameters = {};
  EXPECT_DOUBLE_EQ(head().transient, 4 * logits);
  job.training.precision = spec::Precision::kBf16;
  job.training.framework = spec::Framework::kTorchFsdp;  // two FP32 gradients
  EXPECT_DOUBLE_EQ(head().transient, 8 * logits);
  job.training.linear_cross_entropy = true;  // the input's gradient; pieces in 16 bit and FP32
  EXPECT_DOUBLE_EQ(head().kept, inputs + 2.0 * 128 * 64);
  EXPECT_DOUBLE_EQ(head().transient, 6.0 * 128 * 64);
}

TEST(LlamaHead, UnfusedLossReducesThreeTimes) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.fused_cross_entropy = false;
  const Workload workload = lower(job);
  const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
  EXPECT_EQ(words(workload, head.forward),
            (std::vector<std::string>{"final_norm", "tp_all_gather", "head", "cross_entropy",
                                      "loss_all_reduce", "loss_all_reduce", "loss_all_reduce"}));
  EXPECT_EQ(find_op(workload, head.forward, "cross_entropy").bytes, 24.0 * 8192 * 32128);
  EXPECT_EQ(find_op(workload, head.backward, "cross_entropy_backward").bytes, 12.0 * 8192 * 32128);
}

// Without the cast of 2 + 4 bytes each way; a fused kernel reads and writes four bytes each way.
TEST(LlamaHead, Fp32LogitsAreNotCast) {
  spec::Job job = job_of(dense_model(1, 64, 256, 4, 4, 1024), 128);
  job.training.precision = spec::Precision::kFp32;
  const double logits = 128.0 * 1024;
  const auto moved = [&] {
    const Workload workload = lower(job);
    const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
    return std::pair(find_op(workload, head.forward, "cross_entropy").bytes / logits,
                     find_op(workload, head.backward, "cross_entropy_backward").bytes / logits);
  };
  EXPECT_EQ(moved(), std::pair(8.0, 8.0));
  job.training.fused_cross_entropy = false;
  EXPECT_EQ(moved(), std::pair(18.0, 6.0));
}

TEST(LlamaEmbedding, LooksUpAndScatters) {
  const Workload workload = lower(job_of(llama3_70b(), 8192, 4));
  const Block& embedding = workload.blocks[static_cast<size_t>(workload.embedding_block)];
  expect_lines(workload, embedding.forward,
               {memory("embedding", 4 * kWhole), memory("tp_reduce_scatter", 2 * kWhole)});
  expect_lines(workload, embedding.backward,
               {memory("tp_all_gather", 2 * kWhole), memory("embedding_wgrad", 10 * kWhole)});
  EXPECT_EQ(embedding.parameters.dense, 32128.0 * 8192);
}

// A loader that lags holds the first stage up once a micro batch, in front of the look-up.
TEST(LlamaEmbedding, WaitsForDataThatIsLate) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.software.parameters.set("data.micro_batch", {0.2, "", "", base::Grade::kAssumed});
  const Workload workload = lower(job);
  const Block& embedding = workload.blocks[static_cast<size_t>(workload.embedding_block)];
  EXPECT_EQ(words(workload, embedding.forward),
            (std::vector<std::string>{"data_wait", "embedding", "tp_reduce_scatter"}));
  const Operator& wait = find_op(workload, embedding.forward, "data_wait");
  EXPECT_EQ(wait.host_wait_s, 0.2);
  EXPECT_EQ(wait.kernels, 0);
  EXPECT_EQ(find_op(workload, embedding.backward, "embedding_wgrad").host_wait_s, 0);
}

// Attention and MLP behind one norm read one tensor: 2048 tokens of 4096 in 16 bit, kept once for
// whichever of their adapters wants it.
TEST(ParallelBranches, AdaptersKeepTheirCommonInputOnce) {
  spec::Job job = job_of(gpt_model(2, 4096, 32, 50257), 2048, 1);
  job.model.parallel_branches = true;
  job.model.norms_per_layer = 1;
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  const auto kept = [&](std::vector<std::string> targets) {
    job.training.lora_targets = std::move(targets);
    const Workload workload = lower(job);
    double bytes = 0;
    for (const auto& [name, part] : layer_block(workload, 0).activations.parts)
      if (name == "qkv_input" || name == "fc1_input") bytes += part;
    return bytes;
  };
  constexpr double kOnce = 2.0 * 2048 * 4096;
  EXPECT_EQ(kept({"qkv"}), kOnce);
  EXPECT_EQ(kept({"fc1"}), kOnce);
  EXPECT_EQ(kept({"qkv", "fc1"}), kOnce);
  EXPECT_EQ(kept({"proj"}), 0);
}

}  // namespace
}  // namespace ergometer::workload
