// What it predicts: the time of one matrix product [m,k] x [k,n] (or of a batch of them) on one
// GPU.
//
//   t      = fixed + latency + max( 2 m n k / rate, bytes / (memory_efficiency * HBM) )  [s]
//   rate   = P * efficiency * q^quantization * k / (k + k_ramp) * (wgrad, for NT) * (odd) [FLOP/s]
//   q      = max over tiles of  useful fraction * tile_step^halvings                          [1]
//   useful = m n / (waves * SMs * tile_m * tile_n),  waves = ceil(tiles / SMs)                [1]
//
// P is the dense matrix peak at the reference clock, FLOP/s; bytes and HBM, B and B/s; k_ramp,
// elements of k: the prologue and epilogue of a tile cost as much time as k_ramp more elements
// would. That is a time, so with an FP8 peak twice as high it is worth twice the elements. A kernel
// may use the largest tile or halve it up to three times; smaller tiles fill the last wave better
// and run slower.
//
// Odd rows: Ampere and later copy tiles to shared memory asynchronously in pieces of 4, 8 or 16
// bytes (PTX cp.async). Where a matrix has rows of an odd number of 16-bit elements every other row
// starts between such pieces, and libraries fall back on kernels that load element by element, at
// `odd` of the rate. It is the length of the contiguous dimension that counts: n and k of TN and
// NN, m and n of NT. A vocabulary that nobody padded is the usual case.
//
// Clock and power limit: P is the data-sheet peak times sustained over boost clock; for FP32
// without TF32 on GPUs that have no matrix mode for it, the vector units' peak, and all of it where
// by the power model's numbers such products stay within the board's limit at the boost clock
// (spec/job/matrix_peak.h). A GPU's sustained
// clock is one parameter a GPU kind; what the kernels of its architecture reach at equal clock is
// gemm.efficiency. Only their product shows in training; best shapes in short runs, at the
// short-run clock, tell the two apart. For a GPU that was never measured take the sustained clock f
// from one of the same architecture (f0 at power limit W0) by a dynamic power near the cube of the
// clock,
//   f = f0 * cube root of (W - s W0) / (W0 - s W0) * (peak0 / peak at the boost clocks),
// no higher than its boost clock; s = 0.2, the share that does not depend on the clock. H100, 1590
// MHz at 700 W: at 500 W cube root of 360 / 560 = 0.863, 1372 MHz (the catalog's guess 1346).
//
// Parameters: catalog/kernels, "gemm.*". Ampere and Blackwell are fitted to SimuMax's tables of
// measured shapes, Hopper to best shapes in short runs, the others derive from them.
//
// Worked: A100 PCIe at 1275 MHz, P = 282.1 TFLOP/s, m 4096, n 1536, k 5120, TN: 256 x 128 tiles
// make 16 x 12 = 192 tiles = 2 waves of 108 SMs, useful 0.889; q^0.735 = 0.917; k / (k + 164) =
// 0.969; rate = 282.1 * 0.87 * 0.917 * 0.969 = 218.1 TFLOP/s, so 295.4 us (measured 262 us at 245.8
// TFLOP/s).
//
// Range: m, n from 128 and k from 256, 16 bit and FP8; below that the fixed times decide and are
// rough.
//
// How far off, with the catalog fitted to whole training runs (ergometer validate --microbench
// of microbench.csv and kernels.csv in tests/validation/truth; median / mean / max): A100 PCIe,
// 110 shapes, 1.3 / 3.1 / 36 %; B200, 283 shapes, 4.2 / 10.6 / 48 %; equal shapes differ there by 8
// % among themselves, for part of them was measured before the chip reached its power limit. Never
// fitted: 60 shapes each of H200 4.3 / 5.6 / 17 % and of GB200 4.2 / 4.8 / 13 %.
#include <algorithm>

#include "cost/parameters.h"
#include "cost/power.h"

