#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// A stretch of time, in nanoseconds since 1970 as readings have it.
struct TimeSpan {
  int64_t from_ns = 0, to_ns = 0;
};

/// How far apart readings of a series may be and still be one recording: five times their median
/// distance, and 10 s at least. Both are assumed: a reading that is late or lost is no gap, a
/// monitor that was stopped is one. What lies between two readings that are further apart was not
/// recorded: it is not integrated over, and left out of means and shares of time.
int64_t longest_distance_ns(std::span<const run::Sample> samples);
/// The stretches in which nothing was recorded, in order of time.
std::vector<TimeSpan> gaps_in(std::span<const run::Sample> samples);
/// Between which readings a counter fell: it began anew, and what it counted is not known.
std::vector<TimeSpan> resets_in(std::span<const run::Sample> samples);

/// What is left of a stretch without `gaps`, which may overlap and come in any order.
std::vector<TimeSpan> without(TimeSpan whole, std::vector<TimeSpan> gaps);
/// How many seconds of a stretch lie in none of `gaps`, which are in order of time and apart.
double recorded_s(TimeSpan whole, std::span<const TimeSpan> gaps);
/// In seconds.
double length_s(std::span<const TimeSpan> spans);

/// "3,600 s from 2025-03-10 12:00:00 UTC" of the longest, and how many more there are.
std::string told(std::span<const TimeSpan> spans);

}  // namespace ergometer::analysis
