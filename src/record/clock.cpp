#include "record/clock.h"

#include <sys/timex.h>

#include "record/source.h"

namespace ergometer::record {

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

run::ClockReading read_clocks() {
  constexpr int64_t kMicrosecond = 1000;
  run::ClockReading reading;
  const int64_t before = clock_ns(CLOCK_MONOTONIC);
  reading.time_ns = now_ns();
  reading.monotonic_ns = before + (clock_ns(CLOCK_MONOTONIC) - before) / 2;
  timex kernel{};
  if (adjtimex(&kernel) >= 0 && (kernel.status & STA_UNSYNC) == 0)
    reading.max_error_ns = int64_t{kernel.maxerror} * kMicrosecond;
  return reading;
}

}  // namespace ergometer::record
