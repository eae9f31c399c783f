#include "workload/flops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using namespace test;

__extension__ typedef __int128 Int128;

Int128 sum_of(const Workload& workload, const std::vector<Item>& items) {
  Int128 sum = 0;
  for (const Item& item : items) {
    if (item.kind != Item::Kind::kOperator) continue;
    const Operator& op = op_of(workload, item);
    EXPECT_EQ(op.model_flops, std::floor(op.model_flops)) << op.name;
    if (op.pass == Pass::kRecompute) {
      EXPECT_EQ(op.model_flops, 0) << op.name;
    }
    sum += static_cast<Int128>(op.model_flops);
  }
  return sum;
}

/// Over all blocks of the model, micro batches and ranks of a stage.
double sum_over_operators(const spec::Job& job) {
  const Workload workload = lower(job);
  const auto block = [&](int index) {
    const Block& b = workload.blocks[static_cast<size_t>(index)];
    return sum_of(workload, b.forward) + sum_of(workload, b.backward) +
           sum_of(workload, b.recompute);
  };
  Int128 sum = block(workload.embedding_block) + block(workload.head_block);
  for (const int index : workload.layer_blocks) sum += block(index);
  for (const int index : workload.mtp_blocks) sum += block(index);
  return static_cast<double>(sum * job.micro_batches() * job.stage_ranks());
}

