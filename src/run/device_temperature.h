#pragma once

#include "run/device_log.h"

namespace ergometer::run {

/// What a GPU's temperature is read from: its edge; of GPUs that have no sensor there (MI300X) the
/// hottest place of the chip.
inline Metric temperature_metric(const Device& gpu) {
  return gpu.find(Metric::kGpuTemperature) != nullptr ? Metric::kGpuTemperature
                                                      : Metric::kHotspotTemperature;
}

}  // namespace ergometer::run
