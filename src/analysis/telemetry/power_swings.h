#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/device_log.h"
#include "run/gpu_trace.h"
#include "run/sensor_error.h"

namespace ergometer::analysis {

/// The largest change of power from one reading to another within a time, rise and fall apart.
struct Swing {
  double over_s = 0;
  double rise_w = 0, fall_w = 0;
  int64_t rise_at_ns = 0, fall_at_ns = 0;  ///< where they end
};

/// How unsteadily a GPU or a node draws power, by the reading that averages least.
struct PowerSwings {
  run::DeviceKind kind = run::DeviceKind::kGpu;
  int64_t rank = -1;
  std::string host, name;
  std::string label;  ///< of a GPU: what tables call it
  double mean_w = 0, peak_w = 0;
  double deviation_w = 0;     ///< standard deviation over time
  double resolution_s = 0;    ///< time between sensor updates: shorter swings are not seen
  std::vector<Swing> swings;  ///< within 0.1 s and 1 s; only those that the sensor can show
};
std::vector<PowerSwings> power_swings(const run::DeviceLog& log, bool beside_traces = false);

/// Rise and fall of a series within a time; times in order.
Swing largest_swing(const std::vector<run::Sample>& points, double over_s);

/// A training step's energy on one GPU: readings between the step's marks.
struct StepEnergy {
  int64_t rank = 0;
  int64_t steps = 0;  ///< that readings cover whole
  double mean_j = 0, lowest_j = 0, highest_j = 0;
  size_t number = 0;                         ///< of its GPU among the log's devices
  run::Metric metric = run::Metric::kPower;  ///< the series used
  /// Of `mean_j`. `tell` states it by what it tells of the device; until then it holds what its
  /// sensor did not see.
  run::EnergyError error = {.stated = false};
};
/// Of ranks with step marks and with readings of the same rank's GPU at the same time.
std::vector<StepEnergy> step_energies(const std::vector<run::RankTrace>& ranks,
                                      const run::DeviceLog& log);

}  // namespace ergometer::analysis
