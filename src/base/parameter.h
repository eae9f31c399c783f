#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ergometer::base {

/// How well a number is known.
enum class Grade { kDatasheet, kMeasured, kFitted, kAssumed };

std::string_view to_string(Grade grade);

/// One number of a model, traceable: what it is, in which unit, who says so.
struct Parameter {
  double value =
      0;  ///< in the unit below, already converted to the base unit (FLOP/s, B/s, J/B, K/W, ...)
  std::string unit;    ///< base unit; empty for a pure number
  std::string source;  ///< document, file or fit the value was taken from
  Grade grade = Grade::kAssumed;
};

/// Named parameters of a GPU, a node or a fabric, as the catalog file gives them ("gemm.k_ramp").
/// Which names exist, with unit and range, is one table: `spec/cluster/parameter_table.h`.
class ParameterSet {
 public:
  void set(std::string name, Parameter parameter) {
    parameters_[std::move(name)] = std::move(parameter);
  }
  bool has(std::string_view name) const { return parameters_.find(name) != parameters_.end(); }
  const Parameter* find(std::string_view name) const;
  /// The value; a missing name is our bug: the reader has made sure that the required ones are
  /// there.
  double at(std::string_view name) const;
  double value_or(std::string_view name, double fallback) const;
  const std::map<std::string, Parameter, std::less<>>& all() const { return parameters_; }

 private:
  std::map<std::string, Parameter, std::less<>> parameters_;
};

}  // namespace ergometer::base
