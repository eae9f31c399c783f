#include "engine/fleet.h"

#include <algorithm>

namespace ergometer::engine {
namespace {

using spec::OverrideKind;

void apply_to_node(const spec::Override& change, size_t node, Fleet& fleet) {
  if (change.kind == OverrideKind::kInlet) fleet.inlet_c[node] = change.value;
  if (change.kind == OverrideKind::kFan) fleet.fan[node] = change.value;
  if (change.kind == OverrideKind::kBlockedInlet) fleet.open[node] = 1 - change.value;
}

void apply_to_gpu(const spec::Override& change, size_t gpu, Fleet& fleet) {
  switch (change.kind) {
    case OverrideKind::kPowerCap: fleet.limits[gpu].cap_w = change.value; break;
    case OverrideKind::kLockClock: fleet.limits[gpu].lock_hz = change.value; break;
    case OverrideKind::kPowerBrake: fleet.limits[gpu].brake = change.value != 0; break;
    case OverrideKind::kSpeed: fleet.speed[gpu] = change.value; break;
    case OverrideKind::kResistance: fleet.silicon[gpu].thermal_resistance *= change.value; break;
    case OverrideKind::kLeakage: fleet.silicon[gpu].leakage *= change.value; break;
    default: break;  // of a node, or of a link
  }
}

void apply(const spec::Override& change, Fleet& fleet) {
  for (int64_t node = 0; node < fleet.nodes; ++node) {
    if (change.node >= 0 && change.node != node) continue;
    apply_to_node(change, static_cast<size_t>(node), fleet);
    for (int64_t gpu = 0; gpu < fleet.gpus_per_node; ++gpu)
      if (change.gpu < 0 || change.gpu == gpu)
        apply_to_gpu(change, static_cast<size_t>(node * fleet.gpus_per_node + gpu), fleet);
  }
}

}  // namespace

base::Result<Fleet> make_fleet(const spec::Job& job) {
  const spec::Conditions& conditions = job.conditions;
  const spec::Node& node = job.cluster.node;
  Fleet fleet;
  ERGOMETER_ASSIGN(fleet.gpu, physics::gpu_power(node.gpu));
  ERGOMETER_ASSIGN(fleet.node, physics::node_power(node));
  ERGOMETER_ASSIGN(fleet.cooling, physics::cooling_parameters(node, conditions.cooling));
  fleet.nodes = job.nodes();
  fleet.gpus_per_node = node.gpus;
  fleet.ranks = job.gpus;
  const auto gpus = static_cast<size_t>(fleet.gpus());
  const auto nodes = static_cast<size_t>(fleet.nodes);
  fleet.silicon = physics::draw_silicon(conditions.seed, fleet.gpus());
  const double cap_w = conditions.power_cap_w > 0 ? conditions.power_cap_w : fleet.gpu.cap_w;
  fleet.limits.assign(gpus, {.cap_w = cap_w, .lock_hz = conditions.lock_clock_hz, .brake = false});
  fleet.speed.assign(gpus, 1.0);
  fleet.inlet_c.assign(nodes, conditions.has_inlet ? conditions.inlet_c : fleet.cooling.inlet_c);
  fleet.fan.assign(nodes, conditions.fan);
  fleet.open.assign(nodes, 1.0);
  for (const spec::Override& change : conditions.overrides) apply(change, fleet);
  return fleet;
}

}  // namespace ergometer::engine
