#pragma once

#include <vector>

#include "optimize/candidate.h"
#include "optimize/pipeline_frontier.h"

namespace ergometer::optimize {

inline constexpr double kMegahertz = 1e6;

/// A point of the frontier as it is shown and played.
struct ClockPoint {
  FrontierPoint point;
  std::vector<double> forward_hz, backward_hz;  ///< by stage, mean over its micro batches
  std::vector<double> lock_hz;                  ///< by stage: one clock for both, on the lattice
};

/// At most `most` points of the frontier, evenly spaced in time, quickest first.
std::vector<ClockPoint> clock_points(const PipelineTables& tables, const PipelineFrontier& frontier,
                                     const spec::Job& job, size_t most);

/// Locks by stage as the points of the frontier have them, and one lock for all GPUs.
std::vector<Candidate> propose_clocks(const Played& played, const std::vector<ClockPoint>& points);

}  // namespace ergometer::optimize
