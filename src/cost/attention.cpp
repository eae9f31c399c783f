// What it predicts: the time of one attention core call, forward or backward.
//
// Fused (FlashAttention, cuDNN):
//   t    = fixed + latency + max( flops / rate, bytes / (memory.efficiency * HBM) )    [s]
//   rate = P * (forward or backward) * head * K / (K + length_ramp) * U / (U + tile_ramp * SMs)
//   K    = flops / (products * batch * heads * q_length * (qk_dim + v_dim))            [keys]
//   U    = batch * heads * ceil(q_length / 128)                                        [tiles]
// flops: those executed, causal calls and windows already cut; products: 2 forward, 5 backward; K:
// keys that a query meets, on average: half a causal sequence, nearly a window. A tile of queries
// loads and finishes once, whatever it meets, and works through masked halves of tiles: that costs
// as much as length_ramp further keys. P: 16-bit matrix peak at the reference clock; of FP32
// operands FP32's own (TF32's or the vector units'), with the same shares for want of a
// measurement; head: latent_forward or latent_backward where queries and values differ in width
// (192 and 128), small_head at 64 (its exponentials bind), straight line between 64 and 128.
// Decoding (fewer than 16 queries a sequence) reads the cache and does next to nothing else: the
// bytes alone count.
//
// Unfused: scores and values are batched GEMMs of their own, one forward and two backward each,
// priced as in gemm.cpp over the whole square (nothing skips the masked half); softmax and dropout
// are memory-bound operators. Heads whose rows do not start on 16 bytes (a width that 8 does not
// divide) keep these products off the tensor cores: FP32 units do them, at kVectorShare of the
// rate. BigScience ran 78 layers of 13824 on 384 A100s with heads of 216 and of 108: 122 and 163 s
// a step. Four passes of 2048 sequences of 2048 make 0.39 PFLOP of these products a GPU, 41 s
// apart: 10 TFLOP/s, half of the 19.5 of the FP32 units.
//
// Parameters: catalog/kernels "attention.*": A100 and B200 fitted to SimuMax's tables (4096 tokens
// and more, head width 128, MLA), H200 and GB200 to prefill kernels of serving frameworks (256 to
// 16384 tokens, windows of 128, widths 64 and 128; forward alone; a sample of them stands in
// tests/validation/truth/kernels.csv).
//
// Worked: A100 PCIe at 1275 MHz, P = 282.1 TFLOP/s, 1 x 32 heads, 4096 tokens, width 128, causal:
// 137.4 GFLOP, K = 2048, 2048 / (2048 + 160) = 0.928, U = 1024, 1024 / (1024 + 1.5 * 108) = 0.863;
// rate = 282.1 * 0.787 * 0.928 * 0.863 = 177.8 TFLOP/s: 773 us + 10 us + 2 us = 785 us (measured
// 176.6 TFLOP/s: 778 us).
//
// Range: what the parameters were fitted to; backward is known from 4096 tokens up and takes
// forward's length_ramp.
//
// How far off, with the catalog fitted to whole training runs (ergometer validate --microbench
// of microbench.csv and kernels.csv in tests/validation/truth; median / mean / max): A100 PCIe
// forward, 10 rows, 1.5 / 2.4 / 6 %, backward, 7 rows, 0.9 / 1.6 / 5 %; B200 forward, 17 rows, 17.9
// / 19.5 / 42 % (calls of 0.1 to 0.3 ms end before the power limit bites, which the parameters are
// at), backward, 18 rows, 7.8 / 7.9 / 28 %; 160 forward kernels each of H200 6.7 / 9.1 / 35 % and
// of GB200 15.8 / 13.8 / 42 %.
#include <algorithm>
#include <vector>

#include "cost/parameters.h"

