#include "workload/block/mamba.h"

#include <gtest/gtest.h>

#include "workload/flops.h"
#include "workload/parameters.h"
#include "workload/test_lines.h"

// State-space layers operator by operator.

namespace ergometer::workload {
namespace {

using namespace test;

// h 2048; 32 heads of 64 channels (inner 2048), 8 groups, states of 128, chunks of 128. Convolution
// over 2048 + 2 * 8 * 128 = 4096 channels; the input projection is 2048 + 4096 + 32 = 6176 wide.
spec::Model hybrid() {
  spec::Model model = dense_model(3, 2048, 8192, 16, 8, 32000);
  model.gated = false;
  model.positions = spec::PositionKind::kNone;
  model.state_space = {.heads = 32, .head_dim = 64, .groups = 8, .state = 128};
  model.layers[0] = {.mixer = spec::Mixer::kStateSpace, .feed_forward = false};
  model.layers[1] = {.mixer = spec::Mixer::kNone};
  model.layers[2] = {.feed_forward = false};
  return model;
}

constexpr double kTokens = 4096, kHybridStream = kTokens * 2048;
// Per token: C B' 2*128*128*8, times the values 2*128*2048, states and outputs 4*128*2048.
constexpr double kScan = kTokens * (262'144 + 524'288 + 1'048'576);
// Values, gate and output 3 * 2048, B and C 2048, two bytes each; 32 steps of four bytes.
constexpr double kScanTokens = kTokens * (2.0 * (3 * 2048 + 2048) + 4 * 32);
// 2048 * 128 states in FP32 every 128 tokens.
constexpr double kScanStates = kTokens / 128 * 2048 * 128 * 4;

TEST(StateSpaceLayer, Forward) {
  const Workload workload = lower(job_of(hybrid(), 4096));
  const Line scan{"chunk_scan", 0, 0, 0, kScan, kScanTokens + 2.5 * kScanStates};
  expect_lines(
      workload, layer_block(workload, 0).forward,
      {memory("input_norm", 4 * kHybridStream),
       gemm("in_proj", 4096, 6176, 2048, 2 * (kHybridStream + 6176.0 * 2048 + kTokens * 6176)),
       memory("causal_conv1d", 4 * kTokens * 4096), scan, memory("gated_norm", 6 * kHybridStream),
       gemm("out_proj", 4096, 2048, 2048, 2 * (2 * kHybridStream + 2048.0 * 2048)),
       memory("attention_residual_add", 6 * kHybridStream)});
}

// Of 64 sequences a token each: states of 2048 * 128 and four inputs of 4096 channels, read and
// written; x, gate, B, C, dt in, y out.
TEST(StateSpaceLayer, DecodingReadsAndWritesStates) {
  spec::Job job = job_of(hybrid(), 4096);
  job.training.mode = spec::Mode::kDecode;
  job.training.micro_batch = 64;
  const Workload workload = lower(job);
  const Line update{"state_update",
                    0,
                    0,
                    0,
                    64 * 7.0 * 2048 * 128,
                    64 * (2.0 * (3 * 2048 + 2048) + 4 * 32) + 2 * 64 * 2048.0 * 128 * 2};
  expect_lines(workload, layer_block(workload, 0).forward,
               {memory("input_norm", 2 * 64 * 2 * 2048.0),
                gemm("in_proj", 64, 6176, 2048, 2 * (64 * 2048.0 + 6176.0 * 2048 + 64 * 6176)),
                memory("causal_conv1d_update", 2 * 5 * 64 * 4096 * 2.0), update,
                memory("gated_norm", 3 * 64 * 2048 * 2.0),
                gemm("out_proj", 64, 2048, 2048, 2 * (2 * 64 * 2048.0 + 2048.0 * 2048)),
                memory("attention_residual_add", 3 * 64 * 2048 * 2.0)});
  const CacheShare& cache = layer_block(workload, 0).cache;
  EXPECT_EQ(cache.state_bytes, (2048.0 * 128 + 4096 * 4) * 2);
  EXPECT_EQ(cache.token_bytes, 0);
  EXPECT_EQ(layer_block(workload, 1).cache.token_bytes, 0);
  EXPECT_EQ(layer_block(workload, 2).cache.token_bytes, 2.0 * 8 * 128 * 2);
}

TEST(StateSpaceLayer, Backward) {
  const Workload workload = lower(job_of(hybrid(), 4096));
  const Line scan{"chunk_scan_backward", 0, 0, 0, 3 * kScan, 3 * kScanTokens + 6 * kScanStates};
  expect_lines(workload, layer_block(workload, 0).backward,
               {gemm("out_proj_dgrad", 4096, 2048, 2048, 2 * (2 * kHybridStream + 2048.0 * 2048)),
                gemm("out_proj_wgrad", 2048, 2048, 4096, 2 * 2 * kHybridStream + 8 * 2048.0 * 2048),
                memory("gated_norm_backward", 10 * kHybridStream),
                memory("causal_conv1d", 4 * kTokens * 4096),  // computed again for the scan
                scan, memory("causal_conv1d_backward", 6 * kTokens * 4096),
                gemm("in_proj_dgrad", 4096, 2048, 6176,
                     2 * (kHybridStream + 6176.0 * 2048 + kTokens * 6176)),
                gemm("in_proj_wgrad", 6176, 2048, 4096,
                     2 * (kHybridStream + kTokens * 6176) + 8 * 6176.0 * 2048),
                memory("input_norm_backward", 6 * kHybridStream),
                memory("residual_grad_add", 6 * kHybridStream)});
}

TEST(StateSpaceLayer, HoldsAndKeeps) {
  const Workload workload = lower(job_of(hybrid(), 4096));
  const Block& block = layer_block(workload, 0);
  // Two projections; convolution of width 4 with bias; decay, step and skip a head; two norms.
  EXPECT_EQ(block.parameters.dense,
            2048.0 * 6176 + 2048.0 * 2048 + 4096 * 5 + 3 * 32 + 2048 + 2048);
  EXPECT_EQ(block.name, "state-space layer");
  // Norm input, linear input; the projection's output; the scan's output and the second linear's
  // input.
  EXPECT_EQ(block.activations.kept, kTokens * 2 * (2 * 2048 + 6176 + 2 * 2048));
  EXPECT_EQ(block.activations.transient, 2 * kHybridStream + 2 * kScanStates + 2 * kTokens * 6176);
}

TEST(StateSpaceLayer, TensorParallelismDividesHeadsAndGroups) {
  const Workload workload = lower(job_of(hybrid(), 4096, 4));
  const Block& block = layer_block(workload, 0);
  EXPECT_EQ(find_op(workload, block.forward, "in_proj").n, 6176 / 4);
  EXPECT_EQ(find_op(workload, block.forward, "out_proj").k, 512);
  EXPECT_EQ(find_op(workload, block.forward, "chunk_scan").flops, kScan / 4);
  // More ranks than groups: each holds a whole one. 2 heads, 128 wide, B and C of one group, 2.
  const Workload wide = lower(job_of(hybrid(), 4096, 16));
  EXPECT_EQ(find_op(wide, layer_block(wide, 0).forward, "in_proj").n, 128 + 128 + 256 + 2);
}

TEST(StateSpaceLayer, ContextParallelismSwapsTokensForHeads) {
  spec::Job job = job_of(hybrid(), 4096);
  job.parallelism.cp = 2;
  const Workload workload = lower(job);
  const Block& block = layer_block(workload, 0);
  EXPECT_EQ(words(workload, block.forward),
            (std::vector<std::string>{"input_norm", "in_proj", "cp_all_to_all", "causal_conv1d",
                                      "chunk_scan", "cp_all_to_all", "gated_norm", "out_proj",
                                      "attention_residual_add"}));
  EXPECT_EQ(find_op(workload, block.forward, "cp_all_to_all").comm_bytes, 2.0 * 2048 * 6176);
}

TEST(HybridLayers, AreMixersOrFeedForwardPartsAlone) {
  const Workload workload = lower(job_of(hybrid(), 4096));
  EXPECT_EQ(words(workload, layer_block(workload, 1).forward),
            (std::vector<std::string>{"mlp_norm", "fc1", "activation", "fc2", "mlp_residual_add"}));
  EXPECT_EQ(words(workload, layer_block(workload, 2).forward),
            (std::vector<std::string>{"input_norm", "qkv", "core_attention", "proj",
                                      "attention_residual_add"}));
  // One norm each: 2048; matrices 2 * 2048 * 8192, and 2048 * (2048 + 2 * 1024 + 2048).
  EXPECT_EQ(layer_block(workload, 1).parameters.dense, 2.0 * 2048 * 8192 + 2048);
  EXPECT_EQ(layer_block(workload, 2).parameters.dense, 2048.0 * 6144 + 2048);
  EXPECT_EQ(layer_block(workload, 1).activations.kept, kTokens * 2 * (2 * 2048 + 2 * 8192));
}

TEST(HybridLayers, FlopsCountTheScanAtSeven) {
  const spec::Job job = job_of(hybrid(), 4096);
  // 3 * tokens * (2 (in_proj + out_proj + fc1 + fc2 + qkv + proj + head) + 7 * 2048 * 128 +
  // attention 2 * 2048 * 4096).
  const double products = 2048.0 * (6176 + 2048 + 2 * 8192 + 4096 + 2048 + 32000);
  EXPECT_EQ(model_flops_per_step(job).value(),
            3 * kTokens * (2 * products + 7 * 2048.0 * 128 + 2 * 2048.0 * 4096));
}

TEST(HybridLayers, ExpertsInALatentWidth) {
  spec::Model model = hybrid();
  model.experts = {.count = 16, .top_k = 4, .ffn = 1024, .shared_ffn = 2048, .latent = 512};
  model.layers[1].moe = true;
  const Workload workload = lower(job_of(model, 4096));
  const Block& block = layer_block(workload, 1);
  const Operator& down = find_op(workload, block.forward, "expert_latent_down");
  EXPECT_EQ(down.n, 512);
  EXPECT_EQ(down.k, 2048);
  EXPECT_EQ(find_op(workload, block.forward, "expert_fc1").k, 512);
  EXPECT_EQ(find_op(workload, block.forward, "expert_fc2").n, 512);
  EXPECT_EQ(find_op(workload, block.forward, "shared_fc1").k, 2048);
  EXPECT_EQ(block.parameters.expert, 16 * 2 * 512.0 * 1024);
  // Router, both latent projections, the shared expert, a norm.
  EXPECT_EQ(block.parameters.dense, 2048 * (16 + 2 * 512 + 2 * 2048.0) + 2048);
  EXPECT_EQ(count_parameters(model).active - count_parameters(model).total, -12 * 2 * 512 * 1024);
}

TEST(DeltaNet, HasTwoScalarsAHeadAndMoreProducts) {
  spec::Model model = hybrid();
  // 16 value heads of 128, 8 key heads of 128: 2048 + 4096 + 2 * 16 columns.
  model.state_space = {.heads = 16,
                       .head_dim = 128,
                       .groups = 8,
                       .state = 128,
                       .chunk = 64,
                       .conv_bias = false,
                       .delta_rule = true};
  EXPECT_EQ(model.state_space.in_width(), 6176);
  // Mamba's 2*64*1024 + 2*64*2048 + 4*128*2048; keys with keys 2*64*2048, inverse times keys and
  // values 2*64*4096, the correction 2*128*2048.
  EXPECT_EQ(scan_work(model, shapes_of(job_of(model, 4096))).flops,
            kTokens * (131'072 + 262'144 + 1'048'576 + 262'144 + 524'288 + 524'288));
}

}  // namespace
}  // namespace ergometer::workload
