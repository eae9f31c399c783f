#pragma once

#include <cstdint>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// One rank's part in the collectives that were found on several ranks.
struct Arrival {
  int64_t rank = 0;
  int64_t last = 0;         ///< collectives that it was the last to join
  int64_t lateness_ns = 0;  ///< sum of its start minus the first rank's start
  int64_t waiting_ns = 0;   ///< sum of the last rank's start minus its own: time in the kernel
                            ///< before anything can move
};

/// Collectives of several ranks put side by side. Of one kind in one process group, those with the
/// same sequence number are one collective; without numbers, the i-th on every rank, provided that
/// all have equally many. Without a group's name the group is taken for all ranks. Sends and
/// receives between two ranks are left out where the trace tells them from all-to-all.
struct ArrivalTable {
  int64_t matched = 0;      ///< collectives found on several ranks
  int64_t unmatched = 0;    ///< kernels whose partners were not found
  int64_t skew_ns = 0;      ///< sum of last start minus first start
  int64_t transfer_ns = 0;  ///< sum of the time from the last start to the first end behind it
  std::vector<Arrival> ranks;
};
/// Empty with fewer than two ranks, or two files of one. Clocks of several nodes may differ, and
/// the table with them: it says nothing about that.
ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks);

}  // namespace ergometer::analysis
