// What it predicts: the time of a grouped GEMM, `groups` products of the same weight shape with m
// rows each, as the experts of a mixture-of-experts layer run it.
//
//   t    = latency + max( 2 groups m n k / rate, bytes / (memory_efficiency * HBM) )     [s]
//   rate = P * efficiency * (wgrad or dgrad)
//          * rows / (rows + m_ramp) * depth / (depth + k_ramp) [FLOP/s]
//
// rows: tokens of one expert, the m of forward and dgrad and the k of wgrad; depth: the k of
// forward and dgrad, the n of wgrad (the weight's input width). P as in gemm.cpp. The two ramps are
// what few rows cost: an expert that sees 154 tokens runs at a third of the rate of one that sees
// 10,000.
//
// Parameters: catalog/kernels "grouped.*", fitted to SimuMax's A100 and B200 tables, others in
// between.
//
// Worked: A100 PCIe at 1275 MHz, P = 282.1 TFLOP/s, 40 experts, m 616, n 5120, k 1536, forward: 616
// / 708 = 0.870; 1536 / 1537 = 0.999; rate = 282.1 * 0.803 * 0.870 * 0.999 = 197.0 TFLOP/s
// (measured 196.3); 387.6 GFLOP in 1.968 ms.
//
// Range: 128 to 10,000 rows an expert, equal rows for all; a skewed router is not described.
//
// How far off, with the catalog fitted to whole training runs (ergometer validate --microbench):
// A100 PCIe, 7 rows: median 2.1 %, mean 3.6 %, max 8 %. B200, 63 rows: median 17 %, mean 19 %, max
// 54 %: training runs take its grouped GEMMs to be slower than the table does.
#include "cost/parameters.h"

namespace ergometer::cost {

using workload::GemmLayout;

Price price_grouped(const Device& device, const GroupedParameters& grouped,
                    const GemmParameters& gemm, const workload::Operator& op) {
  const double fixed_s = device.kernel_latency_s * op.kernels;
  if (op.m <= 0 || op.n <= 0 || op.k <= 0 || op.groups <= 0) return roofline(device, 0, 0, fixed_s);
  const bool weights = op.layout == GemmLayout::kNt;
  const auto rows = static_cast<double>(weights ? op.k : op.m),
             depth = static_cast<double>(weights ? op.n : op.k);
  const double pass = weights ? grouped.wgrad : op.layout == GemmLayout::kNn ? grouped.dgrad : 1;
  // FP8 and FP4 change grouped GEMMs' share of their own peak as they do plain ones'.
  const double narrow = gemm.efficiency_of(op.precision) / gemm.efficiency;
  const double rate = device.rate(op.precision) * grouped.efficiency * narrow * pass *
                      (rows / (rows + grouped.m_ramp)) * (depth / (depth + grouped.k_ramp));
  const double products = static_cast<double>(op.groups) * static_cast<double>(op.m) *
                          static_cast<double>(op.n) * static_cast<double>(op.k);
  return roofline(device, 2 * products / rate,
                  op.bytes / (gemm.memory_efficiency * device.memory_bytes_per_s), fixed_s);
}

}  // namespace ergometer::cost
