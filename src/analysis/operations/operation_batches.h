#pragma once

#include <vector>

#include "run/operations.h"

namespace ergometer::analysis {

/// How long every forward and backward would be if micro batches were of one length, in
/// microseconds, by operation; negative for all others. A rank's mean over all steps, times how
/// much longer than its mean over all steps its stage takes in this one: slow ranks and slow steps
/// remain.
std::vector<double> even_batches_us(const run::OperationTimeline& timeline);

/// How micro batches differ.
struct BatchVariation {
  /// Of a stage's forward of a micro batch with the mean of the other stages', as shares of what
  /// even ones would take: Pearson's, -1 to 1; 0 with one stage.
  double correlation = 0;
  double spread = 0;  ///< root mean square of these shares
};
BatchVariation batch_variation(const run::OperationTimeline& timeline,
                               const std::vector<double>& even_us);

}  // namespace ergometer::analysis
