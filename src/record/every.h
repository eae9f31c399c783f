#pragma once

#include <algorithm>
#include <chrono>

namespace ergometer::record {

/// Says when it is time again; the first time at once.
class Every {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Every(Clock::duration every) : every_(every) {}
  bool due(Clock::time_point now) {
    if (now < next_) return false;
    next_ = std::max(next_ + every_, now + every_ / 2);  // no drift, no rush to catch up
    return true;
  }

 private:
  Clock::duration every_;
  Clock::time_point next_;
};

}  // namespace ergometer::record
