#pragma once

#include <cstdint>
#include <vector>

#include "analysis/ranks/arrivals.h"
#include "analysis/trace/idle.h"
#include "analysis/trace/launch_overhead.h"
#include "analysis/work/round_trips.h"

namespace ergometer::analysis {

/// What running a step as one kernel behind the other, on ranks that move in step, costs beyond the
/// work itself. Sums over ranks; docs/guide/read-a-trace.md says what each means. They do not add
/// up: waiting in a collective may be hidden by compute, and round trips are an upper bound.
struct Taxes {
  int64_t span_ns = 0;  ///< of all ranks together: what shares are of

  /// Bulk synchrony: all ranks wait for the last, the CPU for the GPU. Of the latter only what is
  /// seen directly: how long calls still waited for a GPU that was idle.
  bool ranks_compared = false;  ///< collectives were found on several ranks
  int64_t collective_waiting_ns = 0, host_sync_ns = 0;

  /// Round trips through HBM between kernels.
  RoundTrips round_trips;

  /// Launches: idle time that a launch called too late ended, its latency included, without
  /// `host_sync_ns`; and its parts, which sum to it.
  int64_t launch_idle_ns = 0;
  int64_t launching_ns = 0, loading_ns = 0, elsewhere_ns = 0, latency_ns = 0;
  int64_t short_kernels = 0, short_ns = 0;  ///< of this, no part of the cost: it shows as idle time
};

/// One rank's share of it.
struct RankTaxes {
  int64_t span_ns = 0;
  IdleCauses idle;
  LaunchOverhead launches;
  RoundTrips round_trips;
};
Taxes add_up(const std::vector<RankTaxes>& ranks, const ArrivalTable& arrivals);

}  // namespace ergometer::analysis
