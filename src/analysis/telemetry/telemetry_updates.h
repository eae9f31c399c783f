#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// A sensor's updates, each caught once out of readings that repeat it.
///
/// A reading that differs from the one before begins an update. One that stays the same for longer
/// than the sensor's period holds updates of the same value; they are counted by the time they
/// took.
struct SensorUpdates {
  int64_t readings = 0;
  int64_t distinct = 0;           ///< updates that changed the value, the first reading among them
  int64_t unchanged = 0;          ///< further updates, by time
  double reading_interval_s = 0;  ///< median
  /// Mean of the times between changes that are near their median; 0 below three changes. Where
  /// readings are as far apart as updates it is the readings' interval, not the sensor's.
  double period_s = 0;
  /// The series without repeated readings: where each update was first seen, and points that hold a
  /// value that stood for longer; the last reading closes it.
  std::vector<run::Sample> points;
};
SensorUpdates find_updates(std::span<const run::Sample> samples);

/// Watts over time as joules: the trapezoidal rule over `points` from `start_ns` to `end_ns`.
/// Between points values are interpolated, before the first and behind the last they are held.
double energy_j(std::span<const run::Sample> points, int64_t start_ns, int64_t end_ns);

/// The value at a time, by the same rule. `points` must hold one at least.
double value_at(std::span<const run::Sample> points, int64_t time_ns);

/// How far a counter moved from `start_ns` to `end_ns`; steps down (it began anew) count nothing.
double counted(std::span<const run::Sample> samples, int64_t start_ns, int64_t end_ns);

/// Share of `values` at or below the result is `fraction`: nearest rank. `values` is sorted here.
double percentile(std::vector<double>& values, double fraction);

/// A reading and how many of the sensor's updates showed it.
struct StandingValue {
  double value = 0, updates = 1;
};
/// Every point's value, over `efficiency`, with the updates it stands for: one, or where it stood
/// for one and a half periods and longer the periods until the next point. A gap is none.
/// Worked: 5 W for 4 periods, then 6 and 7 W for one each: 4, 1, 1; their median is 5 W.
std::vector<StandingValue> standing_values(const SensorUpdates& updates, double efficiency = 1);
/// The nearest rank, every value as often as it was shown; sorts `values`.
double percentile(std::vector<StandingValue>& values, double fraction);

}  // namespace ergometer::analysis
