#include "analysis/telemetry/moment.h"

#include <fmt/format.h>

#include <chrono>

#include "base/text.h"

namespace ergometer::analysis {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

bool is_date(int64_t time_ns) {
  constexpr int64_t kYearNs = int64_t{365} * 86400 * 1000 * kNsPerMs;
  return time_ns >= kYearNs;
}

std::string format_moment(int64_t time_ns) {
  namespace chrono = std::chrono;
  if (!is_date(time_ns)) return base::format_nanoseconds(time_ns);
  const chrono::sys_time<chrono::milliseconds> time{chrono::milliseconds{time_ns / kNsPerMs}};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss<chrono::milliseconds> of_day{time - day};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, of_day.hours().count(),
                     of_day.minutes().count(), of_day.seconds().count(),
                     of_day.subseconds().count());
}

}  // namespace ergometer::analysis
