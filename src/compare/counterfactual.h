#pragma once

#include <functional>

#include "base/result.h"
#include "compare/comparison.h"
#include "compare/pair.h"
#include "run/run.h"

namespace ergometer::compare {

struct CounterfactualOptions {
  size_t threads = 1;
  int64_t most_simulations = 1024;
  /// Who simulates the jobs, on any thread; empty: the engine.
  std::function<Result<run::Run>(const spec::Job&)> simulate = {};
  /// Told after every simulation, by any thread; may be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Why B's step takes another time and other energy than A's: every job between the two is
/// simulated by `engine::simulate`, and every factor gets the mean of what its change does over all
/// orders of change (analysis/math/owen_values.h). The residual is what a simulation of B as it was
/// given says beyond that: 0 up to rounding, or a factor was forgotten.
Result<Comparison> compare_jobs(const JobPair& pair, const CounterfactualOptions& options);

}  // namespace ergometer::compare
