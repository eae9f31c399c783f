#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::calibration::twin {

/// Durations of kernels by class, "gemm", "attention" and "memory", ascending, s.
using Durations = std::map<std::string, std::vector<double>, std::less<>>;
Durations durations_of(const std::vector<run::RankTrace>& ranks);

/// Of both sides, how long a kernel is below which `share` of the class's time lies, compared:
/// the standard deviation of ln(recorded / predicted) over shares of 5 to 95 %. What one factor for
/// the class cannot take away, because some kernels of it are off by more than others.
/// Worked: 1 and 3 s against 1 and 6 s: of the 19 shares 2 compare 1 s with 1, 3 compare 1 with 6,
/// and 14 compare 3 with 6: their logarithms deviate by 0.48.
double scatter_of(const std::vector<double>& recorded, const std::vector<double>& predicted);

/// How far the model's form is off in a step of which a class takes `shares`: the root of the sum
/// of (share x scatter)^2 over classes that both have.
double form_deviation(const Durations& recorded, const Durations& predicted,
                      const std::map<std::string, double, std::less<>>& shares);

}  // namespace ergometer::calibration::twin
