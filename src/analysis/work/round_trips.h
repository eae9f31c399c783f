#pragma once

#include <cstdint>
#include <vector>

#include "analysis/work/attribution.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Memory-bound kernels that hand a tensor from one to the next through HBM, where one fused kernel
/// would keep it on the chip. An upper bound by shapes: two operators one behind the other on a
/// stream count when the later has an input of the shape and size of the earlier's output, whether
/// or not it is that tensor and whether or not something else needs it later.
struct RoundTrips {
  int64_t pairs = 0;
  double bytes = 0;  ///< written by the first and read again by the second, of all pairs
  /// The share of both kernels' time that these bytes have of all they move.
  int64_t saved_ns = 0;
  /// Time in elementwise, norm, softmax, reduction and copying kernels; of which the operator's
  /// bytes are known.
  int64_t memory_bound_ns = 0, known_ns = 0;
};

RoundTrips round_trips(const run::RankTrace& trace, const Attribution& attribution);

/// By event, what of its time these bytes take: at most all of it, where it hands over on both
/// sides.
std::vector<int64_t> handed_over_ns(const run::RankTrace& trace);

}  // namespace ergometer::analysis
