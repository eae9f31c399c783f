#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

workload::Operator attention_operator(int64_t heads, int64_t tokens, int64_t qk_dim, int64_t v_dim,
                                      bool backward = false) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kAttention;
  op.name = "core_attention";
  op.attention = {1, heads, heads, tokens, tokens, qk_dim, v_dim, true, backward, true};
  op.flops = static_cast<double>(heads * tokens * tokens * (qk_dim + v_dim)) * (backward ? 2.5 : 1);
  op.bytes = 1;
  return op;
}

AttentionParameters simple() {
  AttentionParameters attention;
  attention.forward = 0.5;
  attention.backward = 0.25;
  attention.tile_ramp = 0.64;
  attention.backward_tile_ramp = 0;
  attention.latent_forward = 0.8;
  attention.latent_backward = 0.6;
  attention.small_head = 0.7;
  return attention;
}

Price priced(const workload::Operator& op) {
  return price_attention(round_device(), simple(), ideal_gemm(), MemoryParameters{0.5, 1, 1, 3e-6},
                         op);
}

// A software whose kernels are 1.2 times as fast; half of it under a mask.
TEST(Attention, SoftwareChangesItsRate) {
  AttentionParameters attention = simple();
  attention.rate = 1.2, attention.masked = 0.5;
  const auto seconds = [&](const workload::Operator& op) {
    return price_attention(round_device(), attention, ideal_gemm(),
                           MemoryParameters{0.5, 1, 1, 3e-6}, op)
        .clocked_s;
  };
  workload::Operator op = attention_operator(2, 4096, 128, 128);
  EXPECT_NEAR(seconds(op), op.flops / 30e12, 1e-15);
  op.attention.masked = true;
  EXPECT_NEAR(seconds(op), op.flops / 15e12, 1e-15);
}

// Half the rate of the best library; its FP8 kernels, 1.5 times the best, it does not have, so that
// another's run.
TEST(Attention, Fp8KernelsAreOfTheBestGeneration) {
  AttentionParameters attention = simple();
  attention.generation = 0.5, attention.fp8 = 1.5;
  workload::Operator op = attention_operator(2, 4096, 128, 128);
  EXPECT_DOUBLE_EQ(library_factor(attention, op), 0.5);
  op.precision = spec::Precision::kFp8;
  EXPECT_DOUBLE_EQ(library_factor(attention, op), 1.5);
}

// FP32 operands multiply at FP32's peak, half of the 16-bit one here.
TEST(Attention, SinglePrecisionHasItsOwnPeak) {
  workload::Operator op = attention_operator(2, 4096, 128, 128);
  const double narrow = priced(op).clocked_s;
  op.precision = spec::Precision::kFp32;
  EXPECT_DOUBLE_EQ(priced(op).clocked_s, 2 * narrow);
  op.precision = spec::Precision::kFp8;
  EXPECT_DOUBLE_EQ(priced(op).clocked_s, narrow);
}

TEST(Attention, WorkTilesRampTheForwardRate) {
  // 2 heads x 4096 / 128 = 64 tiles against 0.64 * 100 SMs: half of 0.5 * 100 TFLOP/s.
  const workload::Operator op = attention_operator(2, 4096, 128, 128);
  EXPECT_NEAR(priced(op).clocked_s, op.flops / 25e12, 1e-15);
  const workload::Operator back = attention_operator(2, 4096, 128, 128, true);
  EXPECT_NEAR(priced(back).clocked_s, back.flops / 25e12, 1e-15);
  EXPECT_EQ(priced(op).limit, Limit::kCompute);
}

TEST(Attention, TheKeysThatAQueryMeetsRampTheRate) {
  // A causal call of 4096 tokens: 2048 keys on average; as many again for every tile's ends.
  AttentionParameters attention = simple();
  attention.length_ramp = 2048;
  const auto clocked = [&](const workload::Operator& op) {
    return price_attention(round_device(), attention, ideal_gemm(),
                           MemoryParameters{0.5, 1, 1, 3e-6}, op)
        .clocked_s;
  };
  const workload::Operator op = attention_operator(2, 4096, 128, 128);
  EXPECT_NEAR(visited_keys(op), 2048, 1e-9);
  EXPECT_NEAR(clocked(op), 2 * op.flops / 25e12, 1e-15);
  const workload::Operator back = attention_operator(2, 4096, 128, 128, true);
  EXPECT_NEAR(visited_keys(back), 2048, 1e-9);
  EXPECT_NEAR(clocked(back), 2 * back.flops / 25e12, 1e-15);
  // Nothing to do takes no time.
  workload::Operator nothing = op;
  nothing.flops = 0;
  EXPECT_EQ(clocked(nothing), 0);
  // Packed sequences: a quarter of the pairs, at 512 keys a fifth of the rate.
  workload::Operator packed = op;
  packed.flops /= 4;
  EXPECT_NEAR(clocked(packed), packed.flops / (50e12 * 0.5 * 512 / 2560), 1e-15);
}

