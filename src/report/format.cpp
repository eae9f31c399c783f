#include "report/format.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace ergometer::report {

std::string format_parameters(double count) {
  if (count >= 0.9995e12) return fmt::format("{:.2f} T", count / 1e12);
  if (count >= 99.95e9) return fmt::format("{:.0f} B", count / 1e9);
  if (count >= 0.9995e9) return fmt::format("{:.1f} B", count / 1e9);
  return fmt::format("{:.0f} M", count / 1e6);
}

std::string format_share(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:.1f} %", std::abs(percent) < 0.05 ? 0 : percent);  // never "-0.0 %"
}

std::string format_change(double fraction) {
  const double percent = 100 * fraction;
  return std::abs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

std::string format_share(int64_t part, int64_t whole) {
  return whole > 0 ? format_share(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

std::string format_probability(double p) {
  constexpr double kNearly = 0.995;
  if (p >= kNearly) return "> 99 %";
  if (p < 1 - kNearly) return "< 1 %";
  return fmt::format("{:.0f} %", 100 * p);
}

std::string format_gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / kGib); }

std::string format_quantity(double value, std::string_view unit) {
  if (unit.empty()) return fmt::format("{:.6g}", value);
  if (unit == "s") return base::format_seconds(value);
  return base::format_si(value, unit);
}

}  // namespace ergometer::report
