#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::calibration::twin {

constexpr size_t kFewestReadings = 8;  ///< below which their scatter says little of their mean's

/// One standard deviation of the mean of readings, in order of time: the larger of what their
/// scatter says if none depends on another, and of what the means of eight equal stretches do, as
/// readings that follow each other count once.
/// Worked: 0 1 0 1 ... 64 times: 0.5 / 8; 32 zeros and 32 ones: 0.53 / sqrt(8).
double sampling_error(std::span<const run::Sample> samples);

/// How far GPUs are from as warm as they become, K, their median: how much warmer the second half
/// of the readings is than the first, and as much as is then to come if heat settles in 40 s
/// (assumed: of a cooler's heat capacity and resistance), whichever is more. The last eighth
/// against the first is asked too: the smaller of both counts, and 0 where one rises and the other
/// falls, as a step's own ups and downs do. Half a sensor's degree counts as nothing; 0 where too
/// few readings say.
double unsettled_k(const run::DeviceLog& log);

/// The readings between the first and the last at which GPUs work, their median: power at least
/// half way from its lowest to its 95th percentile. What lies before or behind counts only if it
/// takes five seconds or more: steps have pauses of their own.
run::DeviceLog at_work(const run::DeviceLog& log);

/// Readings of GPUs that are as warm as they become.
struct Settled {
  run::DeviceLog log;
  int64_t part = 1;      ///< the log is the last 1 / part of the readings
  double off_k = 0;      ///< `unsettled_k` of it
  std::string short_of;  ///< why that is not known: then it is assumed; empty: it is known
};
/// The later half by time, and of that the later, while they are more than 1 K off and at least
/// kFewestReadings of most GPUs are left. In less than 8 s a die follows its load and a cooler does
/// nothing: what is simulated for so long is at rest (engine/simulate.h), anything else may be 3 K
/// off (assumed).
Settled settled_part(run::DeviceLog log);

}  // namespace ergometer::calibration::twin
