#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibration/least_squares.h"
#include "calibration/parameter_list.h"
#include "validation/rows/measured_run.h"

namespace ergometer::calibration {

/// A measured row that the fit uses.
struct Sample {
  std::string id, group, source;
  std::string series;  ///< model and GPU: what cross-validation keeps together
  double measured_s = 0;
  double weight = 0;  ///< 1 / rows used of its group: every group weighs 1
  spec::Job job;
  std::vector<size_t> parameters;  ///< of the list, that the job reads
};

struct Samples {
  std::vector<Sample> rows;
  int64_t tier_c = 0;        ///< left out because a main piece is missing or digitised
  int64_t source = 0;        ///< left out because the list says so of their source
  int64_t refused = 0;       ///< left out because they make no job
  int64_t without_time = 0;  ///< left out because nothing gives their step time
  int64_t thinned = 0;       ///< left out because their group is large
};

/// How far a long calibration is. All may be empty; `advance` is called from any thread.
struct Watcher {
  std::function<void(const std::string& phase, size_t total)> begin;
  std::function<void()> advance;
  std::function<void(const std::string& line)> say;
};

/// The rows that can be fitted. Of a group with more than `list.rows_per_group` rows every n-th is
/// taken, n the smallest that keeps the limit.
Samples make_samples(const std::vector<validation::MeasuredRun>& runs, const ParameterList& list,
                     size_t threads, const Watcher& watcher);

/// Whether lowering and planning read the parameter, not pricing alone: a profile's passes over
/// memory and fixed times are operators of the plan.
bool stands_in_plan(const FittedParameter& parameter);

/// The residuals log(predicted / measured) of samples over x, by simulation. A row that cannot be
/// priced has residual 0 and no slopes.
class Objective {
 public:
  Objective(const std::vector<Sample>& samples, const ParameterList& list, size_t threads,
            const Watcher& watcher)
      : samples_(samples), list_(list), threads_(threads), watcher_(watcher) {}

  /// Of the rows whose entry in `rows` is above 0; the others get 0.
  std::vector<double> residuals(std::span<const double> x, std::span<const double> rows) const;
  /// With slopes by one-sided differences, inside the bounds and with contention held as it is at x
  /// (but for its own parameters: several times sooner), over the parameters that a row's job
  /// reads and that `held` does not name.
  Linearised linearise(std::span<const double> x, std::span<const double> rows,
                       const std::vector<bool>& held) const;

 private:
  const std::vector<Sample>& samples_;
  const ParameterList& list_;
  size_t threads_;
  const Watcher& watcher_;
};

}  // namespace ergometer::calibration
