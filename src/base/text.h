#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::base {

// Numbers for people: three significant digits and a unit, the same on every machine.

std::string format_binary_bytes(double bytes);  ///< "97.1 GiB"
std::string format_bytes(double bytes);         ///< "104 GB"
/// "1.23 TFLOP/s"; without a unit "1.23 T".
std::string format_si(double value, std::string_view unit = "");
std::string format_seconds(double seconds);   ///< "7.95 s", "312 us", "2.50 min", "3.00 h"
std::string format_percent(double fraction);  ///< 0.413 is "41.3 %"
std::string format_count(int64_t count);      ///< "1,536"

/// A number with its unit, in the base unit: "80 GB" is 8e10 and "B", "400 Gb/s" is 5e10 and "B/s".
struct Measure {
  double value = 0;
  /// "B", "B/s", "FLOP", "FLOP/s", "Hz", "s", "W", "W/s", "J", "J/FLOP", "J/B", "J/K", "K/W",
  /// "W/K", "/K", "C", or empty for a pure number.
  std::string unit;
};

/// Reads "989 TFLOP/s", "3.35 TB/s", "80 GiB", "1.98 GHz", "2.5 us", "256 M", "35 %"; the space is
/// optional. Prefixes p n u m k M G T P E, for bytes also Ki Mi Gi Ti. No NaN, no infinity, nothing
/// behind the unit. The value is the double nearest to what is written: "3.35 TB/s" equals 3.35e12.
/// Messages name what was found and what is allowed; file and line are the caller's to add.
Result<Measure> parse_measure(std::string_view text);
/// The same, and the unit must be `unit`.
Result<double> parse_measure(std::string_view text, std::string_view unit);

/// A plain number or integer and nothing else: "0.5", "1e-3"; "4096".
Result<double> parse_number(std::string_view text);
Result<int64_t> parse_integer(std::string_view text);
/// The same, or with a comma before every three digits: "1,024".
Result<int64_t> parse_count(std::string_view text);

/// ASCII letters in lower case.
char lower(char c);
std::string lower(std::string_view text);

inline bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != text.npos;
}

/// Without the blanks at its ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

/// The parts between separators; an empty text has none, "a," has "a" and an empty one.
std::vector<std::string> split(std::string_view text, char separator);

/// "https://user:secret@host/" as "https://user:***@host/", wherever it stands in a text.
std::string hide_passwords(std::string_view text);

}  // namespace ergometer::base
