#include <gtest/gtest.h>

#include <algorithm>

#include "workload/parameters.h"
#include "workload/test_lines.h"

// What overlap, context parallelism, FP8, LoRA, selective recomputation and inference change.

namespace ergometer::workload {
namespace {

using namespace test;

std::vector<std::string> head_of(std::vector<std::string> list, size_t count) {
  list.resize(count);
  return list;
}

std::vector<double> comm_bytes(const Workload& workload, const std::vector<Item>& items,
                               const std::string& what) {
  std::vector<double> bytes;
  for (const Item& item : items)
    if (item.kind == Item::Kind::kOperator && word(workload, item) == what)
      bytes.push_back(op_of(workload, item).comm_bytes);
  return bytes;
}

// Llama 3 70B at TP 4: the residual stream is 2 * 8192 * 8192 bytes.
constexpr double kStreamBytes = 2.0 * 8192 * 8192;

TEST(TensorOverlap, ForwardPipelinesGatherAndScatter) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.overlap_tp = true;
  const Workload workload = lower(job);
  const std::vector<Item>& forward = layer_block(workload, 0).forward;
  EXPECT_EQ(head_of(words(workload, forward), 13),
            (std::vector<std::string>{
                "input_norm", "tp_all_gather", "tensor<compute", "tp_all_gather@tensor", "qkv",
                "compute<tensor", "rope", "core_attention", "tensor<compute",
                "tp_reduce_scatter@tensor", "proj", "compute<tensor", "tp_reduce_scatter"}));
  // One rank's chunk before the GEMM, three beside it; three quarters of the scatter beside, one
  // after.
  EXPECT_EQ(comm_bytes(workload, forward, "tp_all_gather"),
            (std::vector<double>(2, kStreamBytes / 4)));
  EXPECT_EQ(comm_bytes(workload, forward, "tp_all_gather@tensor"),
            (std::vector<double>(2, 3 * kStreamBytes / 4)));
  EXPECT_EQ(comm_bytes(workload, forward, "tp_reduce_scatter@tensor"),
            (std::vector<double>(2, 3 * kStreamBytes / 4)));
  EXPECT_EQ(comm_bytes(workload, forward, "tp_reduce_scatter"),
            (std::vector<double>(2, kStreamBytes / 4)));
}

TEST(TensorOverlap, BackwardPipelinesTheGatherOfDyToo) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.overlap_tp = true;
  const Workload workload = lower(job);
  EXPECT_EQ(head_of(words(workload, layer_block(workload, 0).backward), 6),
            (std::vector<std::string>{"tp_all_gather", "tensor<compute", "tp_all_gather@tensor",
                                      "fc2_dgrad", "compute<tensor", "fc2_wgrad"}));
}

// GQA model of 8 heads of 32 and 2 key-value heads, 4096 tokens, CP 4: 1024 tokens a rank; its keys
// and values are 2 bytes * 1024 * 2 heads * (32 + 32) = 262,144 bytes.
spec::Job context_job(spec::CpComm comm) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 2, 1024), 4096);
  job.parallelism.cp = 4;
  job.parallelism.cp_comm = comm;
  return job;
}
constexpr double kKeyValue = 262'144;

std::vector<Item> core_items(const Workload& workload, const std::vector<Item>& items,
                             const char* after) {
  std::vector<Item> part;
  for (const Item& item : items) {
    const std::string name = word(workload, item);
    const bool core = name.starts_with("cp_") || name.starts_with("core") ||
                      name.find("context") != std::string::npos;
    if (core) part.push_back(item);
    if (name == after && !part.empty()) break;
  }
  return part;
}

