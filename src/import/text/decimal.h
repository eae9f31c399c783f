#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ergometer::importer {

/// The largest time in nanoseconds that is read, either side of zero, 146 years: sums and
/// differences of two stay within 64 bits.
inline constexpr int64_t kLargestTime = (int64_t{1} << 62) - 1;

/// A JSON number of microseconds as whole nanoseconds, from its digits and never through a double,
/// which has steps of 0.25 us at today's epoch time: "1428625731622.25" gives 1428625731622250.
/// Digits below a nanosecond round to the nearest, a half to the even one. Exponents are read.
/// Nothing for what is not a number and for what lies beyond kLargestTime.
std::optional<int64_t> nanoseconds(std::string_view microseconds);

/// A whole number, as JSON writes one: "12", "-3", also "12.0" and "1.2e1". Nothing for the rest.
std::optional<int64_t> whole_number(std::string_view text);

}  // namespace ergometer::importer
