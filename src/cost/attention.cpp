// What it predicts: the time of one attention core call, forward or backward.
//
// Fused (FlashAttention, cuDNN):
//   t    = fixed + latency + max( flops / rate, bytes / (memory.efficiency * HBM) )               [s]
//   rate = P * (forward or backward) * head * U / (U + tile_ramp * SMs)                           [FLOP/s]
//   U    = batch * heads * ceil(q_length / 128)                                                   work tiles
// flops: those executed, causal calls and windows already cut; P: 16-bit matrix peak at the reference clock; head:
// latent_forward or latent_backward where queries and values differ in width (192 and 128), small_head at 64 (its
// exponentials bind), straight line between 64 and 128. Decoding (fewer than 16 queries a sequence) reads the
// cache and does next to nothing else: the bytes alone count.
//
// Unfused: two batched GEMMs forward, four backward (gemm.cpp, over the whole square: nothing skips the masked half),
// and the softmax kernels, which move what `bytes` holds beyond the GEMMs' operands.
//
// Parameters: catalog/kernels "attention.*", fitted to SimuMax's A100 and B200 tables (head width 128, MLA).
//
// Worked: A100 PCIe at 1275 MHz, P = 282.1 TFLOP/s, 1 x 32 heads, 4096 tokens, width 128, causal: 137.4 GFLOP, U = 1024,
// 1024 / (1024 + 1.5 * 108) = 0.863; rate = 282.1 * 0.73 * 0.863 = 177.8 TFLOP/s: 773 us + 10 us + 2 us = 785 us
// (measured 176.6 TFLOP/s: 778 us).
//
// Range: 4096 to 131072 tokens, widths 128 and 192/128 measured; other widths and short sequences extrapolate.
//
// How far off, in-sample: A100 forward 10 rows median 1.1 %, max 8 %, backward 7 rows median 1.1 %, max 5 %; B200
// forward 17 rows median 2.0 %, mean 9.6 %, max 31 % (4 and 8 heads), backward 18 rows median 1.2 %, max 29 %.
#include <algorithm>
#include <array>
#include <span>

#include "cost/parameters.h"

namespace ergometer::cost {
namespace {

using workload::AttentionShape;
using workload::Operator;

constexpr int64_t kTileRows = 128;         // queries a block handles in FlashAttention 2 and 3 and in cuDNN
constexpr int64_t kDecodeQueries = 16;     // below this a tile of the matrix unit is not even filled
constexpr double kSmallHead = 64, kFullHead = 128;  // widths between which small_head fades

double head_factor(const AttentionParameters& attention, const AttentionShape& shape) {
  if (shape.qk_dim != shape.v_dim) return shape.backward ? attention.latent_backward : attention.latent_forward;
  const double width = std::clamp(static_cast<double>(shape.qk_dim), kSmallHead, kFullHead);
  return attention.small_head + (1 - attention.small_head) * (width - kSmallHead) / (kFullHead - kSmallHead);
}

double work_tiles(const AttentionShape& shape) {
  return static_cast<double>(shape.batch * shape.heads * ((shape.q_length + kTileRows - 1) / kTileRows));
}

/// One batched product of unfused attention.
Operator product(const Operator& op, int64_t m, int64_t n, int64_t k) {
  Operator gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.groups = op.attention.batch * op.attention.heads;
  gemm.precision = op.precision;
  gemm.bytes = 2 * static_cast<double>(gemm.groups) *
               (static_cast<double>(m) * static_cast<double>(k) + static_cast<double>(k) * static_cast<double>(n) +
                static_cast<double>(m) * static_cast<double>(n));
  return gemm;
}

Price price_unfused(const Device& device, const GemmParameters& gemm, const MemoryParameters& memory, const Operator& op) {
  const AttentionShape& shape = op.attention;
  const int64_t q = shape.q_length, kv = shape.kv_length;
  const std::array<Operator, 4> products = {
      product(op, q, kv, shape.qk_dim),  // scores; backward: gradient of the probabilities, over v_dim
      product(op, q, shape.v_dim, kv),   // output; backward: gradient of the queries
      product(op, kv, shape.v_dim, q),   // backward: gradient of the values
      product(op, kv, shape.qk_dim, q),  // backward: gradient of the keys
  };
  Price sum;
  double product_bytes = 0;
  for (const Operator& each : std::span(products).first(shape.backward ? 4 : 2)) {
    const Price price = price_gemm(device, gemm, each);
    sum.fixed_s += price.fixed_s;
    sum.clocked_s += price.clocked_s;
    product_bytes += each.bytes;
  }
  const double softmax_s = std::max(0.0, op.bytes - product_bytes) / (memory.efficiency * device.memory_bytes_per_s);
  sum.fixed_s += softmax_s + memory.ramp_s + device.kernel_latency_s;
  sum.limit = sum.clocked_s > sum.fixed_s ? Limit::kCompute : Limit::kMemory;
  return sum;
}

}  // namespace

Price price_attention(const Device& device, const AttentionParameters& attention, const GemmParameters& gemm,
                      const MemoryParameters& memory, const Operator& op) {
  const AttentionShape& shape = op.attention;
  const double memory_s = op.bytes / (memory.efficiency * device.memory_bytes_per_s);
  if (shape.q_length < kDecodeQueries) return roofline(0, memory_s, memory.ramp_s + device.kernel_latency_s * op.kernels);
  if (!shape.fused) return price_unfused(device, gemm, memory, op);
  const double tiles = work_tiles(shape);
  const double ramp = shape.backward ? attention.backward_tile_ramp : attention.tile_ramp;
  const double rate = device.rate(spec::Precision::kBf16) * (shape.backward ? attention.backward : attention.forward) *
                      head_factor(attention, shape) * (tiles / (tiles + ramp * device.sms));
  return roofline(op.flops / rate, memory_s, attention.fixed_s + device.kernel_latency_s * op.kernels);
}

}  // namespace ergometer::cost
