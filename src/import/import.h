#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/gpu_trace.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// Traces of one job: a file or several, and what was found beside them.
struct Traces {
  std::vector<run::RankTrace> ranks;   ///< in order of rank, then of file
  std::vector<run::WorkGraph> graphs;  ///< the same
  std::vector<run::Dropped> dropped;   ///< of all files; whole files that are no traces among them
};

/// Reads whatever stands at `paths`: traces, packed by gzip, zstd or not at all, tar archives of
/// them, and folders (searched to the bottom) of all these; Runs into which such were imported.
/// What a file is, its first bytes say, not its name. In a folder or an archive a file of another
/// kind is passed over and counted; a path given by itself must be a trace. Files are read on
/// `threads` threads; the result does not depend on them.
///
/// What a Run's traces left out is kept. A trace that does not say its rank gets the lowest that no
/// other has.
base::Result<Traces> read_traces(const std::vector<std::string>& paths, size_t threads);

}  // namespace ergometer::importer
