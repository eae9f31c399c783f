#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/wrap.h"

namespace ergometer::report {

// What base/text.h does not format: numbers of this field.

std::string format_parameters(double count);  ///< billions: "70.6 B", "124 M", "1.01 T"
std::string format_share(double fraction);    ///< always one decimal, for columns: "3.1 %"
std::string format_share(int64_t part, int64_t whole);  ///< "-" of nothing
std::string format_probability(double p);               ///< "62 %", "> 99 %", "< 1 %"
using base::wrap;
/// With an SI prefix in front of the unit: 9.895e14 and "FLOP/s" give "990 TFLOP/s". A pure number
/// has no prefix.
std::string format_quantity(double value, std::string_view unit);

}  // namespace ergometer::report
