#pragma once

#include <string>

#include "base/result.h"
#include "engine/simulate.h"
#include "spec/job/job.h"

namespace ergometer::compare {

/// A job whose stages train apart, beside the same with all stages together: its recovery steps.
struct TrainedApart {
  double apart_s = 0, together_s = 0;  ///< a step
  double recovery_steps = 0;           ///< the share of steps that are of the second kind
  double together_peak_bytes = 0;      ///< of the fullest GPU, without heads of its own
  bool together_fits = true;

  double mean_s() const { return apart_s + recovery_steps * (together_s - apart_s); }
};

/// `apart`: the Run of `job`.
Result<TrainedApart> trained_apart(const spec::Job& job, const run::Run& apart);

/// As a sentence: "--stage-training: 4.00 s a step where stages train apart, 6.00 s together; with
/// 25 % ...".
std::string to_text(const TrainedApart& trained);

}  // namespace ergometer::compare
