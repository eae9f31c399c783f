#pragma once

#include <time.h>

#include <cstdint>

#include "run/host_clock.h"

namespace ergometer::record {

inline constexpr int64_t kNsPerSecond = 1'000'000'000;

/// What one of the system's clocks says, in nanoseconds.
int64_t clock_ns(clockid_t clock);

/// This host's clocks now: CLOCK_REALTIME and CLOCK_MONOTONIC, and the kernel's bound on the error
/// of the former (adjtimex), 0 where nothing keeps it.
run::ClockReading read_clocks();

}  // namespace ergometer::record
