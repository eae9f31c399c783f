#pragma once

#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// A GPU's sensor beside a meter that measured the same board.
struct MeterReport {
  std::string meter, gpu_file;
  int64_t rank = -1;
  /// Added to the meter's clock so that both show the same: whole quarters of an hour where the
  /// sensor's times are local, and what brings the readings together best.
  double clock_offset_s = 0;
  double start_s = 0, common_s = 0;  ///< what both cover, from the sensor's first reading
  double meter_energy_j = 0;
  double sensor_energy_j = 0;  ///< every update once, trapezoidal
  double sensor_error_pct = 0;
  /// What the board's sensor shows of the meter's power where both are quiet; a board's error is
  /// proportional (arXiv 2312.02741). 0: never quiet.
  double gain = 0;
  /// The sensor's energy over whole beats (analysis/telemetry/telemetry_duty.h), divided by the
  /// gain.
  double corrected_energy_j = 0;
  double corrected_error_pct = 0;
};
/// One for each meter and GPU that ran at the same time; `quarter hours` apart at most 14 h.
std::vector<MeterReport> compare_meters(const run::DeviceLog& log);

}  // namespace ergometer::analysis
