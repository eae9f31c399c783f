#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// What one kind of link carried in one direction, by the counters of its devices.
struct LinkUse {
  std::string kind;       ///< "nvlink", "pcie", "nic"
  std::string direction;  ///< "sent", "received"
  int64_t devices = 0;    ///< GPUs, or ports of network cards
  double bytes = 0;       ///< sum over devices, over the time of their readings
  double mean_gb_per_s = 0, peak_gb_per_s = 0;  ///< of one device; the peak of the busiest
  int64_t busiest = -1;                         ///< its rank, or the port's index
  std::string busiest_host;
  bool partial = false;  ///< counters of NVLink's first link alone
  /// Where the line rate was read (ports): share of it, and share of time above 90 % of it, of the
  /// device that is above it longest.
  std::optional<double> utilization, saturated_fraction;
};
/// The kind with the most bytes first.
std::vector<LinkUse> link_use(const run::DeviceLog& log);

}  // namespace ergometer::analysis