namespace ergometer::cost {
namespace {

using workload::GemmLayout;
using workload::Operator;

constexpr int kTileHalvings =
    3;  // 256 x 128 down to 64 x 64, the smallest tile libraries use for large products

double ceil_divide(double a, double b) {
  const auto quotient = static_cast<double>(static_cast<int64_t>(a / b));
  return quotient * b < a ? quotient + 1 : quotient;
}

/// Share of the machine's multiply-adds that land in the result, one tile shape.
double useful_fraction(const Operator& op, double rows, double columns, double sms) {
  const auto m = static_cast<double>(op.m), n = static_cast<double>(op.n),
             batch = static_cast<double>(op.groups);
  const double waves = ceil_divide(batch * ceil_divide(m, rows) * ceil_divide(n, columns), sms);
  return batch * m * n / (waves * sms * rows * columns);
}

double operand_bytes(const Operator& op) {
  if (op.bytes > 0) return op.bytes;
  const double element = op.precision == spec::Precision::kFp32    ? 4
                         : op.precision == spec::Precision::kFp8   ? 1
                         : op.precision == spec::Precision::kNvfp4 ? 0.5625
                                                                   : 2;
  const auto m = static_cast<double>(op.m), n = static_cast<double>(op.n),
             k = static_cast<double>(op.k);
  return static_cast<double>(op.groups) * (element * (m * k + k * n) + 2 * m * n);
}

}  // namespace

bool has_odd_rows(const Operator& op) {
  const bool wide =
      op.precision == spec::Precision::kBf16 || op.precision == spec::Precision::kFp16;
  const int64_t other = op.layout == GemmLayout::kNt ? op.m : op.k;
  return wide && (op.n % 2 != 0 || other % 2 != 0);
}

double tile_share(const GemmParameters& gemm, const Operator& op, double sms) {
  auto rows = static_cast<double>(gemm.tile_m), columns = static_cast<double>(gemm.tile_n);
  double best = 0, tile_rate = 1;
  for (int halving = 0; halving <= kTileHalvings; ++halving) {
    best = std::max(best, tile_rate * useful_fraction(op, rows, columns, sms));
    best = std::max(best, tile_rate * useful_fraction(op, columns, rows, sms));
    (rows >= columns ? rows : columns) /= 2;
    tile_rate *= gemm.tile_step;
  }
  return best;
}

Price roofline(const Device& device, double compute_s, double memory_s, double fixed_s) {
  const double slowed_s = compute_s * device.slowdown;
  const bool computes = slowed_s >= memory_s;
  Price price;
  price.fixed_s = computes ? fixed_s : fixed_s + memory_s;
  price.clocked_s = computes ? compute_s : 0;
  price.limit = std::max(slowed_s, memory_s) < fixed_s ? Limit::kLatency
                : computes                             ? Limit::kCompute
                                                       : Limit::kMemory;
  return price;
}

double gemm_compute_s(const Device& device, const GemmParameters& gemm, const Operator& op,
                      double sms) {
  if (op.m <= 0 || op.n <= 0 || op.k <= 0 || op.groups <= 0) return 0;
  const bool narrow =
      op.precision == spec::Precision::kFp8 || op.precision == spec::Precision::kNvfp4;
  const double peak = device.rate(op.precision) * sms / device.sms;
  const double full_rate = peak * gemm.efficiency_of(op.precision);
  const double ramp =
      narrow ? gemm.k_ramp * device.rate(op.precision) / device.rate(spec::Precision::kBf16)
             : gemm.k_ramp;
  const auto k = static_cast<double>(op.k);
  const double rate = full_rate * power(tile_share(gemm, op, sms), gemm.quantization) *
                      (k / (k + ramp)) * (op.layout == GemmLayout::kNt ? gemm.wgrad : 1) *
                      (has_odd_rows(op) ? gemm.odd : 1);
  const double products =
      static_cast<double>(op.groups) * static_cast<double>(op.m) * static_cast<double>(op.n) * k;
  return 2 * products / rate;
}

Price price_gemm(const Device& device, const GemmParameters& gemm, const Operator& op) {
  const double memory_s = operand_bytes(op) / (gemm.memory_efficiency * device.memory_bytes_per_s);
  return roofline(device, gemm_compute_s(device, gemm, op, device.sms), memory_s,
                  gemm.fixed_s + device.kernel_latency_s * op.kernels);
}

}  // namespace ergometer::cost
