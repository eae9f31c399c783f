#pragma once

#include "base/result.h"
#include "plan/plan.h"
#include "spec/job.h"

namespace ergometer::engine {

/// A job lowered and planned once, to be priced many times with other parameters: what calibration
/// asks thousands of times, without memory, links and lists of kernels.
class Prepared {
 public:
  explicit Prepared(const spec::Job& job);

  /// The step time that `simulate` finds for `priced`, which differs from the job of the
  /// constructor in parameters of the catalog only. Any number of threads may ask at a time.
  base::Result<double> step_time_s(const spec::Job& priced) const;

 private:
  plan::Plan plan_;
};

}  // namespace ergometer::engine