TEST(Flops, Llama3Of8BillionAt8192) {
  // flops.cpp's worked number: 8,578,400,256 products a token, forward and two backward, two FLOPs
  // each.
  spec::Job job = job_of(dense_model(32, 4096, 14336, 32, 8, 128256), 8192);
  EXPECT_EQ(model_flops_per_step(job).value(), 6.0 * 8192 * 8'578'400'256);
  job.training.attention_flops_full =
      true;  // the other half of the square: 33,554,432 products a layer
  EXPECT_EQ(model_flops_per_step(job).value(), 6.0 * 8192 * (8'578'400'256 + 32LL * 33'554'432));
}

TEST(Flops, MixtralCountsTwoOfEightExperts) {
  // Token: 32 * (4096*6144 + 4096*4096 + 2*3*4096*14336 + 4096*2048/2*2) + 4096*32000 products.
  const spec::Job job = job_of(mixtral_8x7b(), 2048);
  const int64_t products =
      32LL * (4096 * 6144 + 4096 * 4096 + 2 * 3 * 4096 * 14336 + 4096 * 2048) + 4096 * 32000;
  EXPECT_EQ(model_flops_per_step(job).value(), 6.0 * 2048 * static_cast<double>(products));
}

TEST(Flops, DeepSeekCountsLatentMatricesSharedExpertAndMtp) {
  const spec::Job job = job_of(deepseek_v3(), 4096);
  // Attention: 7168*1536 + 1536*24576 + 7168*576 + 512*32768 + 16384*7168 = 187,105,280 weights,
  // and the core 128 * (192 + 128) * 4096 / 2 products.
  const int64_t attention = 187'105'280 + 128LL * 320 * 4096 / 2;
  const int64_t dense = attention + 3LL * 7168 * 18432, moe = attention + 9LL * 3 * 7168 * 2048;
  const int64_t head = 7168LL * 129280;
  const int64_t mtp = moe + 2LL * 7168 * 7168 + head;
  const int64_t products = 3 * dense + 58 * moe + head + mtp;
  EXPECT_EQ(model_flops_per_step(job).value(), 6.0 * 4096 * static_cast<double>(products));
}

TEST(Flops, InferenceIsForwardOnly) {
  spec::Job job = job_of(dense_model(2, 256, 512, 4, 2, 1024), 128);
  job.training.mode = spec::Mode::kPrefill;
  const double forward = model_flops_per_step(job).value();
  job.training.mode = spec::Mode::kPretrain;
  EXPECT_EQ(model_flops_per_step(job).value(), 3 * forward);
  // Decode: one token against 128 + 64/2 cached ones; 2 layers of 256*512 + 256*256 + 3*256*512
  // weights and 256 * 160 * 2 products, and the head.
  job.training.mode = spec::Mode::kDecode;
  job.training.generate_tokens = 64;
  EXPECT_EQ(model_flops_per_step(job).value(),
            2.0 * (2 * (256 * 512 + 256 * 256 + 3 * 256 * 512 + 256 * 160 * 2) + 256 * 1024));
}

TEST(Flops, LoraLeavesOutFrozenWeightGradients) {
  spec::Job job = job_of(dense_model(1, 256, 512, 4, 4, 1024), 128);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 8;
  job.training.lora_targets = {"qkv"};
  // Two passes of 256*768 + 256*256 + 3*256*512 + 256*1024 weights, three of the core (256*128
  // products a token) and of the adapter 8 * (256 + 768).
  const double weights = 256 * 768 + 256 * 256 + 3 * 256 * 512 + 256 * 1024;
  EXPECT_EQ(model_flops_per_step(job).value(),
            128 * 2 * (2 * weights + 3 * 256 * 128 + 3 * 8 * 1024.0));
}

TEST(Flops, HardwareAddsWhatIsRecomputed) {
  spec::Job job = job_of(dense_model(4, 256, 512, 4, 4, 1024), 128);
  job.parallelism.pp = 2;
  const double model = model_flops_per_step(job).value();
  EXPECT_EQ(hardware_flops_per_step(job).value(), model);
  const double core = 2.0 * 128 * 256 * 128,
               layer = 2.0 * 128 * (4 * 256 * 256 + 3 * 256 * 512) + core;
  job.training.recompute = spec::Recompute::kFull;
  EXPECT_EQ(hardware_flops_per_step(job).value(), model + 4 * layer);
  job.training.recompute_method = spec::RecomputeMethod::kBlock;
  job.training.recompute_layers = 1;  // one layer in each of the two stages
  EXPECT_EQ(hardware_flops_per_step(job).value(), model + 2 * layer);
  job.training.recompute = spec::Recompute::kSelective;
  EXPECT_EQ(hardware_flops_per_step(job).value(), model + 4 * core);
  job.training.recompute_modules = {"mlp"};
  EXPECT_EQ(hardware_flops_per_step(job).value(), model + 4 * 2.0 * 128 * 3 * 256 * 512);
}

// A million tokens in one layer of 256 channels: attention's pairs are 2^40 / 2 and everything else
// a hundredth of them. Counted in full, they are twice those that a kernel computes that skips what
// the mask hides; an unfused one computes all, whatever window there is.
TEST(Flops, HardwareCountsWhatKernelsCompute) {
  constexpr int64_t kTokens = 1 << 20;
  spec::Job job = job_of(dense_model(1, 256, 512, 4, 4, 1024), kTokens);
  const double pair = 2.0 * 256 * 3 * 2 * static_cast<double>(job.training.global_batch);
  const double pairs = 0.5 * kTokens * kTokens;
  const double half = model_flops_per_step(job).value();
  EXPECT_EQ(hardware_flops_per_step(job).value(), half);
  job.training.attention_flops_full = true;
  EXPECT_EQ(model_flops_per_step(job).value(), half + pair * pairs);
  EXPECT_EQ(hardware_flops_per_step(job).value(), half);
  job.training.attention = spec::AttentionBackend::kUnfused;
  EXPECT_EQ(hardware_flops_per_step(job).value(), half + pair * pairs);
  job.model.layers[0].window = 4096;
  EXPECT_EQ(hardware_flops_per_step(job).value(), half + pair * pairs);
}

// A token that is decoded behind 8,192 others reads all of its chunk of 8,192; behind 12,288, half
// of the second one; 8,192 of them behind 8,192 ... 16,383, 8,192 once and then 1 to 8,191, 4,096.5
// on average. Four context-parallel ranks hold a quarter each, of chunks as of windows.
TEST(Flops, DecodedTokensReadTheirChunk) {
  spec::Job job = job_of(dense_model(1, 256, 512, 4, 4, 1024), 8192);
  job.training.mode = spec::Mode::kDecode;
  const spec::Layer chunks{.chunk = 8192}, window{.window = 4096};
  const auto keys = [&](const spec::Layer& layer, int64_t context, int64_t generated, int64_t cp) {
    job.training.seq_length = context;
    job.training.generate_tokens = generated;
    job.parallelism.cp = cp;
    return layer_window(shapes_of(job), layer);
  };
  EXPECT_EQ(keys(chunks, 4096, 0, 1), 4096);
  EXPECT_EQ(keys(chunks, 8192, 0, 1), 8192);
  EXPECT_EQ(keys(chunks, 12288, 0, 1), 4096);
  EXPECT_EQ(keys(chunks, 8192, 8192, 1), 4097);
  EXPECT_EQ(keys(chunks, 16384, 0, 4), 2048);
  EXPECT_EQ(keys(window, 16384, 0, 4), 1024);
  EXPECT_EQ(keys({}, 16384, 0, 4), 0);
}

// Every combination below changes which operators there are, none may change their sum.

std::vector<spec::Model> small_models() {
  spec::Model gqa = dense_model(2, 256, 512, 8, 2, 1000);
  spec::Model windows = dense_model(3, 256, 512, 8, 4, 1000);
  windows.layers[0].window = 64;
  windows.layers[1].window = 4096;
  windows.layers[2].chunk = 96;
  windows.qk_norm = true;
  windows.norms_per_layer = 4;
  spec::Model neox = gpt_model(2, 256, 8, 1000);
  neox.parallel_branches = true;
  spec::Model phi = neox;
  phi.norms_per_layer = 1;
  spec::Model narrow = gpt_model(2, 256, 8, 1000);
  narrow.embedding_dim = 128;
  spec::Model moe = dense_model(2, 256, 512, 8, 4, 1000);
  moe.experts = {.count = 8,
                 .top_k = 2,
                 .ffn = 128,
                 .shared_ffn = 256,
                 .shared_gate = true,
                 .expert_bias = true};
  moe.layers[1].moe = true;
  spec::Model latent = dense_model(2, 256, 512, 8, 8, 1000);
  latent.attention = spec::AttentionKind::kLatent;
  latent.latent = {64, 32, 16, 16, 32};
  latent.experts = {.count = 16, .top_k = 4, .ffn = 64, .shared_ffn = 64, .router_bias = true};
  latent.layers[1].moe = true;
  latent.mtp_layers = 2;
  spec::Model direct = latent;
  direct.latent.q_rank = 0;
  return {gqa, windows, gpt_model(2, 256, 8, 1000), neox, phi, narrow, moe, latent, direct};
}

// 512 tokens in a window of 64 make 512 * 64 - 64^2 / 2 = 30,720 pairs, in documents of 128 tokens
// 4 * 128^2 / 2 = 32,768; counted in full as many again, not 512^2 / 2 = 131,072 more. A pair takes
// two products of 256 channels (8 heads of 32), forward and two backward, two FLOPs each.
TEST(Flops, FullAttentionStaysWithinWindowsAndDocuments) {
  const auto other_side = [](const std::function<void(spec::Job&)>& change) {
    spec::Job job = job_of(dense_model(1, 256, 512, 8, 4, 1000), 512);
    change(job);
    const double half = model_flops_per_step(job).value();
    job.training.attention_flops_full = true;
    EXPECT_EQ(sum_over_operators(job), model_flops_per_step(job).value());
    const double flops_a_pair = 2.0 * 256 * 3 * 2 * static_cast<double>(job.training.global_batch);
    return (model_flops_per_step(job).value() - half) / flops_a_pair;
  };
  EXPECT_EQ(other_side([](spec::Job&) {}), 131'072);
  EXPECT_EQ(other_side([](spec::Job& job) { job.model.layers[0].window = 64; }), 30'720);
  EXPECT_EQ(other_side([](spec::Job& job) { job.training.packed_mean_length = 128; }), 32'768);
}

using Change = std::function<void(spec::Job&)>;

std::vector<Change> layouts() {
  const auto layout = [](int64_t tp, int64_t cp, int64_t ep, int64_t etp, bool sp) {
    return [=](spec::Job& job) {
      const bool moe = job.model.experts.count > 0;
      job.parallelism.tp = tp;
      job.parallelism.cp = cp;
      job.parallelism.dp = 8;
      job.parallelism.ep = moe ? ep : 1;
      job.parallelism.etp = etp;
      job.parallelism.sequence_parallel = sp;
      job.training.micro_batch = 2;
      job.training.global_batch = 64;
    };
  };
  return {layout(1, 1, 1, 0, false), layout(2, 1, 4, 1, true),  layout(4, 1, 2, 4, true),
          layout(8, 1, 8, 2, true),  layout(4, 1, 4, 1, false), layout(2, 1, 1, 2, false),
          layout(1, 2, 4, 1, false), layout(2, 4, 8, 2, true)};
}

std::vector<Change> variants() {
  using T = spec::Training;
  const auto training = [](std::function<void(T&)> change) {
    return [=](spec::Job& job) { change(job.training); };
  };
  const auto selective = [&](std::vector<std::string> modules) {
    return training(
        [=](T& t) { t.recompute = spec::Recompute::kSelective, t.recompute_modules = modules; });
  };
  return {
      [](spec::Job&) {},
      training([](T& t) { t.attention_flops_full = true; }),
      training([](T& t) { t.attention = spec::AttentionBackend::kUnfused; }),
      training([](T& t) { t.overlap_tp = true, t.moe_shared_overlap = true; }),
      training([](T& t) {
        t.precision = spec::Precision::kFp8, t.fp8_recipe = spec::Fp8Recipe::kMxfp8;
      }),
      training([](T& t) { t.moe_grouped_gemm = false, t.grad_accumulation_fusion = false; }),
      training([](T& t) {
        t.moe_capacity_factor = 1.25;
        t.moe_pad_to_capacity = true;
      }),
      training([](T& t) { t.moe_capacity_factor = 0.75; }),
      training([](T& t) { t.moe_dispatcher = spec::MoeDispatcher::kAllGather; }),
      training([](T& t) { t.recompute = spec::Recompute::kFull; }),
      selective({"core_attn", "mla_up_proj", "moe_act", "layernorm"}),
      selective({"mlp", "moe", "shared_experts"}),
      [](spec::Job& job) { job.parallelism.cp_comm = spec::CpComm::kAllGather; },
      [](spec::Job& job) { job.parallelism.cp_comm = spec::CpComm::kAllToAll; },
      training([](T& t) { t.mode = spec::Mode::kPrefill; }),
      training([](T& t) { t.mode = spec::Mode::kLora, t.lora_rank = 16; }),
      [](spec::Job& job) {
        job.training.mode = spec::Mode::kLora, job.training.lora_rank = 16;
        job.model.layers.front().adapters = job.model.layers.front().backward = false;
      },
      // Whose last layer is what a module of multi-token prediction is like.
      [](spec::Job& job) {
        job.training.mode = spec::Mode::kLora, job.training.lora_rank = 16;
        job.model.layers.back().adapters = false;
      },
      training([](T& t) {
        t.mode = spec::Mode::kLora, t.lora_rank = 16, t.lora_targets = {"qkv", "fc2"};
      }),
  };
}

TEST(Flops, OperatorsSumToTheFormulaExactly) {
  int jobs = 0;
  const auto models = small_models();
  const auto layout_list = layouts();
  const auto variant_list = variants();
  for (size_t m = 0; m < models.size(); ++m)
    for (size_t l = 0; l < layout_list.size(); ++l)
      for (size_t v = 0; v < variant_list.size(); ++v) {
        spec::Job job = job_of(models[m], 512);
        layout_list[l](job);
        variant_list[v](job);
        EXPECT_EQ(sum_over_operators(job), model_flops_per_step(job).value())
            << "model " << m << " layout " << l << " variant " << v;
        ++jobs;
      }
  EXPECT_EQ(jobs, 9 * 8 * 19);
}

// 512 tokens choose 2 of 8 experts: 1,024 rows, 128 an expert; three matrices of 256 x 128, forward
// and twice backward. Half of the room drops half of the rows; twice the room is
// filled up where experts are padded.
TEST(Flops, ACapacityDropsAndPads) {
  spec::Job job = job_of(small_models()[6], 512);
  const double experts =
      static_cast<double>(job.training.global_batch) * 3 * 2.0 * 1024 * 3 * 256 * 128;
  const double all = model_flops_per_step(job).value();
  EXPECT_EQ(hardware_flops_per_step(job).value(), all);
  for (const bool pads : {false, true}) {
    job.training.moe_pad_to_capacity = pads;
    job.training.moe_capacity_factor = 0.5;
    EXPECT_EQ(model_flops_per_step(job).value(), all - experts / 2);
    EXPECT_EQ(hardware_flops_per_step(job).value(), all - experts / 2);
    EXPECT_EQ(sum_over_operators(job), model_flops_per_step(job).value());
    job.training.moe_capacity_factor = 2;
    EXPECT_EQ(hardware_flops_per_step(job).value(), pads ? all + experts : all);
  }
  EXPECT_EQ(model_flops_per_step(job).value(), all);
  EXPECT_EQ(hardware_flops_per_step(job).value(), all + experts);
}

TEST(Flops, DecodeOperatorsSumToTheFormula) {
  for (const spec::Model& model : small_models())
    for (const int64_t tp : {1, 2, 8}) {
      spec::Job job = job_of(model, 512, tp, 4);
      job.parallelism.etp = 1;
      job.training.mode = spec::Mode::kDecode;
      job.training.generate_tokens = 32;
      job.training.micro_batch = 8;
      job.training.global_batch = 64;
      EXPECT_EQ(sum_over_operators(job), model_flops_per_step(job).value());
    }
}

TEST(Flops, RealModelsSumToTheFormula) {
  for (const spec::Model& model :
       {llama3_70b(), mixtral_8x7b(), deepseek_v3(), gpt_model(96, 12288, 96, 50257)})
    for (const int64_t tp : {1, 4}) {
      spec::Job job = job_of(model, 4096, tp, 16);
      job.parallelism.etp = 1;
      job.parallelism.ep = model.experts.count > 0 ? 8 : 1;
      job.training.global_batch = 1536 / 16 * 16;
      EXPECT_EQ(sum_over_operators(job), model_flops_per_step(job).value())
          << model.hidden << " tp " << tp;
    }
}

}  // namespace
}  // namespace ergometer::workload