TEST(ContextRing, ForwardExchangesTheNextBlockBesideEveryStepButTheLast) {
  const Workload workload = lower(context_job(spec::CpComm::kP2p));
  const std::vector<Item> core = core_items(workload, layer_block(workload, 0).forward, "proj");
  EXPECT_EQ(words(workload, core),
            (std::vector<std::string>{"context<compute", "cp_send_recv@context", "core_attention",
                                      "compute<context", "cp_send_recv@context", "core_attention",
                                      "compute<context", "cp_send_recv@context", "core_attention",
                                      "compute<context", "core_attention", "compute<context"}));
  EXPECT_EQ(comm_bytes(workload, core, "cp_send_recv@context"),
            (std::vector<double>(3, kKeyValue)));
  // The diagonal block is 1024 x 1024 under the mask, the others half as many keys without it.
  const AttentionShape& diagonal = op_of(workload, core[2]).attention;
  const AttentionShape& other = op_of(workload, core[5]).attention;
  EXPECT_TRUE(diagonal.causal);
  EXPECT_EQ(diagonal.kv_length, 1024);
  EXPECT_FALSE(other.causal);
  EXPECT_EQ(other.kv_length, 512);
  // Four equal parts of 1024 * 4096 / 2 pairs and 1024 half tiles: 2 * 8 heads * 64 FLOPs each.
  EXPECT_EQ(op_of(workload, core[2]).flops, 2.0 * 8 * 64 * (1024 * 2048 + 1024 * 64) / 4);
}

TEST(ContextRing, BackwardSendsGradientsOneStepBehind) {
  const Workload workload = lower(context_job(spec::CpComm::kP2p));
  const std::vector<Item> core =
      core_items(workload, layer_block(workload, 0).backward, "qkv_dgrad");
  EXPECT_EQ(comm_bytes(workload, core, "cp_send_recv@context"),
            (std::vector<double>{kKeyValue, 2 * kKeyValue, 2 * kKeyValue, kKeyValue}));
  EXPECT_EQ(words(workload, core).size(), 4u * 4);  // each step: join, exchange, attention, join
}

TEST(ContextAllGather, GathersTwiceAndScattersOnce) {
  const Workload workload = lower(context_job(spec::CpComm::kAllGather));
  expect_lines(workload, core_items(workload, layer_block(workload, 0).forward, "proj"),
               {memory("cp_all_gather", 4 * kKeyValue),
                attention("core_attention", 2.0 * 8 * 64 * (1024 * 2048 + 1024 * 64),
                          // q and o of 1024 x 8 x 32, all 4096 keys and values of 2 heads, LSE
                          2.0 * (2 * 1024 * 256 + 2 * 4096 * 64) + 4 * 1024 * 8)});
  const std::vector<std::string> backward =
      words(workload, core_items(workload, layer_block(workload, 0).backward, "qkv_dgrad"));
  EXPECT_EQ(backward, (std::vector<std::string>{"cp_all_gather", "core_attention_backward",
                                                "cp_reduce_scatter"}));
}

TEST(ContextAllToAll, DividesHeadsInsideTheCore) {
  spec::Job job = context_job(spec::CpComm::kAllToAll);
  job.parallelism.cp = 2;
  const Workload workload = lower(job);
  // 2048 tokens: q 2048 x 256, k and v 2048 x 64 each, o 2048 x 256.
  const std::vector<Item> core = core_items(workload, layer_block(workload, 0).forward, "proj");
  EXPECT_EQ(comm_bytes(workload, core, "cp_all_to_all"),
            (std::vector<double>{2.0 * 2048 * (256 + 128), 2.0 * 2048 * 256}));
  const AttentionShape& shape = op_of(workload, core[1]).attention;
  EXPECT_EQ(shape.heads, 4);
  EXPECT_EQ(shape.kv_heads, 1);
  EXPECT_EQ(shape.q_length, 4096);
}

TEST(Window, CountsOnlyWhatItSees) {
  spec::Model model = dense_model(2, 256, 512, 8, 2, 1024);
  model.layers[0].window = 512;
  const Workload workload = lower(job_of(model, 4096));
  ASSERT_NE(workload.layer_blocks[0], workload.layer_blocks[1]);
  // 4096 * 512 - 512^2 / 2 = 1,966,080 pairs; executed with a half tile of 64 on the diagonal and
  // at the far edge.
  const Operator& core = find_op(workload, layer_block(workload, 0).forward, "core_attention");
  EXPECT_EQ(core.model_flops, 2.0 * 8 * 64 * 1'966'080);
  EXPECT_EQ(core.flops, 2.0 * 8 * 64 * (1'966'080 + 2 * 4096 * 64));
  EXPECT_EQ(find_op(workload, layer_block(workload, 1).forward, "core_attention").model_flops,
            2.0 * 8 * 64 * 4096 * 2048);
}

