#pragma once

#include <memory>
#include <optional>
#include <string>

#include "calibration/device.h"
#include "physics/gpu_power.h"
#include "physics/heat.h"
#include "physics/sensor.h"
#include "spec/job/cluster.h"

namespace ergometer::calibration {

/// What a matrix product and a copy do to a GPU, at its highest clock.
struct DeviceRates {
  double flops_per_s = 0;  ///< 16-bit matrix products; goes with the clock
  double cache_bytes_per_flop = 0, memory_bytes_per_flop = 0;
  double copy_bytes_per_s = 0;  ///< read and written; does not follow the clock
};

/// A GPU made of the program's own models: governor, power, heat of one GPU with constant coolant
/// flow, sensors.
struct SimulatedGpu {
  std::string name;
  physics::GpuPower power;
  physics::EnergyPerWork energy;
  physics::Silicon silicon;
  physics::CoolingParameters cooling;
  DeviceRates rates;
  physics::PowerSensor instant, average;
};

/// Time passes only in `sample_at`, in steps of 5 ms. Starts settled at rest.
std::unique_ptr<Device> simulate_device(const SimulatedGpu& gpu);

/// The GPU of a node of the catalog ("hgx-h100"), or the catalog's node for a GPU ("H100"), with
/// this cooling, or as built. An input error names what is not known of it.
Result<SimulatedGpu> simulated_gpu(const std::string& name,
                                   std::optional<spec::Cooling> cooling = {});

}  // namespace ergometer::calibration
