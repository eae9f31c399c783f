#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "run/device_log.h"

namespace ergometer::calibration::twin {

constexpr size_t kFewestReadings = 8;  ///< below which their scatter says little of their mean's

/// One standard deviation of the mean of readings, in order of time: the larger of what their
/// scatter says if none depends on another, and of what the means of eight equal stretches do, as
/// readings that follow each other count once.
/// Worked: 0 1 0 1 ... 64 times: 0.5 / 8; 32 zeros and 32 ones: 0.53 / sqrt(8).
double sampling_error(std::span<const run::Sample> samples);

/// How much warmer GPUs will yet become, K, their median: their rise from the first to the second
/// half of the readings, as if heat settled in 40 s (assumed: of a cooler's heat capacity and
/// resistance). 0 where too few readings say.
double rise_to_come_k(const run::DeviceLog& log);

/// The later half, by time, of the log's readings.
run::DeviceLog later_half(const run::DeviceLog& log);

}  // namespace ergometer::calibration::twin