TEST(UnfusedAttention, ComputesTheWholeSquareInSeparateKernels) {
  spec::Job job = job_of(gpt_model(1, 256, 8, 1024), 512);
  job.training.attention = spec::AttentionBackend::kUnfused;
  const Workload workload = lower(job);
  // 8 * 512^2 = 2,097,152 scores; dropout reads and writes them and a byte of mask each.
  const double scores = 2'097'152, qkv = 512 * 256;
  std::vector<Item> core;
  for (const Item& item : layer_block(workload, 0).forward) {
    const std::string name = word(workload, item);
    if (name == "softmax" || (name.starts_with("attention_") && name != "attention_residual_add"))
      core.push_back(item);
  }
  expect_lines(workload, core,
               {attention("attention_scores", 2 * scores * 32, 2 * (2 * qkv + scores)),
                memory("softmax", 4 * scores), memory("attention_dropout", 5 * scores),
                attention("attention_values", 2 * scores * 32, 2 * (2 * qkv + scores))});
  // Kept: softmax, mask, dropped copy: 5 bytes a score.
  for (const auto& [name, bytes] : layer_block(workload, 0).activations.parts)
    if (name == "attention_scores") {
      EXPECT_EQ(bytes, 5 * scores);
    }
}

TEST(Fp8, CastsOperandsAndHalvesTheGather) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.precision = spec::Precision::kFp8;
  const Workload workload = lower(job);
  const std::vector<Item>& forward = layer_block(workload, 0).forward;
  // Delayed scaling on Hopper: the norm writes FP8 twice (row and transposed), casts read 2 and
  // write 2 bytes.
  EXPECT_EQ(find_op(workload, forward, "input_norm").bytes, 4.0 * 2048 * 8192);
  EXPECT_EQ(find_op(workload, forward, "tp_all_gather").comm_bytes, kStreamBytes / 2);
  EXPECT_EQ(find_op(workload, forward, "proj_fp8_cast").bytes, 4.0 * 8192 * 2048);
  EXPECT_EQ(find_op(workload, forward, "qkv_fp8_cast").name, "");
  const Operator& qkv = find_op(workload, forward, "qkv");
  EXPECT_EQ(qkv.precision, spec::Precision::kFp8);
  EXPECT_EQ(qkv.bytes, 8192.0 * 8192 + 2560.0 * 8192 + 2 * 8192.0 * 2560);
  EXPECT_EQ(find_op(workload, forward, "tp_reduce_scatter").comm_bytes, kStreamBytes);
  EXPECT_EQ(find_op(workload, layer_block(workload, 0).backward, "fc1_fp8_cast").bytes,
            4.0 * 8192 * 14336);
  const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
  EXPECT_EQ(find_op(workload, head.forward, "head").precision, spec::Precision::kBf16);
}

TEST(Fp8, RecipesDifferInTheBytesOfACast) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128);
  job.training.precision = spec::Precision::kFp8;
  const auto cast_bytes = [&](spec::Fp8Recipe recipe, double any_layout) {
    job.training.fp8_recipe = recipe;
    job.cluster.node.gpu.parameters.set("gemm.fp8_any_layout", {any_layout, "", "", {}});
    const Workload workload = lower(job);
    return find_op(workload, layer_block(workload, 0).forward, "fc2_fp8_cast").bytes /
           (128.0 * 512);
  };
  EXPECT_EQ(cast_bytes(spec::Fp8Recipe::kDelayed, 0), 4);
  EXPECT_EQ(cast_bytes(spec::Fp8Recipe::kDelayed, 1), 3);
  EXPECT_EQ(cast_bytes(spec::Fp8Recipe::kTensorwise, 0), 6);
  EXPECT_EQ(cast_bytes(spec::Fp8Recipe::kBlockwise, 0), 4.0625);
  EXPECT_EQ(cast_bytes(spec::Fp8Recipe::kMxfp8, 1), 4.0625);
}

