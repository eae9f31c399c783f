#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "analysis/ranks/collective_match.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// One rank's part in the collectives that were found on several ranks.
struct Arrival {
  int64_t rank = 0;
  int64_t last = 0;         ///< collectives that it was the last to join
  int64_t lateness_ns = 0;  ///< sum of its start minus the first rank's start
  int64_t waiting_ns = 0;   ///< sum of the last rank's start minus its own: time in the kernel
                            ///< before anything can move
  int64_t exposed_waiting_ns = 0;  ///< with such a kernel and no compute beside it: a union
  /// The same by kind; where waits of several kinds lie together, the first kind's. They add up.
  std::map<CollectiveKind, int64_t> exposed_waiting_by_kind = {};
};

/// Collectives of several ranks put side by side, on clocks that their ends bring together where
/// they are apart (analysis/ranks/clock_offset.h).
struct ArrivalTable {
  int64_t matched = 0;      ///< collectives found on several ranks
  int64_t unmatched = 0;    ///< kernels whose partners were not found
  int64_t skew_ns = 0;      ///< sum of last start minus first start
  int64_t transfer_ns = 0;  ///< sum of the time from the last start to the first end behind it
  std::vector<Arrival> ranks;
};
/// Empty with fewer than two ranks, or two files of one.
ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks);
ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks,
                           const MatchedCollectives& collectives, const ClockTable& clocks);

/// When the ranks of one collective came and when the first of them could go on.
struct Meeting {
  int64_t first_ns = 0, last_ns = 0;  ///< starts
  int64_t end_ns = 0;                 ///< the first end
  size_t latest = 0;                  ///< position in `calls` of who came last
};
Meeting meeting_of(const std::vector<run::RankTrace>& ranks, const CollectiveInstance& one,
                   const ClockTable& clocks);

}  // namespace ergometer::analysis