TEST(Attention, HeadWidthsScaleTheRate) {
  const auto relative = [](int64_t qk, int64_t v, bool backward) {
    const workload::Operator op = attention_operator(2, 4096, qk, v, backward);
    return op.flops / 25e12 / priced(op).clocked_s;
  };
  EXPECT_NEAR(relative(64, 64, false), 0.7, 1e-12);
  EXPECT_NEAR(relative(32, 32, false), 0.7, 1e-12);
  EXPECT_NEAR(relative(96, 96, false), 0.85, 1e-12);  // half way between 64 and 128
  EXPECT_NEAR(relative(256, 256, false), 1, 1e-12);
  EXPECT_NEAR(relative(192, 128, false), 0.8, 1e-12);
  EXPECT_NEAR(relative(192, 128, true), 0.6, 1e-12);
}

TEST(Attention, SinksSlowWhatTheSoftwareSays) {
  AttentionParameters attention = simple();
  attention.sinks = 0.5;
  workload::Operator op = attention_operator(2, 4096, 128, 128);
  op.attention.sinks = true;
  const Price price = price_attention(round_device(), attention, ideal_gemm(),
                                      MemoryParameters{0.5, 1, 1, 3e-6}, op);
  EXPECT_NEAR(price.clocked_s, 2 * priced(attention_operator(2, 4096, 128, 128)).clocked_s, 1e-15);
}

TEST(Attention, DecodingReadsTheCache) {
  workload::Operator op = attention_operator(8, 1, 128, 128);
  op.attention.kv_length = 100000;
  op.bytes = 100e6;  // 200 us at half of 1 TB/s, and 3 us ramp
  const Price price = priced(op);
  EXPECT_EQ(price.clocked_s, 0);
  EXPECT_NEAR(price.fixed_s, 203e-6, 1e-12);
  EXPECT_EQ(price.limit, Limit::kMemory);
}

TEST(Attention, AShortWindowIsBoundByItsBytes) {
  workload::Operator op = attention_operator(8, 8192, 128, 128);
  op.flops = 1e9;  // 20 us of work at most
  op.bytes = 50e6;
  EXPECT_EQ(priced(op).limit, Limit::kMemory);
  EXPECT_NEAR(priced(op).fixed_s, 100e-6, 1e-12);
}

TEST(Attention, UnfusedProductsAreBatchedGemms) {
  // 10 heads, 2560 x 1280 x 128: 1000 tiles, ten full waves at peak. k_ramp 128 halves the score
  // product only.
  workload::Operator scores = attention_operator(10, 2560, 128, 128);
  scores.name = "attention_scores";
  scores.attention.fused = false;
  scores.attention.kv_length = 1280;
  scores.flops = 2 * 10 * 2560.0 * 1280 * 128;
  GemmParameters gemm = ideal_gemm();
  gemm.k_ramp = 128;
  const auto price = [&](const workload::Operator& op) {
    return price_attention(round_device(), simple(), gemm, MemoryParameters{1, 1, 1, 0}, op);
  };
  EXPECT_NEAR(price(scores).clocked_s, 2 * scores.flops / 100e12, 1e-12);
  workload::Operator values = scores;
  values.name =
      "attention_values";  // [2560, 1280] x [1280, 128]: 10 x 10 tiles of 256 x 128, one full wave
  EXPECT_NEAR(price(values).clocked_s, values.flops / 100e12 * (1280.0 + 128) / 1280, 1e-12);
  scores.bytes = 1e9;
  EXPECT_EQ(price(scores).limit, Limit::kMemory);
  EXPECT_NEAR(price(scores).fixed_s, 1e-3, 1e-12);
  // Half the FLOPs at the same shape, as in a ring step, are half the time.
  values.flops /= 2;
  EXPECT_NEAR(price(values).clocked_s, values.flops / 100e12 * 1.1, 1e-12);
}

