#pragma once

#include <chrono>
#include <cstdint>

namespace ergometer::record {

/// Points in time a period apart, counted from the start so that no error adds up.
class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  Deadlines(Clock::time_point start, double period_s) : start_(start), period_s_(period_s) {}

  Clock::time_point next() const { return at(tick_); }
  /// Goes on to the next point, or, where that is a period ago, to the latest that has passed.
  /// Returns how many were passed over.
  int64_t advance(Clock::time_point now);

 private:
  Clock::time_point at(int64_t tick) const;

  Clock::time_point start_;
  double period_s_;
  int64_t tick_ = 0;
};

}  // namespace ergometer::record
