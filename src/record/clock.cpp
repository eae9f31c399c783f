#include "record/clock.h"

#include <sys/timex.h>
#include <time.h>

#include "record/source.h"

namespace ergometer::record {
namespace {

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

}  // namespace

run::ClockReading read_clocks() {
  constexpr int64_t kMicrosecond = 1000;
  run::ClockReading reading;
  const int64_t before = monotonic_ns();
  reading.time_ns = now_ns();
  reading.monotonic_ns = before + (monotonic_ns() - before) / 2;
  timex kernel{};
  if (adjtimex(&kernel) >= 0 && (kernel.status & STA_UNSYNC) == 0)
    reading.max_error_ns = int64_t{kernel.maxerror} * kMicrosecond;
  return reading;
}

}  // namespace ergometer::record