// A scale a row: 16 bit is gathered over 2 ranks, and all 128 rows that arrive are cast; for the
// gradient of weights both operands again, along their columns. Kept is what came, in 16 bit.
TEST(Fp8, AScaleARowIsCastBothWays) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 2);
  job.training.precision = spec::Precision::kFp8;
  job.training.fp8_recipe = spec::Fp8Recipe::kRowwise;
  const Workload workload = lower(job);
  const Block& layer = layer_block(workload, 0);
  EXPECT_EQ(comm_bytes(workload, layer.forward, "tp_all_gather"),
            std::vector<double>(2, 2.0 * 128 * 256));
  EXPECT_EQ(find_op(workload, layer.forward, "fc1_fp8_cast").bytes, 3.0 * 128 * 256);
  const Operator& columns = find_op(workload, layer.backward, "fc1_fp8_column_cast");
  EXPECT_EQ(columns.bytes, 6.4 * 128 * (256 + 512));
  EXPECT_EQ(columns.pass, Pass::kWeight);
  EXPECT_EQ(columns.kernels, 4);
  for (const auto& [name, bytes] : layer.activations.parts)
    if (name == "fc1_input") {
      EXPECT_EQ(bytes, 2 * 64 * 256);
    }
}

TEST(Accumulation, UnfusedAddsAKernelAndBf16GradientsHalveIt) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128);
  const double matrix = 512.0 * 256, operands = 2 * 128.0 * (512 + 256);
  const auto wgrad = [&] {
    const Workload workload = lower(job);
    return find_op(workload, layer_block(workload, 0).backward, "fc2_wgrad").bytes;
  };
  EXPECT_EQ(wgrad(), operands + 8 * matrix);
  job.training.gradients_fp32 = false;
  EXPECT_EQ(wgrad(), operands + 4 * matrix);
  job.training.gradients_fp32 = true;
  job.training.grad_accumulation_fusion = false;
  EXPECT_EQ(wgrad(), operands + 2 * matrix);
  const Workload workload = lower(job);
  const Operator& add = find_op(workload, layer_block(workload, 0).backward, "fc2_grad_accumulate");
  EXPECT_EQ(add.bytes, 10 * matrix);  // reads 2 + 4, writes 4
  EXPECT_EQ(add.pass, Pass::kWeight);
}

// Half of 512 x 256: read in 0.5625 bytes, written in two, before the product of either pass.
TEST(Lora, WeightsOfFourBitsAreUnpackedBeforeEveryProduct) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 2);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  job.training.quantize = spec::FrozenWeights::kNf4;
  const Workload workload = lower(job);
  const Block& layer = layer_block(workload, 0);
  const Operator& forward = find_op(workload, layer.forward, "fc2_unpack");
  EXPECT_EQ(forward.bytes, (0.5625 + 2) * 256 * 256);
  EXPECT_EQ(forward.kind, OperatorKind::kMemory);
  EXPECT_EQ(find_op(workload, layer.backward, "fc2_unpack").pass, Pass::kBackward);
  for (const Operator& op : workload.operators) {
    EXPECT_NE(op.name, "head_unpack");  // stays in 16 bit
    EXPECT_EQ(op.name.find("_lora_a_unpack"), op.name.npos);
  }
}

// Half of 512 x 256: a cast reads a byte and writes two, a product with scales reads and writes
// two.
TEST(Lora, WeightsOfEightBitsAreCastAndScaledBeforeEveryProduct) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 2);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  job.training.quantize = spec::FrozenWeights::kInt8;
  const Workload workload = lower(job);
  const Operator& op = find_op(workload, layer_block(workload, 0).backward, "fc2_dequantize");
  EXPECT_EQ(op.bytes, (1 + 2 + 2 + 2) * 256 * 256);
  EXPECT_EQ(op.kernels, 2);
}

