#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/fleet.h"
#include "run/run.h"

namespace ergometer::engine {

/// What all GPUs of a fleet show at one moment, one value a GPU: watts before the sensor's gain.
struct FleetMoment {
  double time_s = 0;
  std::span<const double> watts, die_c, memory_c, clock_hz;
};

/// How the readings of all ranks are distributed at that moment: lowest, 5 %, median, 95 %,
/// highest, each a value that a rank shows (the smallest that so many of all ranks do not exceed).
void add_bands(const FleetMoment& moment, const Fleet& fleet,
               std::vector<run::TelemetryBand>& bands);

/// By metric, then time.
void sort_bands(std::vector<run::TelemetryBand>& bands);

}  // namespace ergometer::engine
