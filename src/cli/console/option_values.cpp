#include "cli/console/option_values.h"

#include "base/text.h"

namespace ergometer::cli {

Result<int64_t> whole_number(const Arguments& arguments, std::string_view flag, int64_t fallback,
                             int64_t lowest, int64_t highest) {
  if (!arguments.has(flag)) return fallback;
  const auto number = base::parse_integer(arguments.value(flag));
  if (number && *number >= lowest && *number <= highest) return *number;
  return input_error("--{}: found '{}', allowed: a whole number from {} to {}", flag,
                     arguments.value(flag), lowest, highest);
}

std::optional<double> parse_seconds(std::string text) {
  if (text.ends_with('m')) text += "in";  // minutes, no thousandths
  const auto measure = base::parse_measure(text);
  if (!measure || (measure->unit != "s" && !measure->unit.empty())) return std::nullopt;
  return measure->value;
}

}  // namespace ergometer::cli
