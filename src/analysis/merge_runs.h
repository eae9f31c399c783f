#pragma once

#include <string>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "base/result.h"
#include "run/run.h"

namespace ergometer::analysis {

/// One of the Runs to be joined, and how the user named its file.
struct RunPart {
  std::string file;
  run::Run run;
};

/// How a host's times became the reference's.
struct HostClockReport {
  std::string host;
  std::vector<std::string> files;
  /// "reference"; "probes": the hosts asked each other; "collectives": their ends in the traces;
  /// "synchronized": both kernels say that their clocks are held, and how well; "unknown": taken
  /// as equal, for want of anything better.
  std::string method;
  std::string against;   ///< the host whose clock it was held against; empty: none
  ClockModel model;      ///< to the reference's clock
  bool bounded = false;  ///< `model.uncertainty_ns` bounds the error
};

struct MergedRun {
  run::Run run;                        ///< all times on the reference's clock
  std::vector<HostClockReport> hosts;  ///< in order of the parts
  std::vector<std::string> notes;
};

/// Joins what several hosts recorded of one job, and what else was imported of it: telemetry,
/// traces and clocks. A part's traces belong to its host; a part without a host's name is one of
/// its own. Ranks of GPUs that more than one part gives are counted anew: by the launcher's
/// number of the node where all parts have one (SLURM_NODEID, GROUP_RANK, NODE_RANK), else in the
/// order of the parts.
///
/// `reference`: the host whose clock counts; empty: the first part's. Input errors: no such host;
/// simulated parts, whose times are no host's; two parts of one host that were recorded at the same
/// time.
Result<MergedRun> merge_runs(std::vector<RunPart> parts, const std::string& reference);

}  // namespace ergometer::analysis
