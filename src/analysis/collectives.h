#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/collective_kind.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// The collectives of one kind in one process group, over all ranks.
struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::string group, description, dtype;  ///< empty where the trace does not say
  int64_t group_size = -1;
  int64_t count = 0;     ///< kernels, those of every rank
  int64_t total_ns = 0;  ///< in the kernels: waiting for other ranks is part of it
  int64_t known = 0;     ///< kernels with known bytes
  double bytes = 0;      ///< of those
  /// Mean of those with known bytes, in GB/s: bytes on the bus over time in the kernels; and the
  /// best single one, which waited least.
  double mean_bus_gb_per_s = 0, best_bus_gb_per_s = 0;
};

/// The one with the most time first.
std::vector<CollectiveRow> collective_table(const std::vector<run::RankTrace>& ranks);

/// One rank's part in the collectives that were found on all ranks.
struct Arrival {
  int64_t rank = 0;
  int64_t last = 0;         ///< collectives that it was the last to join
  int64_t lateness_ns = 0;  ///< sum of its start minus the first rank's start
  int64_t waiting_ns = 0;   ///< sum of the last rank's start minus its own: time in the kernel
                            ///< before anything can move
};

/// Collectives of several ranks put side by side: the same kind, group and place in the order.
struct ArrivalTable {
  int64_t matched = 0;      ///< collectives found on all ranks
  int64_t unmatched = 0;    ///< kernels whose partners were not found
  int64_t skew_ns = 0;      ///< sum of last start minus first start
  int64_t transfer_ns = 0;  ///< sum of the time from the last start to the first end behind it
  std::vector<Arrival> ranks;
};
/// Empty with fewer than two ranks, or two files of one. Clocks of several nodes may differ, and
/// the table with them: it says nothing about that.
ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks);

}  // namespace ergometer::analysis
