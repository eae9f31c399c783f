#pragma once

#include <span>
#include <vector>

#include "physics/gpu_power.h"

namespace ergometer::physics {

/// Power that is constant from `start_s` to the next piece's start (the last: to the series' end).
struct PowerPiece {
  double start_s = 0, watts = 0;
};

/// What a vendor's power reading is of the true power (arXiv 2312.02741): every `period_s` the mean
/// over the last `window_s`, times the board's gain, rounded.
struct PowerSensor {
  double period_s = 0.1, window_s = 0.1, phase_s = 0;
  double gain = 1, offset_w = 0;
  double quantum_w = 0.001;  ///< NVML reports milliwatts
};

struct Reading {
  double time_s = 0, watts = 0;
};

/// NVML's power.draw.instant and power.draw.average, AMD SMI's socket power.
PowerSensor instant_sensor(const GpuPower& gpu);
PowerSensor average_sensor(const GpuPower& gpu);

/// The readings of a sensor over a series that ends at `end_s`; before its start the power is that
/// of the first piece.
std::vector<Reading> read_sensor(const PowerSensor& sensor, std::span<const PowerPiece> series,
                                 double end_s);

/// Temperatures are whole degrees, rounded down.
double reported_c(double die_c);

}  // namespace ergometer::physics
