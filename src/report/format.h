#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/wrap.h"

namespace ergometer::report {

// What base/text.h does not format: numbers of this field.

std::string format_parameters(double count);  ///< billions: "70.6 B", "124 M", "1.01 T"
std::string format_share(double fraction);    ///< always one decimal, for columns: "3.1 %"
std::string format_share(int64_t part, int64_t whole);  ///< "-" of nothing
std::string format_change(double fraction);             ///< "+3.1 %", "-0.2 %"; "0.0 %" has no sign
std::string format_probability(double p);               ///< "62 %", "> 99 %", "< 1 %"
inline constexpr double kGib = 1073741824.0;            ///< bytes
std::string format_gib(double bytes);                   ///< the same, for columns: "60.0 GiB"
/// "1 node", "2 nodes".
std::string counted(std::integral auto count, std::string_view one) {
  return std::to_string(count).append(" ").append(one).append(count == 1 ? "" : "s");
}
using base::wrap;
/// With an SI prefix in front of the unit: 9.895e14 and "FLOP/s" give "990 TFLOP/s". A pure number
/// has no prefix.
std::string format_quantity(double value, std::string_view unit);

}  // namespace ergometer::report
