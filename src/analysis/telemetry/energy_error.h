#pragma once

#include <span>
#include <string_view>

#include "analysis/telemetry/telemetry.h"

namespace ergometer::analysis {

// How far energies, and the mean powers with them, are off (run/sensor_error.h), by what the
// readings of a device say of what its sensor did not see.

/// Fills `error` of every device of a log that was not simulated: after `meters` of the report.
/// Meters do not say which board is theirs: where one ran beside the log's only GPU, for nine
/// tenths of its time, and was compared with the way that the energy is known by, what it says:
/// half the 90 % interval is what the sensor's energy is off from the meter's, a deviation and so
/// `common`, and the meter's own error comes on top.
void state_errors(const run::DeviceLog& log, TelemetryReport& report);

/// Readings of one way to know the power of a device, each update once, in order of time.
struct PowerReadings {
  std::string_view way;  ///< "power", "instant_power", "average_power"
  std::span<const run::Sample> updates;
  double period_s = 0;  ///< of the updates
};

/// What such readings leave unseen of the energy that they tell of `seconds_long` within a stretch
/// of time, one standard deviation, relative (run/sensor_error.h). How much they differ is asked of
/// that stretch, where it has eight of them, else of all.
double unseen_between_readings(const run::Device& device, const PowerReadings& readings,
                               TimeSpan within, double seconds_long);

/// Of the sums of energies over GPUs, nodes, CPU packages, and over the GPUs of each host.
run::EnergyError error_of_gpus(const std::vector<DeviceReport>& devices);
run::EnergyError error_of_nodes(const std::vector<DeviceReport>& devices);
run::EnergyError error_of_cpus(const std::vector<DeviceReport>& devices);
/// Of the plain mean of the GPUs' mean powers.
run::EnergyError error_of_mean_power(const std::vector<DeviceReport>& devices);
std::vector<HostEnergy> energy_by_host(const std::vector<DeviceReport>& devices);

}  // namespace ergometer::analysis
