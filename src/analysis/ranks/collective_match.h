#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/work/collective_kind.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// A communication kernel: `ranks[trace].events[event]`.
struct CollectiveCall {
  size_t trace = 0;
  size_t event = 0;
};

/// One collective, or one message, as every recorded rank that takes part saw it.
struct CollectiveInstance {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::string group;
  bool message = false;               ///< a send and its receive
  std::vector<CollectiveCall> calls;  ///< one a trace, two or more, in order of the traces
};

struct MatchedCollectives {
  std::vector<CollectiveInstance> instances;  ///< by kind and group, then in order
  int64_t unmatched = 0;                      ///< kernels whose partners were not found
};

/// Finds what belongs together in the traces of one job, by no clock. Of one kind in one process
/// group, calls with the same sequence number are one collective; without numbers, the i-th on
/// every rank, provided that all have equally many, or that the file of one that has fewer ends in
/// the middle and its calls are the first of the others'. Without a group's name the group is taken
/// for all ranks. A group that more ranks name than it has members is several of one name: nothing
/// of it is matched. Sends and receives are matched in groups of two alone, the i-th send with the
/// i-th receive: in larger groups a trace does not say who is the partner.
///
/// Empty with fewer than two ranks, or two files of one.
MatchedCollectives match_collectives(const std::vector<run::RankTrace>& ranks);

}  // namespace ergometer::analysis
