#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::spec {

/// What a user may write for a quantity: with any unit of its kind, or as a plain number, which is
/// in `unit`.
struct MeasureRange {
  std::string_view unit;  ///< "MHz", "W", "%", "s"; empty: a pure number
  double min, max;        ///< in the base unit ("Hz", "W", "", "s"), inclusive

  /// The value in the base unit. The error says found and allowed, without a place:
  /// `found "9 GHz"; allowed: from 345 to 1980 MHz`.
  Result<double> read(std::string_view text) const;
  /// "from 345 to 1980 MHz".
  std::string allowed() const;
};

}  // namespace ergometer::spec
