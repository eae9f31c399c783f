#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ergometer::importer {

inline constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi;

std::string_view trim(std::string_view text);

/// A number and nothing else; NaN and infinity are numbers, hexadecimal with 0x too.
std::optional<double> number(std::string_view text);

/// Seconds in decimal digits as whole nanoseconds, exact.
std::optional<int64_t> seconds_to_ns(std::string_view seconds);

/// A point in time as whole nanoseconds since 1970: "2023/07/14 10:12:46.483",
/// "2023-07-14T10:12:46.483+02:00", or a number of seconds, of milli-, micro- or nanoseconds, told
/// apart by its size. A time without zone counts as UTC.
std::optional<int64_t> time_to_ns(std::string_view text);

/// What a cell in a table says.
struct Cell {
  enum class Kind : uint8_t {
    kNumber,
    kMissing,  ///< "[N/A]", "[Not Supported]", nothing
    kBad,      ///< neither
  };
  Kind kind = Kind::kBad;
  double value = 0;
  std::string_view unit;  ///< behind the number; empty where none stands
};
Cell read_cell(std::string_view text);

/// The factor from a unit to what a metric is kept in: "mW" to "W" is 0.001. Nothing where they do
/// not belong together. An empty unit is the metric's own.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

}  // namespace ergometer::importer
