#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/ranks/event_graph.h"
#include "analysis/ranks/exchange_loads.h"
#include "analysis/telemetry/gpu_condition.h"
#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

// Which ranks compute slowly, by their kernels alone: no collective and no common clock is needed,
// and several equally slow ranks do not hide each other.
//
// Ranks have the same work when they run the same compute kernels, by name and number. Of those,
// the sum of their durations is held against the lower median: of two ranks the faster, of four the
// second. A rank is slow that
//  - takes 1.05 times as long (assumed: kernels alike vary by less) in the first and in the second
//    half of the calls of every kernel; kernels that ran fewer than 4 times are left out;
//  - takes about as much longer in every call of a kernel: the calls of the median rank, stretched
//    by one factor a kernel, leave at most a third (assumed) of the longer time unexplained.
//    Sequences that vary leave more: now this rank has the long one, now another;
//  - does not get as many more tokens for its experts, where all-to-alls say so.
// When most ranks are slow, that is the norm. Names do not say shapes: a rank that always has more
// to do is slow here too.

struct SlowRank {
  size_t trace = 0;  ///< among the traces
  int64_t rank = 0;
  double times = 1;  ///< its kernels' time over that of the ranks with its work
  std::optional<GpuCondition> condition = {};
};

struct SlowRanks {
  std::vector<SlowRank> ranks;  ///< in order of the traces
  /// By how much the whole span shrinks when all of them compute as fast as the ranks with their
  /// work (a replay).
  int64_t saved_if_equal_ns = 0;
};

/// Empty with two traces of one rank.
SlowRanks find_slow_ranks(const std::vector<run::RankTrace>& ranks, const ExchangeLoads& exchanges,
                          const EventGraph& graph, const run::DeviceLog& log);

}  // namespace ergometer::analysis
