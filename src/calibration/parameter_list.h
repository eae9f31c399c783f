#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/cluster/parameter_table.h"
#include "spec/job/job.h"

namespace ergometer::calibration {

/// A number of a catalog file.
struct Target {
  spec::ParameterOwner owner = spec::ParameterOwner::kKernels;
  std::string file;   ///< "kernels/hopper"
  std::string entry;  ///< "hopper"
  double prior = 0;   ///< in the parameter's base unit, above 0
};

/// One degree of freedom of the fit: x, the logarithm of the factor between a target's value and
/// its prior. A parameter with several targets is a factor that they share.
struct FittedParameter {
  std::string name;  ///< as in the parameter table: "gemm.efficiency"
  std::vector<Target> targets;
  double sigma = 0;             ///< of x: how far from the prior it may well lie
  double lower = 0, upper = 0;  ///< of x: every target stays inside the bounds of its value

  /// "kernels/hopper gemm.efficiency", "kernels/ampere, kernels/hopper gemm.wgrad".
  std::string title() const;
};

/// Numbers of the catalog that somebody chose by looking at the runs of a source, and what one
/// would take without them: priors of the fit as well as what nothing fits.
struct Settled {
  std::string name;
  std::vector<Target> targets;       ///< `prior`: the value to take instead, 0 or above
  std::vector<std::string> sources;  ///< parts of the names of the sources looked at
};

/// What is fitted, and how. The file is catalog/calibration.yaml:
///
///   noise: 0.06           relative error that a group of rows has anyway
///   freedom: 4            of the Student t distribution that residuals follow
///   rows_per_group: 60    of larger groups, evenly spread rows
///   leave_out: "CI"       optional: rows whose source contains this measure something else
///   parameters:
///     - {name: gemm.efficiency, of: {kernels/hopper: 0.72}, sigma: 0.1, min: 0.5, max: 0.9,
///        source: "why this prior"}
///   settled:              optional: what a fit without a source may not use
///     - {name: gemm.odd, of: {kernels/ampere: 1}, seen_in: [vTrain], source: "why this value
///     instead"}
struct ParameterList {
  double noise = 0, freedom = 0;
  int64_t rows_per_group = 0;
  std::string leave_out;  ///< empty: no source
  std::vector<FittedParameter> parameters;
  std::vector<Settled> settled;
  /// "h100-pcie-80gb gemm.efficiency": kernel parameters that a GPU's own file gives.
  std::set<std::string, std::less<>> given_by_gpu;
};

/// Wrong names, units, values out of range and
/// parameters that the named catalog file lacks are input errors.
Result<ParameterList> read_parameter_list(const std::string& path);
Result<ParameterList> parse_parameter_list(std::string_view yaml, const std::string& file);

/// The list with what was settled on runs of this source replaced: a prior of the fit in its place,
/// a number that nothing fits as one more parameter, held, behind the list's own.
ParameterList without_source(const ParameterList& list, std::string_view source);

/// Which parameters of the list the job reads, ascending.
std::vector<size_t> parameters_used(const ParameterList& list, const spec::Job& job);

/// Puts the values at `x`, one a parameter of the list, into the job; only `used` ones.
void apply(const ParameterList& list, std::span<const double> x, std::span<const size_t> used,
           spec::Job& job);

}  // namespace ergometer::calibration
