#include "physics/node_power.h"

#include <string_view>

namespace ergometer::physics {

Result<NodePower> node_power(const spec::Node& node) {
  std::string_view missing;
  const auto read = [&](std::string_view name) {
    const base::Parameter* parameter = node.parameters.find(name);
    if (parameter == nullptr && missing.empty()) missing = name;
    return parameter == nullptr ? 0 : parameter->value;
  };
  NodePower power;
  power.cpu_w = read("power.cpu");
  power.dram_w = read("power.dram");
  power.nics_w = read("power.nic") * static_cast<double>(node.nics.size());
  power.switches_w = read("power.switch");
  power.other_w = read("power.other");
  power.supply_fixed_w = read("power.supply_fixed");
  power.supply_efficiency = read("power.supply_efficiency");
  if (!missing.empty())
    return input_error("node {}: lacks {}, which the power of whole nodes needs", node.name,
                       missing);
  return power;
}

}  // namespace ergometer::physics
