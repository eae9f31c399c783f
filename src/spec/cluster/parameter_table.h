#pragma once

#include <span>
#include <string_view>

namespace ergometer::spec {

/// Which kind of catalog file may give a parameter.
enum class ParameterOwner { kGpu, kKernels, kPower, kNode, kCooling, kCollectives, kSoftware };

/// One row of the table of all parameters: what catalog files may say, in which unit and range.
struct ParameterInfo {
  ParameterOwner owner;
  std::string_view name;  ///< "gemm.k_ramp"
  /// Base unit: "FLOP/s", "B/s", "B", "s", "Hz", "W", "C", "J/FLOP", "J/B", "J/K", "K/W", "W/K",
  /// "/K"; "" for a pure number.
  std::string_view unit;
  double min, max;  ///< allowed values in the base unit, inclusive
  bool required;
  std::string_view meaning;
};

std::span<const ParameterInfo> parameter_table();
const ParameterInfo* find_parameter(ParameterOwner owner, std::string_view name);

}  // namespace ergometer::spec
