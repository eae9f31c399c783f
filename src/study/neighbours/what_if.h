#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/comparison.h"
#include "run/study.h"
#include "study/neighbours/neighbours.h"

namespace ergometer::study {

/// A job between its neighbours, all of them played.
struct WhatIf {
  std::vector<Ladder> ladders;
  std::vector<std::vector<size_t>> at;  ///< of every point its position on each ladder
  std::vector<run::StudyPoint> points;
  std::vector<int64_t> replicas;  ///< of every point: what is left of the GPUs
  /// Why a point is not as the job: what `compare` says of the two. None of the job itself.
  std::vector<std::optional<compare::Comparison>> comparisons;
  size_t job = 0;  ///< the point that is the job
};

struct WhatIfOptions {
  size_t threads = 1;
  /// Told after every job, by any thread; may be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Plays the neighbours as `simulate` does, what does not fit in memory too, and explains each by
/// the others: the jobs that lie between two of them are neighbours as well, so that none is
/// simulated twice. The same for any number of threads. `name`: what the job is called. An input
/// error: the job itself cannot be simulated.
Result<WhatIf> what_if(const Neighbours& neighbours, const std::string& name,
                       const WhatIfOptions& options);

}  // namespace ergometer::study