TEST(Attention, UnalignedHeadsKeepUnfusedProductsOffTheTensorCores) {
  // 10 heads, 2560 x 1280 x 128 fill ten waves; at the width of 132, which 8 does not divide, FP32
  // units do 1/16 of 100 TFLOP/s, and the ramp of 64 elements of k is worth 4.
  workload::Operator scores = attention_operator(10, 2560, 128, 128);
  scores.name = "attention_scores";
  scores.attention.fused = false;
  scores.attention.kv_length = 1280;
  GemmParameters gemm = ideal_gemm();
  gemm.k_ramp = 64;
  const auto seconds = [&](int64_t width) {
    scores.attention.qk_dim = scores.attention.v_dim = width;
    scores.flops = 2 * 10 * 2560.0 * 1280 * static_cast<double>(width);
    return price_attention(round_device(), simple(), gemm, MemoryParameters{1, 1, 1, 0}, scores)
        .clocked_s;
  };
  EXPECT_NEAR(seconds(128), 2 * 10 * 2560.0 * 1280 * 128 / 100e12 * 1.5, 1e-12);
  EXPECT_NEAR(seconds(132), 2 * 10 * 2560.0 * 1280 * 132 / 6.25e12 * (136.0 / 132), 1e-12);
}

TEST(Attention, UnfusedBackwardIsTwoProductsEach) {
  workload::Operator scores = attention_operator(10, 2560, 128, 128, true);
  scores.attention.fused = false;
  scores.kernels = 2;
  scores.flops = 2 * 2 * 10 * 2560.0 * 2560 * 128;
  GemmParameters gemm = ideal_gemm();
  gemm.k_ramp = 128;
  const auto price = [&](const char* name) {
    scores.name = name;
    return price_attention(round_device(), simple(), gemm, MemoryParameters{1, 1, 1, 0}, scores)
        .clocked_s;
  };
  const double full_s = scores.flops / 2 / 100e12;
  // dQ and dK sum over the long side; of the values' gradients dP sums over the head width.
  EXPECT_NEAR(price("attention_scores_backward"), 2 * full_s * 1.05, 1e-12);
  EXPECT_NEAR(price("attention_values_backward"), full_s * (1.05 + 2), 1e-12);
}

TEST(Attention, TheWorkedNumberOfTheModelsHeader) {
  CostModel::Parameters p = parameters_of("a100-pcie", 1);
  p.attention.forward = 0.787;  // the header's; the catalog's is fitted
  workload::Operator op = attention_operator(32, 4096, 128, 128);
  EXPECT_NEAR(price_attention(p.device, p.attention, p.gemm, p.memory, op).seconds(), 785e-6, 1e-6);
}

TEST(Memory, BytesOverBandwidthAndARampForEveryKernel) {
  const MemoryParameters memory{0.5, 0.25, 0.2, 3e-6};
  Device device = round_device();
  device.kernel_latency_s = 2e-6;
  workload::Operator op;
  op.bytes = 50e6;
  op.kernels = 2;
  EXPECT_NEAR(price_memory(device, memory, op).fixed_s, 100e-6 + 10e-6, 1e-12);
  EXPECT_EQ(price_memory(device, memory, op).limit, Limit::kMemory);
  op.module = workload::Module::kLoss;
  EXPECT_NEAR(price_memory(device, memory, op).fixed_s, 210e-6, 1e-12);
  op.module = workload::Module::kMoe;
  for (const char* name : {"permute", "unpermute_backward", "sort_chunks"}) {
    op.name = name;
    EXPECT_NEAR(price_memory(device, memory, op).fixed_s, 260e-6, 1e-12) << name;
  }
  op.bytes = 0;
  EXPECT_EQ(price_memory(device, memory, op).limit, Limit::kLatency);
  EXPECT_NEAR(price_memory(device, memory, op).fixed_s, 10e-6, 1e-15);
}

TEST(Memory, TheWorkedNumberOfTheModelsHeader) {
  CostModel::Parameters p = parameters_of("hgx-b200", 1);
  p.memory.efficiency = 0.666;  // the header's; the catalog's is fitted
  workload::Operator op;
  op.bytes = 2 * 2 * 4096.0 * 8192;
  EXPECT_NEAR(price_memory(p.device, p.memory, op).seconds(), 30.2e-6, 0.1e-6);
}

}  // namespace
}  // namespace ergometer::cost
