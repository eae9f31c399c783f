#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

// Where the level of a series changes: binary segmentation of means.
//
// The series is a sequence of equally long intervals (steps, bins of time). A cut of a stretch into
// two gains  n1 n2 / (n1 + n2) (m1 - m2)^2 / (f s^2); the best cut stands when its gain exceeds
// kPenalty ln n, n the values of the whole series, and the two stretches are looked at likewise.
// s is the noise between neighbours (1.4826 median |x[i+1] - x[i]| / sqrt 2), which levels do not
// enter. f corrects for values that hang together: with the correlation r that the spread of
// differences over one and over two intervals gives, f = (1 + r) / (1 - r). Values further than
// 4 s from the median of their 11 neighbours are moved there first: spikes are no levels.
//
// A cut may fall anywhere, but a stretch shorter than `shortest` is no level: it belongs to neither
// neighbour, and a series that moves in its last values does not show yet where it moves to. A
// change that took several values is told of where the series gained most.
//
// Readings are taken in groups of neighbours, at most kMostGroups of them, by their number and not
// by their time: nothing is made up between readings that are 15 s or, after an outage, an hour
// apart. Within two groups of a cut the change is the reading that parts the two levels best,
//     least  sum (x - before)^2 + sum (x - after)^2.
//
// False alarms, measured over 2000 series of noise of 20, 50, 240 and 1000 values
// (anomalies_test.cpp): in none of independent values, in 1.8 % where neighbours correlate with
// 0.5.

struct LevelChange {
  size_t at = 0;                 ///< index of the first value behind the change
  double before = 0, after = 0;  ///< mean levels on either side, to the neighbouring change
};

struct LevelOptions {
  size_t shortest = 5;    ///< values that a level must last
  double least_move = 0;  ///< smaller changes do not count, in the series' unit
  double least_part = 0;  ///< nor do those below this part of the larger level
};

std::vector<LevelChange> level_changes(std::span<const double> values,
                                       const LevelOptions& options = {});

/// A change in a series of readings: at the first reading behind it.
struct ChangePoint {
  int64_t time_ns = 0;
  double before = 0, after = 0;  ///< mean level on either side, to the neighbouring change
};
/// None in fewer than 40 readings. Samples in order of time.
std::vector<ChangePoint> reading_changes(std::span<const run::Sample> samples,
                                         const LevelOptions& options = {});

/// The first of some readings that belongs to the level `after`; their number when none does.
size_t first_behind(std::span<const run::Sample> samples, double before, double after);

/// The noise s, as above; 0 with fewer than 3 values.
double neighbour_noise(std::span<const double> values);

}  // namespace ergometer::analysis
