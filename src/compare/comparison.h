#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ergometer::compare {

/// The 90 % interval of a prediction; none of what was measured.
struct Range {
  double low = 0, high = 0;

  bool known() const { return high > low; }
  /// `error`: half the 90 % interval of what was measured, relative: it may lie inside.
  bool holds(double value, double error = 0) const {
    return low <= value * (1 + error) && value * (1 - error) <= high;
  }
};

/// A number of both sides. What of it is explained stands under the same name in the causes.
struct Quantity {
  std::string name;  ///< "step_time_s", "energy_j_per_step", ...
  std::string unit;  ///< base unit
  double a = 0, b = 0;
  Range a_range = {}, b_range = {};  ///< of a predicted side, where its Run has one
  /// What the sensors of a measured side leave open: half its 90 % interval, relative.
  double a_error = 0, b_error = 0;

  double difference() const { return b - a; }
  /// One side was measured, and the other is predicted with an interval.
  bool is_held_to_prediction() const { return a_range.known() != b_range.known(); }
  /// Outside is what is so for sure, whatever its sensor is off.
  bool is_inside() const {
    return a_range.known() ? a_range.holds(b, b_error) : b_range.holds(a, a_error);
  }
};

/// A setting or fact that differs, in words.
struct Difference {
  std::string name, a, b;
};

/// One thing that differs, and what of the differences it makes.
struct Cause {
  std::string id;                        ///< "recomputation", "network", ...
  std::string title;                     ///< "recomputation"
  std::string detail;                    ///< "recompute_granularity none -> full"
  std::map<std::string, double> amount;  ///< share of b - a by quantity
  std::map<std::string, double> parts;   ///< of the step time by part of the breakdown, seconds
  std::vector<Difference> differences;
};

enum class Method : uint8_t {
  kCounterfactual,  ///< jobs with some of the causes changed were simulated
  kMeasured         ///< parts of the step as they were measured, side by side
};

/// Why B is not as fast as A.
struct Comparison {
  Method method = Method::kCounterfactual;
  std::string a, b;  ///< what the user calls them
  std::vector<Quantity> quantities;
  std::vector<Quantity> parts;  ///< of the step time, "compute", "exposed_all_reduce", ...
  std::vector<Quantity> facts;  ///< beside each other, not explained
  std::vector<Cause> causes;    ///< the one that makes most of the step time's difference first
  std::map<std::string, double> residual, parts_residual;
  std::vector<Difference> differences;  ///< all of them
  std::vector<Difference> derived;      ///< settings that nobody gave and that follow from these
  std::vector<std::string> notes;       ///< what to know before believing it
  /// Of what was measured: the quantities and facts that lie outside the other side's 90 %
  /// interval.
  std::vector<std::string> outside;
  std::string verdict;  ///< what it comes to, a sentence
  int64_t simulations = 0;
};

}  // namespace ergometer::compare
