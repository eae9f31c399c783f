#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// Collectives of one kind and size on one communicator, as NCCL's tools measured them.
struct CollectiveSize {
  std::string source, communicator, kind;
  int64_t ranks = 0, nodes = 0;  ///< of the communicator; 0: not said
  double bytes = 0;
  int64_t timings = 0;  ///< over the ranks that were read
  double median_s = 0, lowest_s = 0, highest_s = 0;
  double algorithm_gb_per_s = 0, bus_gb_per_s = 0;  ///< medians
};

/// One rank among those of its communicator. A collective's kernel runs from the rank's arrival to
/// the common end: of the ranks, the one with the shortest came last, and the others waited for it
/// as much longer as theirs took.
///
/// Worked: 130, 120 and 30 us on ranks 0, 1 and 2: rank 2 came last, the others waited 190 us.
///
/// Only collectives count in which the longest takes 20 us and 5 % more than the shortest.
struct CommunicatorRank {
  std::string communicator, host;
  int64_t rank = -1;
  int64_t apart = 0;           ///< of the communicator: collectives that ranks joined apart
  int64_t last = 0;            ///< of these, those that this rank joined last
  double others_waited_s = 0;  ///< in these, all others together
  double all_time_s = 0;       ///< of the communicator: what all ranks spent in matched collectives
  /// It came last in more than half of at least 10, and others waited for it most.
  bool late = false;
};

struct CollectiveTimings {
  std::vector<CollectiveSize> sizes;    ///< as they stand in the files, sizes in order
  std::vector<CommunicatorRank> ranks;  ///< for whom others waited longest first
};
CollectiveTimings collective_timings(const run::DeviceLog& log);

}  // namespace ergometer::analysis
