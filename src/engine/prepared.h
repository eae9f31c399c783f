#pragma once

#include <vector>

#include "base/result.h"
#include "engine/outcome/interval.h"
#include "engine/time/timeline.h"
#include "plan/plan.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// A job lowered and planned once, to be priced many times with other parameters: what calibration
/// asks thousands of times, without memory, links and lists of kernels.
///
/// A step of many micro batches is not played to its end: behind the pipeline's warm-up every group
/// of micro batches takes the same time, so two shorter steps of m1 and m2 micro batches tell that
/// of m,
///   t(m) = t(m2) + (m - m2) (t(m2) - t(m1)) / (m2 - m1),
/// and so for every part of it. Where the program is periodic this is exact; a test holds it to
/// `simulate` within 0.5 %.
///
/// In those steps a host may live on a lead that it got while its GPU waited, for parameters or for
/// the pipeline to fill, and that the micro batches left out use up. What a role's host needs more
/// for them than the GPUs,
///   (m - m2) (c(m2) - c(m1) - t(m2) + t(m1)) / (m2 - m1),   c: its launches,
/// is therefore taken off its lead in the midst of the longer step, which is played once more. That
/// is exact for the step, as every path through the whole step is then one through this: it follows
/// the host up to somewhere and the GPUs from there. Which of several stages waits for its host and
/// which for its neighbours is not: their gaps may be too long.
class Prepared {
 public:
  explicit Prepared(const spec::Job& job);

  /// The timeline that `simulate` finds for `priced`, which differs from the job of the constructor
  /// in parameters of the catalog only; without spans. Any number of threads may ask at a time.
  Result<Timeline> timeline(const spec::Job& priced) const;
  /// Its step time.
  Result<double> step_time_s(const spec::Job& priced) const;
  /// The same, several times sooner, with contention as it settled for prices near these: `settled`
  /// is filled when empty, else used. What it leaves out is how contention answers the change.
  Result<double> step_time_s(const spec::Job& priced, std::vector<Stretch>& settled) const;

 private:
  Result<Timeline> play_all(const spec::Job& priced, std::vector<Stretch>& settled) const;

  struct Step {
    int64_t micro_batches = 0;
    plan::Plan plan;
  };
  std::vector<Step> steps_;  ///< one or two
  int64_t micro_batches_ = 0;
};

struct Estimate {
  run::Performance performance;
  run::Memory memory;
  double allocated_after_step_bytes = 0;  ///< between steps, without activations
};
/// What `simulate` says about a job's time and memory, sooner: long steps as above; no links,
/// ranks, kernels and limiter.
Result<Estimate> estimate(const spec::Job& job);
/// Its performance alone, with the interval as it is where these runs were seen instead of the
/// catalog's.
Result<run::Performance> estimate_performance(const spec::Job& job,
                                              const std::vector<Evidence>& evidence);

}  // namespace ergometer::engine
