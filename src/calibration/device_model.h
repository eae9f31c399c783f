#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "calibration/device_record.h"
#include "calibration/least_squares.h"
#include "physics/gpu_power.h"
#include "physics/heat.h"
#include "spec/job/cluster.h"

namespace ergometer::calibration {

inline constexpr double kPico = 1e-12;

/// All that predicts a record: what the GPU draws and how it warms, its coolant at constant flow.
struct DeviceModel {
  physics::GpuPower power;
  physics::EnergyPerWork energy;
  physics::CoolingParameters cooling;
};

/// A number of the model that a record can tell. Fitted as its logarithm, so that it keeps its
/// sign: value = prior * exp(x).
struct DeviceKnob {
  std::string_view name;  ///< as in the catalog's files: "power.active", "die_capacity"
  std::string_view unit;  ///< for people: "pJ/FLOP"; the knee's is MHz, not a share
  double scale = 1;       ///< of that unit in base units
  double& (*of)(DeviceModel&) = nullptr;
  double sigma = 0.5;  ///< of the prior's logarithm
  double factor = 4;   ///< farthest from the prior, up and down
  double most = 0;     ///< largest value; 0: none
};

std::span<const DeviceKnob> power_knobs();
std::span<const DeviceKnob> heat_knobs();

/// Bounds of the logarithms around a prior. A prior of 0 stays.
std::vector<Bounds> bounds_of(std::span<const DeviceKnob> knobs, DeviceModel prior);
/// The prior with its knobs moved.
DeviceModel moved(DeviceModel prior, std::span<const DeviceKnob> knobs, std::span<const double> x);

/// The same kind of GPU, but its own board: every knob moved by a draw of a third of its sigma that
/// depends on `seed` and the knob's place alone.
DeviceModel board_of_its_own(DeviceModel kind, uint64_t seed);

/// Where a device stands whose heat is fitted or simulated.
spec::Node node_of_one_gpu();

/// Power while doing what a sample saw, at its clock and temperature, and the part of it that the
/// HBM turns into heat.
struct SamplePower {
  double total_w = 0, memory_w = 0;
};
SamplePower power_of(const DeviceModel& model, const RecordedSample& sample);

}  // namespace ergometer::calibration
