#pragma once

#include "cli/record/record_options.h"
#include "record/wait.h"

namespace ergometer::cli {

/// Mean difference of pairs of run times, in percent of the mean of the first of each, with its
/// 95 % confidence interval by Student's t distribution.
struct Change {
  double mean_without_s = 0, mean_with_s = 0;
  double percent = 0, low_percent = 0, high_percent = 0;
};
/// At least two pairs.
Change change_of(const std::vector<double>& without_s, const std::vector<double>& with_s);

/// `record --self-test`: what recording costs; with a command, by running it with and without.
Result<int> run_self_test(const RecordOptions& options, const record::Signals& signals,
                          const Console& console);

}  // namespace ergometer::cli