TEST(Lora, FreezesTheBaseAndTrainsAdapters) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 2);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  job.training.lora_targets = {"qkv", "proj"};
  const Workload workload = lower(job);
  const Block& layer = layer_block(workload, 0);
  std::vector<std::string> wgrads;
  for (const Item& item : layer.backward)
    if (item.kind == Item::Kind::kOperator && op_of(workload, item).name.ends_with("wgrad"))
      wgrads.push_back(op_of(workload, item).name);
  EXPECT_EQ(wgrads, (std::vector<std::string>{"proj_lora_b_wgrad", "proj_lora_a_wgrad",
                                              "qkv_lora_b_wgrad", "qkv_lora_a_wgrad"}));
  // qkv: 256 x 16 whole and 16 x 384; proj: 128 x 16 and 16 x 256 whole.
  EXPECT_EQ(layer.parameters.trainable_dense, 16.0 * (256 + 384 + 128 + 256));
  EXPECT_EQ(layer.parameters.dense - layer.parameters.trainable_dense,
            256.0 * 384 + 128 * 256 + 3 * 256 * 256 + 2 * 256);
  // The frozen MLP needs no second gather of its input, the adapted QKV does.
  EXPECT_EQ(comm_bytes(workload, layer.backward, "tp_all_gather@tensor").size(), 1u);
  EXPECT_TRUE(workload.blocks[static_cast<size_t>(workload.embedding_block)].backward.empty());
}

TEST(Selective, EachModuleRepeatsItsOwnForward) {
  const auto recomputed = [](spec::Model model, std::vector<std::string> modules) {
    spec::Job job = job_of(std::move(model), 256, 2, 2);
    job.parallelism.etp = 1;
    job.training.recompute = spec::Recompute::kSelective;
    job.training.recompute_modules = std::move(modules);
    const Workload workload = lower(job);
    std::vector<std::string> names;
    for (const Item& item : layer_block(workload, 0).backward)
      if (item.kind == Item::Kind::kOperator && op_of(workload, item).pass == Pass::kRecompute)
        names.push_back(op_of(workload, item).name);
    return names;
  };
  const spec::Model dense = dense_model(1, 256, 512, 8, 8, 1024);
  using Names = std::vector<std::string>;
  EXPECT_EQ(recomputed(dense, {}), Names{"core_attention"});  // Megatron's default
  EXPECT_EQ(recomputed(dense, {"core_attn"}), Names{"core_attention"});
  EXPECT_EQ(recomputed(dense, {"layernorm"}), (Names{"mlp_norm", "input_norm"}));
  EXPECT_EQ(recomputed(dense, {"mlp"}),
            (Names{"tp_all_gather", "fc1", "activation", "fc2", "tp_reduce_scatter"}));
  spec::Model moe = dense;
  moe.experts = {.count = 4, .top_k = 2, .ffn = 128, .shared_ffn = 256};
  moe.layers[0].moe = true;
  EXPECT_EQ(recomputed(moe, {"mlp"}), Names{});
  EXPECT_EQ(recomputed(moe, {"moe_act"}), Names{"expert_activation"});
  const Names shared = {"tp_all_gather", "shared_fc1", "shared_activation", "shared_fc2",
                        "tp_reduce_scatter"};
  EXPECT_EQ(recomputed(moe, {"shared_experts"}), shared);
  const Names all =
      recomputed(moe, {"moe", "shared_experts", "moe_act"});  // the larger holds the smaller
  EXPECT_EQ(Names(all.begin(), all.begin() + 5), shared);
  EXPECT_EQ(std::count(all.begin(), all.end(), "shared_fc1"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "expert_activation"), 1);
}

TEST(Decode, ReadsTheCacheForOneToken) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 2, 1024), 1000);
  job.training.mode = spec::Mode::kDecode;
  job.training.generate_tokens = 48;
  job.training.micro_batch = job.training.global_batch = 16;
  const Workload workload = lower(job);
  const std::vector<Item>& forward = layer_block(workload, 0).forward;
  EXPECT_EQ(find_op(workload, forward, "qkv").m, 16);
  // 16 sequences of 1000 + 24 cached tokens, 2 heads of 32, keys and values; q and o of 256, LSE of
  // 8 heads.
  const Operator& core = find_op(workload, forward, "core_attention");
  EXPECT_EQ(core.bytes, 16 * (2.0 * 2 * 1024 * 64 + 2 * 2 * 256 + 4 * 8));
  EXPECT_EQ(core.flops, 16 * 2.0 * 8 * 64 * 1024);
  EXPECT_EQ(core.attention.q_length, 1);
  EXPECT_TRUE(layer_block(workload, 0).backward.empty());
  EXPECT_EQ(layer_block(workload, 0).activations.kept, 0);
  const Block& head = workload.blocks[static_cast<size_t>(workload.head_block)];
  EXPECT_EQ(words(workload, head.forward), (std::vector<std::string>{"final_norm", "head"}));
}

