#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/math/least_squares.h"
#include "analysis/trace/phases.h"
#include "analysis/trace/timeline.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// A class of work in a phase, with its share of a stretch of time.
struct WorkShare {
  size_t work = 0, phase = 0;
  double weight = 0;
};

/// What runs when on one GPU, as shares of classes and phases. Class 0 is idle, class 1
/// communication beside other work; the rest are classes of kernels in order of appearance. Classes
/// side by side on two streams share time equally.
class WorkShares {
 public:
  WorkShares(const run::RankTrace& trace, const std::vector<PhaseOfEvent>& phases);

  const Timeline& timeline() const { return timeline_; }
  /// Of a set of labels of the timeline; they add up to 1.
  const std::vector<WorkShare>& shares(uint32_t set) const { return shares_[set]; }
  const std::vector<std::string>& names() const { return names_; }

  /// Seconds of every class (rows) and phase (columns; the last is idle) between two times.
  Matrix seconds_between(int64_t start_ns, int64_t end_ns) const;

 private:
  std::vector<WorkShare> shares_of(const std::vector<uint32_t>& set) const;

  std::vector<std::string> names_;
  std::vector<bool> communicates_;  ///< of those behind the first two
  Timeline timeline_;
  std::vector<std::vector<WorkShare>> shares_;  ///< of every set of the timeline
};

}  // namespace ergometer::analysis
