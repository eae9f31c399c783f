#include <gtest/gtest.h>

#include "workload/test_lines.h"

// DeepSeek-V3's dense layers, operator by operator: latent attention with ranks 1536 and 512, 128
// heads of 128 + 64 for queries and keys and 128 for values, hidden size 7168, FFN 18432; 4096
// tokens.

namespace ergometer::workload {
namespace {

using namespace test;

constexpr double kLatentStream = 4096.0 * 7168;  // elements of the residual stream, 29,360,128

TEST(LatentLayer, Forward) {
  const Workload workload = lower(job_of(deepseek_v3(), 4096));
  // 4096 * (4096 + 128) / 2 = 8,650,752 pairs; queries 128 * 192 = 24576 wide, values 16384, keys
  // and values 32768 without the rotary part.
  const double core = 2.0 * 128 * (192 + 128) * 8'650'752;
  EXPECT_EQ(core, 708'669'603'840);
  expect_lines(
      workload, layer_block(workload, 0).forward,
      {memory("input_norm", 4 * kLatentStream),
       gemm("q_down", 4096, 1536, 7168, 2 * (kLatentStream + 1536.0 * 7168 + 4096 * 1536)),
       memory("q_norm", 4.0 * 4096 * 1536),
       gemm("kv_down", 4096, 576, 7168, 2 * (kLatentStream + 576.0 * 7168 + 4096 * 576)),
       memory("kv_norm", 4.0 * 4096 * 512),
       gemm("q_up", 4096, 24576, 1536, 2.0 * (4096 * 1536 + 24576 * 1536 + 4096 * 24576)),
       gemm("kv_up", 4096, 32768, 512, 2.0 * (4096 * 512 + 32768 * 512 + 4096 * 32768)),
       memory("rope", 8.0 * 4096 * 24576),  // queries and keys, read and written
       attention("core_attention", core, 2.0 * 4096 * (2 * 24576 + 2 * 16384) + 4 * 4096 * 128),
       gemm("proj", 4096, 7168, 16384, 2 * (4096.0 * 16384 + 7168.0 * 16384 + kLatentStream)),
       memory("attention_residual_add", 6 * kLatentStream), memory("mlp_norm", 4 * kLatentStream),
       gemm("fc1", 4096, 36864, 7168, 2 * (kLatentStream + 36864.0 * 7168 + 4096.0 * 36864)),
       memory("activation", 6.0 * 4096 * 18432),
       gemm("fc2", 4096, 7168, 18432, 2 * (4096.0 * 18432 + 7168.0 * 18432 + kLatentStream)),
       memory("mlp_residual_add", 6 * kLatentStream)});
}

TEST(LatentLayer, Backward) {
  const Workload workload = lower(job_of(deepseek_v3(), 4096));
  const std::vector<Item>& backward = layer_block(workload, 0).backward;
  // Before it stand the MLP's seven: fc2 dgrad and wgrad, activation, fc1 dgrad and wgrad, norm,
  // residual add.
  const std::vector<Item> tail(backward.begin() + 7, backward.end());
  expect_lines(
      workload, tail,
      {gemm("proj_dgrad", 4096, 16384, 7168, 2 * (kLatentStream + 7168.0 * 16384 + 4096.0 * 16384)),
       gemm("proj_wgrad", 7168, 16384, 4096,
            2 * (kLatentStream + 4096.0 * 16384) + 8 * 7168.0 * 16384),
       attention("core_attention_backward", 2.5 * 708'669'603'840,
                 2.0 * 4096 * (2 * (24576 + 24576 + 16384) + 4 * 16384) + 4 * 4096 * 128 +
                     8.0 * 4096 * 24576),
       memory("rope_backward", 8.0 * 4096 * 24576),
       gemm("kv_up_dgrad", 4096, 512, 32768, 2.0 * (4096 * 32768 + 32768 * 512 + 4096 * 512)),
       gemm("kv_up_wgrad", 32768, 512, 4096, 2.0 * (4096 * 32768 + 4096 * 512) + 8.0 * 32768 * 512),
       memory("kv_norm_backward", 6.0 * 4096 * 512),
       gemm("kv_down_dgrad", 4096, 7168, 576, 2 * (4096.0 * 576 + 7168.0 * 576 + kLatentStream)),
       gemm("kv_down_wgrad", 576, 7168, 4096,
            2 * (4096.0 * 576 + kLatentStream) + 8.0 * 7168 * 576),
       gemm("q_up_dgrad", 4096, 1536, 24576, 2.0 * (4096 * 24576 + 24576 * 1536 + 4096 * 1536)),
       gemm("q_up_wgrad", 24576, 1536, 4096,
            2.0 * (4096 * 24576 + 4096 * 1536) + 8.0 * 24576 * 1536),
       memory("q_norm_backward", 6.0 * 4096 * 1536),
       gemm("q_down_dgrad", 4096, 7168, 1536, 2 * (4096.0 * 1536 + 7168.0 * 1536 + kLatentStream)),
       gemm("q_down_wgrad", 1536, 7168, 4096,
            2 * (4096.0 * 1536 + kLatentStream) + 8.0 * 7168 * 1536),
       memory("branch_grad_add", 6 * kLatentStream),
       memory("input_norm_backward", 6 * kLatentStream),
       memory("residual_grad_add", 6 * kLatentStream)});
}

TEST(LatentLayer, GathersOnlyWhatIsCompressed) {
  // TP 4: down projections on 1024 tokens with whole weights, up projections on all with a quarter
  // of the heads.
  const Workload workload = lower(job_of(deepseek_v3(), 4096, 4));
  std::vector<std::string> expected = {
      "input_norm",    "q_down",         "q_norm", "kv_down",          "kv_norm",
      "tp_all_gather", "tp_all_gather",  "q_up",   "tp_all_gather",    "kv_up",
      "rope",          "core_attention", "proj",   "tp_reduce_scatter"};
  std::vector<std::string> actual = words(workload, layer_block(workload, 0).forward);
  actual.resize(expected.size());
  EXPECT_EQ(actual, expected);
  const std::vector<Item>& forward = layer_block(workload, 0).forward;
  EXPECT_EQ(find_op(workload, forward, "q_down").m, 1024);
  EXPECT_EQ(find_op(workload, forward, "q_down").n, 1536);
  EXPECT_EQ(find_op(workload, forward, "q_up").m, 4096);
  EXPECT_EQ(find_op(workload, forward, "q_up").n, 24576 / 4);
  std::vector<double> gathered;
  for (const Item& item : forward)
    if (op_of(workload, item).name == "tp_all_gather" && gathered.size() < 3)
      gathered.push_back(op_of(workload, item).comm_bytes);
  EXPECT_EQ(gathered, (std::vector<double>{2.0 * 4096 * 64, 2.0 * 4096 * 1536, 2.0 * 4096 * 512}));
}

TEST(LatentLayer, RecomputesUpProjectionsBeforeTheCore) {
  spec::Job job = job_of(deepseek_v3(), 4096);
  const double kept = layer_block(lower(job), 0).activations.kept;
  job.training.recompute = spec::Recompute::kSelective;
  job.training.recompute_modules = {"mla_up_proj"};
  const Workload workload = lower(job);
  const std::vector<Item>& backward = layer_block(workload, 0).backward;
  std::vector<std::string> recomputed;
  for (const Item& item : backward)
    if (op_of(workload, item).pass == Pass::kRecompute)
      recomputed.push_back(op_of(workload, item).name);
  EXPECT_EQ(recomputed, (std::vector<std::string>{"q_up", "kv_up", "rope"}));
  // q, k and v are not kept: 2 bytes * 4096 * 128 * (192 + 192 + 128).
  EXPECT_EQ(layer_block(workload, 0).activations.kept, kept - 2.0 * 4096 * 128 * 512);
}

TEST(LatentLayer, KeepsCompressedAndExpandedForms) {
  const ActivationShare share = layer_block(lower(job_of(deepseek_v3(), 4096)), 0).activations;
  // A token: 8h, 2 (1536 + 1536 + 576 + 512), 2 * 128 (2 * 192 + 2 * 128) + 4 * 128, 6 * 18432.
  EXPECT_EQ(share.kept, 4096.0 * (8 * 7168 + 2 * 4160 + 256 * 640 + 512 + 6 * 18432));
}

// One token's queries of 128 heads against 1,024 cached keys of 512 + 64, whose first 512 are the
// values: each is read once, and all heads share it.
TEST(LatentLayer, DecodesFromTheCompressedCache) {
  spec::Job job = job_of(deepseek_v3(), 1024);
  job.training.mode = spec::Mode::kDecode;
  job.training.generate_tokens = 1;
  job.training.micro_batch = job.training.global_batch = 2;
  const Workload workload = lower(job);
  const Operator& core = find_op(workload, layer_block(workload, 0).forward, "core_attention");
  EXPECT_EQ(core.bytes, 2 * (2.0 * 1024 * 576 + 2 * 128 * (576 + 512) + 4 * 128));
  EXPECT_EQ(core.flops, 2 * 2.0 * 128 * (576 + 512) * 1024);
  EXPECT_EQ(core.attention.kv_heads, 1);
}

// Under LoRA they are adapters' inputs: of all the tokens, though sequence parallelism splits them.
TEST(LatentLayer, AdaptersKeepTheirInputsGathered) {
  spec::Job job = job_of(deepseek_v3(), 4096, 2);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  job.training.lora_targets = {"qkv"};
  const Workload workload = lower(job);
  double kept = 0;
  for (const auto& [name, bytes] : layer_block(workload, 0).activations.parts)
    if (name == "latent_up_inputs") kept += bytes;
  EXPECT_EQ(kept, 2.0 * 4096 * (1536 + 512));
}

TEST(MtpModule, IsALayerWithItsOwnProjectionAndHead) {
  const Workload workload = lower(job_of(deepseek_v3(), 4096));
  ASSERT_EQ(workload.mtp_blocks.size(), 1u);
  const Block& mtp = workload.blocks[static_cast<size_t>(workload.mtp_blocks[0])];
  const std::vector<std::string> forward = words(workload, mtp.forward);
  const std::vector<std::string> first = {"embedding", "mtp_embedding_norm", "mtp_hidden_norm",
                                          "mtp_concatenate", "mtp_projection"};
  EXPECT_EQ(std::vector<std::string>(forward.begin(), forward.begin() + 5), first);
  const std::vector<std::string> layer = words(workload, layer_block(workload, 60).forward);
  EXPECT_EQ(std::vector<std::string>(forward.begin() + 5, forward.end() - 3), layer);
  EXPECT_EQ(std::vector<std::string>(forward.end() - 3, forward.end()),
            (std::vector<std::string>{"final_norm", "head", "cross_entropy"}));
  const Operator& projection = find_op(workload, mtp.forward, "mtp_projection");
  EXPECT_EQ(projection.flops, 2.0 * 4096 * 2 * 7168 * 7168);
  // Its head is the model's: of its own it has a layer, the projection and three norms.
  const Block& last = layer_block(workload, 60);
  EXPECT_EQ(mtp.parameters.dense, last.parameters.dense + 2.0 * 7168 * 7168 + 3 * 7168);
  EXPECT_EQ(mtp.parameters.expert, last.parameters.expert);
}

}  // namespace
}  // namespace ergometer::workload