TEST(ParallelBranches, ShareOneReduction) {
  spec::Model phi = gpt_model(1, 256, 8, 1024);
  phi.parallel_branches = true;
  phi.norms_per_layer = 1;
  phi.dropout = 0;
  const Workload workload = lower(job_of(phi, 256, 2));
  EXPECT_EQ(words(workload, layer_block(workload, 0).forward),
            (std::vector<std::string>{"input_norm", "tp_all_gather", "qkv", "core_attention",
                                      "proj", "fc1", "activation", "fc2", "branch_add",
                                      "tp_reduce_scatter", "residual_add"}));
  const std::vector<std::string> backward = words(workload, layer_block(workload, 0).backward);
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "tp_all_gather"), 1);
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "tp_all_gather@tensor"), 1);
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "tp_reduce_scatter@tensor"), 1);
}

TEST(Parameters, BlocksAddUpToTheModelTimesItsRanks) {
  // On TP 1 without experts divided, what the blocks hold is the model with its vocabulary padded.
  for (spec::Model model :
       {llama3_70b(), mixtral_8x7b(), deepseek_v3(), gpt_model(4, 256, 8, 1000)}) {
    spec::Job job = job_of(model, 2048);
    job.training.vocab_multiple = 1;
    const Workload workload = lower(job);
    double sum = 0;
    const auto add = [&](int index) {
      const ParameterShare& share = workload.blocks[static_cast<size_t>(index)].parameters;
      sum += share.dense + share.expert;
    };
    add(workload.embedding_block);
    for (const int index : workload.layer_blocks) add(index);
    add(workload.head_block);
    EXPECT_EQ(sum, static_cast<double>(count_parameters(model).total));
  }
}

// Llama 3 70B's head at TP 2: half of 128256 x 8192 and the norm. Of labels a stage keeps two
// tensors of 8192 / 2 tokens x 8192 in 16 bit, its outputs and they: the loss reads both, its
// backward writes a third.
TEST(StagesTrainedApart, LearnFromAHeadOrFromLabels) {
  spec::Job job = job_of(llama3_70b(), 8192, 2);
  job.parallelism.pp = 4;
  EXPECT_EQ(lower(job).stage_loss_block, -1);
  job.parallelism.stage_training = spec::StageTraining::kLocalHeads;
  const Workload heads = lower(job);
  EXPECT_EQ(heads.stage_loss_block, heads.head_block);
  EXPECT_EQ(heads.blocks[static_cast<size_t>(heads.stage_loss_block)].parameters.dense,
            128256.0 / 2 * 8192 + 8192);
  job.parallelism.stage_training = spec::StageTraining::kSyntheticLabels;
  const Workload labels = lower(job);
  const Block& loss = labels.blocks[static_cast<size_t>(labels.stage_loss_block)];
  constexpr double kTensor = 2.0 * 8192 / 2 * 8192;
  EXPECT_EQ(loss.parameters.dense, 0);
  EXPECT_EQ(loss.activations.kept, 2 * kTensor);
  EXPECT_EQ(words(labels, loss.forward), (std::vector<std::string>{"label_loss"}));
  EXPECT_EQ(op_of(labels, loss.forward.front()).bytes, 2 * kTensor);
  EXPECT_EQ(words(labels, loss.backward), (std::vector<std::string>{"label_loss_backward"}));
  EXPECT_EQ(op_of(labels, loss.backward.front()).bytes, 3 * kTensor);
}

