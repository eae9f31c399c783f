#include "watch/power_error.h"

#include <algorithm>
#include <string>

namespace ergometer::watch {

void PowerError::add(const DeviceNow& device) {
  const auto watts = device.power_w();
  if (!watts) return;
  // Devices of a job are mostly of one kind.
  if (device.name != name_ || device.power_way() != way_) {
    name_ = device.name;
    way_ = device.power_way();
    run::Device sensor;
    sensor.kind = device.kind;
    sensor.name = std::string(name_);
    const run::SensorFacts facts = run::sensor_facts(sensor, way_);
    error_ = run::gain_of(facts);
    window_s_ = powers_.empty() ? facts.window_s : std::min(window_s_, facts.window_s);
    widest_ = std::max(widest_, error_.relative());
  }
  powers_.push_back({*watts, error_});
}

double PowerError::relative() const {
  return powers_.empty() ? 0 : run::error_of_sum(powers_).relative();
}

}  // namespace ergometer::watch
