#pragma once

#include <optional>
#include <string_view>

#include "spec/job/job.h"

namespace ergometer::validation {

/// When runs of a benchmark evaluate and stand still: a row of catalog/tables/benchmark_runs.csv.
struct BenchmarkRun {
  double eval_every = 0, eval_from = 0, eval_samples = 0;  ///< samples
  double eval_pause_s = 0, pause_s = 0;
  double pause_deviation = 0;  ///< of all pauses, by run: a standard deviation, relative
};

/// Nothing where the table does not have it. `model`: as a row writes it.
std::optional<BenchmarkRun> benchmark_run(std::string_view release, std::string_view model,
                                          std::string_view task);

/// The phases of such a run that lasted `length_s`, in steps of `global_batch` samples; the last
/// batch of an evaluation may be part of one, and takes as long.
spec::RunPhases phases_of(const BenchmarkRun& run, double length_s, double global_batch);

}  // namespace ergometer::validation