TEST(Optimizer, ReadsAndWritesThirtyBytesAParameter) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  const ParameterShare share{4e6, 0, 4e6, 0};
  EXPECT_EQ(optimizer_step(job, share).bytes, 30 * 1e6);  // sharded over 4
  EXPECT_EQ(gradient_norm(job, share).bytes, 4 * 1e6);
  EXPECT_EQ(zero_gradients(job, share).bytes, 4 * 4e6);
  job.parallelism.zero_stage = 0;
  EXPECT_EQ(optimizer_step(job, share).bytes, 30 * 4e6);
  job.training.gradients_fp32 = false;  // read 2, write and read an FP32 copy
  EXPECT_EQ(optimizer_step(job, share).bytes, 36 * 4e6);
}

// Of 4 M parameters 3 M multiply in FP8, a quarter of them on the rank: read in 16 bit and written
// twice in 8 where parameters stay in 16 bit; written once in 8 instead of in 16 where they are
// kept in FP8. Embeddings, norms and the output layer are the other million.
TEST(Optimizer, QuantizesWhatMultipliesInFp8) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  job.training.precision = spec::Precision::kFp8;
  ParameterShare share{4e6, 0, 4e6, 0};
  share.narrow_dense = share.trainable_narrow_dense = 3e6;
  EXPECT_EQ(optimizer_step(job, share).bytes, 30 * 1e6 + 4 * 3e6);
  job.training.fp8_parameters = true;
  EXPECT_EQ(optimizer_step(job, share).bytes, 30 * 1e6 - 3e6 / 4);
}

// Two moments 16, the gradient 4, both halves of the parameter 8.
TEST(Optimizer, PutsMastersTogetherFromHalves) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  job.training.master_remainders = true;
  EXPECT_EQ(optimizer_step(job, {4e6, 0, 4e6, 0}).bytes, 28 * 1e6);
}

TEST(Optimizer, ShardsInFp32AreTheMaster) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  job.parallelism.fsdp = true;
  const ParameterShare share{4e6, 0, 4e6, 0};
  EXPECT_EQ(optimizer_step(job, share).bytes, 30 * 1e6);
  job.software.parameters.set("fsdp.shard_copies", {2, "", "", {}});
  EXPECT_EQ(optimizer_step(job, share).bytes, 28 * 1e6);  // no parameter in 16 bit is written
}

// Gradient 2, parameter read and written 4, two moments of 2 bytes read and written 8.
TEST(Optimizer, WithoutAMasterTheParameterIsUpdatedItself) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  const ParameterShare share{4e6, 0, 4e6, 0};
  job.training.master_weights = job.training.gradients_fp32 = false;
  job.training.moments = spec::Moments::kBf16;
  EXPECT_EQ(optimizer_step(job, share).bytes, 14 * 1e6);
  job.training.moments = spec::Moments::k8Bit;
  EXPECT_EQ(optimizer_step(job, share).bytes, (6 + 4 * (1 + 4 / 256.0)) * 1e6);
}

TEST(Optimizer, ClippingIsAKernelOfItsOwnWhereTheSoftwareSaysSo) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  const ParameterShare share{4e6, 0, 4e6, 0};
  EXPECT_EQ(clip_gradients(job, share).bytes, 0);
  job.software.parameters.set("optimizer.clip_copies", {2, "", "", {}});
  EXPECT_EQ(clip_gradients(job, share).bytes, 8 * 1e6);  // 4 read, 4 written, of a quarter
}

TEST(Optimizer, OnTheHostTheStepWaitsForItsProcessors) {
  spec::Job job = job_of(dense_model(1, 256, 512, 8, 8, 1024), 128, 1, 4);
  job.cluster.node.gpus = 2;
  job.training.optimizer_offload = true;
  // 4 M parameters over 4 ranks, two of them on a node, at the default of 5 G parameters a second.
  const Operator step = optimizer_step(job, {4e6, 0, 4e6, 0});
  EXPECT_EQ(step.bytes, 0);
  EXPECT_DOUBLE_EQ(step.host_wait_s, 2e6 / 5e9);
}

}  // namespace
}  // namespace ergometer::workload
