#pragma once

#include <string>
#include <utility>

#include "run/device_log.h"

namespace ergometer::record {

inline run::Device make_device(run::DeviceKind kind, std::string name, int64_t index = -1,
                               std::string uuid = "") {
  run::Device device;
  device.kind = kind;
  device.name = std::move(name);
  device.index = index;
  device.uuid = std::move(uuid);
  return device;
}

}  // namespace ergometer::record
