#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "analysis/ranks/collective_match.h"
#include "analysis/ranks/parallelism.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// The communication of one process group, or of all groups of one parallelism: sums over ranks.
struct GroupRow {
  std::string group, description;  ///< of a parallelism empty
  Parallelism parallelism;
  int64_t group_size = -1;
  int64_t ranks = 0;        ///< whose traces have it
  int64_t events = 0;       ///< kernels
  int64_t total_ns = 0;     ///< time with one of its kernels on a rank: unions, not sums
  int64_t hidden_ns = 0;    ///< of it: with compute beside it
  int64_t exposed_ns = 0;   ///< of it: without. Two groups that are exposed at once both count.
  int64_t matched = 0;      ///< collectives found on several ranks
  int64_t waiting_ns = 0;   ///< of those: in their kernels before the last rank joined
  int64_t transfer_ns = 0;  ///< of those: from then to each kernel's end
  double bytes = 0;         ///< where elements and types are known, as nccl-tests counts sizes
  double bus_bytes = 0;     ///< what a rank's link carries of them, sum over ranks
};

struct GroupTables {
  std::vector<GroupRow> groups;        ///< the one with the most exposed time first
  std::vector<GroupRow> parallelisms;  ///< the same, by `parallelism.name`; "?" of unknown groups
};

GroupTables group_tables(const std::vector<run::RankTrace>& ranks,
                         const MatchedCollectives& collectives, const ClockTable& clocks,
                         const GroupLabels& labels);

}  // namespace ergometer::analysis
