#include "watch/power_error.h"

#include <algorithm>
#include <string>

namespace ergometer::watch {

void PowerError::look_up(const DeviceNow& device) {
  sensor_.kind = device.kind;
  sensor_.name = std::string(device.name);
  sensor_.uuid = std::string(device.uuid);
  way_ = device.power_way();
  const run::SensorFacts facts = run::sensor_facts(sensor_, way_);
  error_ = run::gain_of(facts);
  window_s_ = powers_.empty() ? facts.window_s : std::min(window_s_, facts.window_s);
  widest_ = std::max(widest_, error_.relative());
}

void PowerError::add(const DeviceNow& device) {
  const auto watts = device.power_w();
  if (!watts) return;
  // Devices of a job are mostly of one kind.
  const bool same = device.kind == sensor_.kind && device.name == sensor_.name &&
                    device.power_way() == way_ &&
                    run::is_nvidia(device.uuid) == run::is_nvidia(sensor_.uuid);
  if (!same) look_up(device);
  powers_.push_back({*watts, error_});
}

double PowerError::relative() const {
  return powers_.empty() ? 0 : run::error_of_sum(powers_).relative();
}

}  // namespace ergometer::watch
