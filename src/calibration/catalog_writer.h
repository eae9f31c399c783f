#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::calibration {

/// What becomes of one number of a catalog file.
struct Replacement {
  std::string name;    ///< "gemm.efficiency"
  double value = 0;    ///< in the base unit; written with 4 significant digits in the file's unit
  std::string source;  ///< without quotes
  std::string grade = "fitted";
};

/// The catalog file `text` with value, source and grade of one parameter replaced, every other byte
/// as it was. The parameter stands on one line, as everywhere in the catalog:
///
///   gemm.efficiency: {value: 0.72, source: "...", grade: assumed}
///
/// Anything else is an error that names `file`.
Result<std::string> replace_parameter(std::string_view text, const std::string& file,
                                      const Replacement& replacement);

/// Four significant digits without exponent where that is short: "0.7213", "1712", "11.27".
std::string four_digits(double value);

}  // namespace ergometer::calibration
