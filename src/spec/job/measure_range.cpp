#include "spec/job/measure_range.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

/// One of `unit` in its base unit.
base::Measure one_of(std::string_view unit) {
  const auto one = base::parse_measure(fmt::format("1 {}", unit));
  ERGOMETER_CHECK(one.has_value(), "a range in an unknown unit");
  return *one;
}

}  // namespace

std::string MeasureRange::allowed() const {
  const double one = one_of(unit).value;
  return fmt::format("from {:g} to {:g}{}{}", min / one, max / one, unit.empty() ? "" : " ", unit);
}

Result<double> MeasureRange::read(std::string_view text) const {
  const bool plain = base::parse_number(text).has_value();
  const auto value = base::parse_measure(
      plain ? fmt::format("{} {}", text, unit) : std::string(text), one_of(unit).unit);
  if (value && *value >= min && *value <= max) return *value;
  const std::string shown(text.substr(0, 60));
  const bool duration = unit == "s" && !value;
  return input_error("found \"{}\"; allowed: {}{}", shown, allowed(),
                     duration ? ", written like 90s, 30min, 12h, 60d or 6 weeks" : "");
}

}  // namespace ergometer::spec
