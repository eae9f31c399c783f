#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameter.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// Where a number comes from: what it is, the formula, and the same for every input, down to what
/// the user wrote or the catalog holds.
struct Explanation {
  std::string name;
  std::string text;              ///< the value as a person reads it, with its unit
  std::optional<double> number;  ///< the value in its base unit, where it is a number
  std::string formula;  ///< "tokens / step_time_s"; or a sentence that says how it was found
  std::string source;   ///< who says so: an option, a file and line, a data sheet with its grade
  std::vector<Explanation> inputs;
};

/// A number with its unit, written with a prefix; memory in binary units.
Explanation number_node(std::string name, double value, std::string_view unit,
                        std::string formula = {}, std::string source = {});
Explanation memory_node(std::string name, double bytes, std::string formula = {},
                        std::string source = {});
/// "datasheet; NVIDIA data sheet 2024": how well a parameter is known and who says so.
std::string credit(const base::Parameter& parameter);

/// An indented tree, 80 columns wide.
std::string to_text(const Explanation& explanation, const TextStyle& style);
std::string to_json(const Explanation& explanation);

}  // namespace ergometer::report
