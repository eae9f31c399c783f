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

/// What readings of power leave unseen of `seconds_long` of the energy that they tell, one standard
/// deviation, relative (run/sensor_error.h). `way`: whose readings `updates` are, each once.
double unseen_between_readings(const run::Device& device, std::string_view way,
                               std::span<const run::Sample> updates, double period_s,
                               double seconds_long);

/// Of the sums of energies over GPUs, nodes, CPU packages, and over the GPUs of each host.
run::EnergyError error_of_gpus(const std::vector<DeviceReport>& devices);
run::EnergyError error_of_nodes(const std::vector<DeviceReport>& devices);
run::EnergyError error_of_cpus(const std::vector<DeviceReport>& devices);
/// Of the plain mean of the GPUs' mean powers.
run::EnergyError error_of_mean_power(const std::vector<DeviceReport>& devices);
std::vector<HostEnergy> energy_by_host(const std::vector<DeviceReport>& devices);

}  // namespace ergometer::analysis
