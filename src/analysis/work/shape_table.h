#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/work/attribution.h"
#include "analysis/work/operator_work.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// The most that a GPU does, by its data sheet; 0 where it is not known.
struct DevicePeak {
  std::string gpu;                                                       ///< as the trace names it
  double fp32_flops = 0, fp16_flops = 0, bf16_flops = 0, fp8_flops = 0;  ///< dense, a second
  double bytes_per_s = 0;
};

/// All calls of one operator on inputs of the same shapes, over all ranks.
struct ShapeRow {
  std::string name, shapes, dtypes, values;  ///< as the trace has them
  int64_t calls = 0;                         ///< that put work on a GPU
  int64_t kernels = 0, total_ns = 0;         ///< copies and sets among them; sum of durations
  OperatorWork work;                         ///< of one call

  // 0 where not known
  double tflops_low() const;
  double tflops_high() const;
  double gb_per_s() const;
  double flops_per_byte() const;  ///< arithmetic intensity, of the higher FLOPs
  /// Of `peak`: of its FLOPs for this type, of its bandwidth.
  double flops_fraction(const DevicePeak& peak) const;
  double bytes_fraction(const DevicePeak& peak) const;
};

struct ShapeTable {
  std::vector<ShapeRow> rows;  ///< the one with the most time first
  /// Sums of durations: all GPU events but collectives, which have a table of their own; those
  /// whose operator is known; of which FLOPs are.
  int64_t total_ns = 0, operator_ns = 0, flops_ns = 0;
};

/// `attributions` are those of `ranks`, in their order. An event counts for the innermost operator
/// around its launch; collectives are left out.
ShapeTable shape_table(const std::vector<run::RankTrace>& ranks,
                       const std::vector<Attribution>& attributions);

}  // namespace ergometer::analysis
