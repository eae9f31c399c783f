#include "record/deadlines.h"

#include <algorithm>
#include <cmath>

namespace ergometer::record {

using Seconds = std::chrono::duration<double>;

Deadlines::Clock::time_point Deadlines::at(int64_t tick) const {
  return start_ + std::chrono::duration_cast<Clock::duration>(
                      Seconds(static_cast<double>(tick) * period_s_));
}

int64_t Deadlines::advance(Clock::time_point now) {
  const auto passed = static_cast<int64_t>(std::floor(Seconds(now - start_).count() / period_s_));
  const int64_t following = tick_ + 1;
  tick_ = std::max(following, passed);
  return tick_ - following;
}

}  // namespace ergometer::record
