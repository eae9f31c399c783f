#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/console/command.h"

namespace ergometer::cli {

/// The whole number that an option says; `fallback` where it is not given.
Result<int64_t> whole_number(const Arguments& arguments, std::string_view flag, int64_t fallback,
                             int64_t lowest, int64_t highest);

/// A length of time as options take one, in seconds: "90", "90 s", "10m", "10 min", "2h". Nothing
/// where it is none.
std::optional<double> parse_seconds(std::string text);

}  // namespace ergometer::cli
