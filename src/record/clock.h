#pragma once

#include <cstdint>

#include "run/host_clock.h"

namespace ergometer::record {

inline constexpr int64_t kNsPerSecond = 1'000'000'000;

/// This host's clocks now: CLOCK_REALTIME and CLOCK_MONOTONIC, and the kernel's bound on the error
/// of the former (adjtimex), 0 where nothing keeps it.
run::ClockReading read_clocks();

}  // namespace ergometer::record
