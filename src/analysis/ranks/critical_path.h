#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/ranks/event_graph.h"

namespace ergometer::analysis {

// The chain of work and waiting that made the traces of all ranks together as long as they are.
//
// It is walked from the last end of a GPU event back to the first start. From an event it goes to
// what ended last of all that the event had to wait for:
//   - the event before it on its stream;
//   - its launch on the CPU;
//   - for a collective that was matched across ranks: the rank that joined last. From there on the
//     kernel moves data; what other ranks waited before is not on the path;
//   - another stream's event that ended within 50 us before it started, while its own stream was
//     free and its launch, where that is recorded, done: an inferred wait, for traces do not hold
//     stream waits.
// On the CPU it goes back to the last point at which the CPU waited for the GPU: a call that waits
// for a stream, an event or the device, during which something launched before it ended; or a copy
// to the host whose call, or the operator around it, lasted until the copy's end. Without one it
// goes to the beginning. All threads of a rank's CPU are taken as one.
//
// Every nanosecond of the span is in one segment, so the totals add up to the span exactly.

struct PathSegment {
  int64_t rank = 0;
  /// A kernel class (analysis/work/kernel_class.h; "collective tp" with its group's label); "cpu":
  /// the next launch was not yet called; "queued": launched, and neither running nor seen to wait;
  /// "unknown": nothing recorded stands before.
  std::string kind;
  int64_t start_ns = 0, end_ns = 0;  ///< on the common clock
};

struct PathShare {
  std::string kind;
  int64_t on_path_ns = 0;
  /// By how much the span shrinks if this takes no time and all else is played again: less than its
  /// time on the path where another chain is nearly as long. Kernels whose partners on other ranks
  /// are not recorded keep their length, waiting included: then it is a lower bound. -1: not
  /// computed.
  int64_t saved_if_free_ns = -1;
};
struct PathRank {
  int64_t rank = 0, on_path_ns = 0;
};

struct CriticalPath {
  int64_t span_ns = 0;                ///< first start to last end over all ranks
  std::vector<PathSegment> segments;  ///< in order of time, without gaps, no neighbours alike
  std::vector<PathShare> kinds;       ///< the one with the most time first
  std::vector<PathRank> ranks;        ///< the same
  int64_t inferred_waits = 0;         ///< steps of the walk over an inferred wait
};

CriticalPath critical_path(const std::vector<run::RankTrace>& ranks, const EventGraph& graph);

}  // namespace ergometer::analysis
