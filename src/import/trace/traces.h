#pragma once

#include <iterator>
#include <vector>

#include "run/flight_dump.h"
#include "run/gpu_trace.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// Traces of one job: a file or several, and what was found beside them.
struct Traces {
  std::vector<run::RankTrace> ranks;   ///< in order of rank, then of file
  std::vector<run::WorkGraph> graphs;  ///< the same
  std::vector<run::FlightDump> dumps;  ///< in order of rank, one a rank
  std::vector<run::Dropped> dropped;   ///< of all files; whole files that are no traces among them

  void add(Traces more) {
    std::move(more.ranks.begin(), more.ranks.end(), std::back_inserter(ranks));
    std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(graphs));
    std::move(more.dumps.begin(), more.dumps.end(), std::back_inserter(dumps));
    std::move(more.dropped.begin(), more.dropped.end(), std::back_inserter(dropped));
  }
  /// But for dumps, which only who asks for them reads.
  bool empty() const { return ranks.empty() && graphs.empty(); }
};

}  // namespace ergometer::importer