namespace ergometer::cost {
namespace {

using workload::AttentionShape;
using workload::Operator;

constexpr int64_t kTileRows =
    128;  // queries a block handles in FlashAttention 2 and 3 and in cuDNN
constexpr int64_t kDecodeQueries = 16;  // below this a tile of the matrix unit is not even filled
constexpr int64_t kAlignedWidth = 8;  // elements of 16 bits in the 16 bytes that operands start on
constexpr double kSmallHead = 64, kFullHead = 128;  // widths between which small_head fades

struct Product {
  int64_t m, n, k;
};

/// The batched products an operator of unfused attention stands for. With S = Q K' and O = P V:
/// forward one; backward of the scores dQ = dS K and dK = dS' Q, of the values dP = dO V' and dV =
/// P' dO.
std::vector<Product> products(const Operator& op) {
  const AttentionShape& shape = op.attention;
  const int64_t q = shape.q_length, kv = shape.kv_length;
  const bool scores = op.name.starts_with("attention_scores");
  const int64_t dim = scores ? shape.qk_dim : shape.v_dim;
  if (!shape.backward)
    return scores ? std::vector<Product>{{q, kv, dim}} : std::vector<Product>{{q, dim, kv}};
  if (scores) return {{q, dim, kv}, {kv, dim, q}};
  return {{q, kv, dim}, {kv, dim, q}};
}

/// Whether the product's operands begin where 16-bit tensor cores can read them.
bool is_aligned(const Operator& op) {
  if (op.precision != spec::Precision::kFp16 && op.precision != spec::Precision::kBf16) return true;
  return op.attention.qk_dim % kAlignedWidth == 0 && op.attention.v_dim % kAlignedWidth == 0;
}

/// What the rate of a product depends on, on the units that do it: vector units where operands are
/// not aligned (A100: 19.5 TFLOP/s instead of 312). The ramp is a time.
GemmParameters product_parameters(const Device& device, const GemmParameters& gemm,
                                  const Operator& op) {
  if (is_aligned(op)) return gemm;
  const double share = std::min(1.0, device.vector_flops_per_s / device.rate(op.precision));
  GemmParameters vector = gemm;
  vector.efficiency *= share;
  vector.k_ramp *= share;
  vector.odd = 1;  // element by element is all these units know
  return vector;
}

Price price_unfused(const Device& device, const GemmParameters& gemm, const Operator& op) {
  double compute_s = 0, flops = 0;
  const GemmParameters parameters = product_parameters(device, gemm, op);
  for (const auto& [m, n, k] : products(op)) {
    Operator product;
    product.m = m;
    product.n = n;
    product.k = k;
    product.groups = op.attention.batch * op.attention.heads;
    product.precision = op.precision;
    compute_s += gemm_compute_s(device, parameters, product, device.sms);
    flops += 2 * static_cast<double>(product.groups) * static_cast<double>(m) *
             static_cast<double>(n) * static_cast<double>(k);
  }
  // The shape gives the rate, the operator the work: a step of a context-parallel ring is part of a
  // square.
  if (flops > 0) compute_s *= op.flops / flops;
  return roofline(device, compute_s,
                  op.bytes / (gemm.memory_efficiency * device.memory_bytes_per_s),
                  (gemm.fixed_s + device.kernel_latency_s) * op.kernels);
}

}  // namespace

bool decodes(const AttentionShape& shape) { return shape.q_length < kDecodeQueries; }

double head_factor(const AttentionParameters& attention, const AttentionShape& shape) {
  if (shape.qk_dim != shape.v_dim)
    return shape.backward ? attention.latent_backward : attention.latent_forward;
  const double width = std::clamp(static_cast<double>(shape.qk_dim), kSmallHead, kFullHead);
  return attention.small_head +
         (1 - attention.small_head) * (width - kSmallHead) / (kFullHead - kSmallHead);
}

double library_factor(const AttentionParameters& attention, const Operator& op) {
  // Kernels for FP8 are of the best generation alone.
  return (op.precision == spec::Precision::kFp8 ? attention.fp8 : attention.generation) *
         attention.rate * (op.attention.sinks ? attention.sinks : 1) *
         (op.attention.masked ? attention.masked : 1);
}

double visited_keys(const Operator& op) {
  const AttentionShape& shape = op.attention;
  const double products = shape.backward ? 5 : 2;
  return op.flops /
         (products * static_cast<double>(shape.batch * shape.heads) *
          static_cast<double>(shape.q_length) * static_cast<double>(shape.qk_dim + shape.v_dim));
}

spec::Precision peak_of_attention(spec::Precision operands) {
  return operands == spec::Precision::kFp32 ? operands : spec::Precision::kBf16;
}

double work_tiles(const AttentionShape& shape) {
  return static_cast<double>(shape.batch * shape.heads *
                             ((shape.q_length + kTileRows - 1) / kTileRows));
}

Price price_attention(const Device& device, const AttentionParameters& attention,
                      const GemmParameters& gemm, const MemoryParameters& memory,
                      const Operator& op) {
  const AttentionShape& shape = op.attention;
  const double memory_s = op.bytes / (memory.efficiency * device.memory_bytes_per_s);
  if (decodes(shape))
    return roofline(device, 0, memory_s, memory.ramp_s + device.kernel_latency_s * op.kernels);
  if (!shape.fused) return price_unfused(device, gemm, op);
  const double tiles = work_tiles(shape);
  const double ramp = shape.backward ? attention.backward_tile_ramp : attention.tile_ramp;
  const double keys = visited_keys(op);
  const double rate = device.rate(peak_of_attention(op.precision)) *
                      (shape.backward ? attention.backward : attention.forward) *
                      library_factor(attention, op) * head_factor(attention, shape) *
                      (keys / (keys + attention.length_ramp)) *
                      (tiles / (tiles + ramp * device.sms));
  const double compute_s = op.flops > 0 ? op.flops / rate : 0;  // no keys, no rate
  return roofline(device, compute_s, memory_s,
                  attention.fixed_s + device.kernel_latency_s * op.kernels);
}

}  // namespace ergometer::cost
