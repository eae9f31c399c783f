#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"
#include "spec/job/cluster.h"

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

/// A number that shapes a class of kernels and that no factor of a cluster moves.
struct FormNumber {
  std::string_view kernels;    ///< the class
  std::string_view parameter;  ///< of a GPU
  double sigma;                ///< of its logarithm: how far off the catalog may be
};
std::span<const FormNumber> form_numbers();
/// The number times exp(`by`), inside its own range; nothing where the GPU has none.
void move_form(spec::Cluster& cluster, const FormNumber& number, double by);

/// By how much of their sigma a class's numbers are off, as a trace tells whose kernels scatter by
/// `scatter` where numbers off by their sigma would make it `expected`: the ratio of both, each
/// with the 1 % added that kernels scatter by themselves (assumed), so that it is 1 where shapes
/// are too much alike to tell. At most 3: what scatters more are other kernels than the model's.
double form_share(double scatter, double expected);

/// How far the model's form is off in a step of which a class takes `shares`: the root of the sum
/// of (share x scatter)^2 over classes that both have.
double form_deviation(const Durations& recorded, const Durations& predicted,
                      const std::map<std::string, double, std::less<>>& shares);

}  // namespace ergometer::calibration::twin
