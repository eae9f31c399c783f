#include "engine/power/fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "engine/time/rank_loads.h"
#include "physics/heat_network.h"
#include "spec/job/node_groups.h"

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
    if (!change.is_of_node(node)) continue;
    apply_to_node(change, static_cast<size_t>(node), fleet);
    for (int64_t gpu = 0; gpu < fleet.gpus_per_node; ++gpu)
      if (change.is_of(node, gpu))
        apply_to_gpu(change, static_cast<size_t>(node * fleet.gpus_per_node + gpu), fleet);
  }
}

/// Everything that tells a node from another, as bytes to compare.
std::vector<double> traits(const Fleet& fleet, size_t node) {
  std::vector<double> result = {static_cast<double>(fleet.kind_of_node(static_cast<int64_t>(node))),
                                fleet.inlet_c[node], fleet.fan[node], fleet.open[node]};
  const auto per_node = static_cast<size_t>(fleet.gpus_per_node);
  for (size_t gpu = node * per_node; gpu < (node + 1) * per_node; ++gpu) {
    const physics::Silicon& silicon = fleet.silicon[gpu];
    const physics::ClockLimits& limits = fleet.limits[gpu];
    for (const double value :
         {static_cast<double>(fleet.role[gpu]), silicon.leakage, silicon.voltage,
          silicon.thermal_resistance, silicon.sensor_gain, limits.cap_w, limits.lock_hz,
          limits.brake ? 1.0 : 0.0, fleet.speed[gpu]})
      result.push_back(value);
    for (const std::vector<double>* values : {&fleet.other_w, &fleet.other_memory_w})
      if (!values->empty()) result.push_back((*values)[gpu]);
  }
  return result;
}

/// Moves what `values` holds of node `from` (of `each` values a node) to node `to` before it.
template <class T>
void move_node(std::vector<T>& values, size_t from, size_t to, size_t each) {
  for (size_t i = 0; i < each; ++i) values[to * each + i] = values[from * each + i];
}

/// Kinds cover the nodes that are kept: `kept_of`, of each.
void renumber(const std::vector<int64_t>& kept_of, Fleet& fleet) {
  int64_t first = 0;
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    fleet.kinds[kind].first_node = first;
    fleet.kinds[kind].nodes = kept_of[kind];
    first += kept_of[kind];
  }
}

bool are_alike(const Fleet& fleet, size_t a, size_t b) {
  return fleet.role[a] == fleet.role[b] && fleet.silicon[a] == fleet.silicon[b] &&
         fleet.limits[a] == fleet.limits[b] && fleet.speed[a] == fleet.speed[b] &&
         (fleet.other_w.empty() || (fleet.other_w[a] == fleet.other_w[b] &&
                                    fleet.other_memory_w[a] == fleet.other_memory_w[b]));
}

/// Of one kind.
bool are_alike_nodes(const Fleet& fleet, size_t a, size_t b) {
  bool alike = fleet.inlet_c[a] == fleet.inlet_c[b] && fleet.fan[a] == fleet.fan[b] &&
               fleet.open[a] == fleet.open[b];
  const auto per_node = static_cast<size_t>(fleet.gpus_per_node);
  for (size_t i = 0; alike && i < per_node; ++i)
    alike = are_alike(fleet, a * per_node + i, b * per_node + i);
  return alike;
}

/// Keeps one of each set of equal nodes.
void keep_distinct(Fleet& fleet) {
  std::vector<int64_t> kept_of(fleet.kinds.size());
  std::map<std::vector<double>, size_t> known;
  const auto per_node = static_cast<size_t>(fleet.gpus_per_node);
  size_t last_kind = fleet.kinds.size();
  for (size_t node = 0; node < static_cast<size_t>(fleet.all_nodes); ++node) {
    // As a rule nodes are like the one before.
    const size_t kind = fleet.kind_of_node(static_cast<int64_t>(node));
    if (std::exchange(last_kind, kind) == kind)
      if (const int32_t last = fleet.kept.back();
          are_alike_nodes(fleet, node, static_cast<size_t>(last))) {
        fleet.kept.push_back(last);
        fleet.weight[static_cast<size_t>(last)] += 1;
        continue;
      }
    const auto [found, is_new] = known.emplace(traits(fleet, node), known.size());
    const size_t to = found->second;
    fleet.kept.push_back(static_cast<int32_t>(to));
    if (!is_new) {
      fleet.weight[to] += 1;
      continue;
    }
    fleet.weight.push_back(1);
    ++kept_of[kind];
    for (std::vector<double>* values : {&fleet.inlet_c, &fleet.fan, &fleet.open})
      move_node(*values, node, to, 1);
    move_node(fleet.role, node, to, per_node);
    move_node(fleet.silicon, node, to, per_node);
    move_node(fleet.limits, node, to, per_node);
    move_node(fleet.speed, node, to, per_node);
    for (std::vector<double>* values : {&fleet.other_w, &fleet.other_memory_w})
      if (!values->empty()) move_node(*values, node, to, per_node);
  }
  fleet.nodes = static_cast<int64_t>(known.size());
  renumber(kept_of, fleet);
  const auto gpus = static_cast<size_t>(fleet.gpus());
  for (std::vector<double>* values : {&fleet.inlet_c, &fleet.fan, &fleet.open})
    values->resize(known.size());
  fleet.role.resize(gpus);
  fleet.silicon.resize(gpus);
  fleet.limits.resize(gpus);
  fleet.speed.resize(gpus);
  for (std::vector<double>* values : {&fleet.other_w, &fleet.other_memory_w})
    if (!values->empty()) values->resize(gpus);
}

void find_like(const std::vector<physics::Lane>& lanes, size_t first, Fleet& fleet) {
  const auto gpu = [&](const physics::Lane& lane, size_t i) {
    return first + static_cast<size_t>(lane.gpus[i]);
  };
  for (const physics::Lane& lane : lanes) {
    const auto same = std::ranges::find_if(lanes, [&](const physics::Lane& other) {
      bool alike = other.same_shape(lane);
      for (size_t i = 0; alike && i < lane.gpus.size(); ++i)
        alike = are_alike(fleet, gpu(lane, i), gpu(other, i));
      return alike;
    });
    for (size_t i = 0; i < lane.gpus.size(); ++i)
      fleet.like[gpu(lane, i)] = static_cast<int32_t>(gpu(*same, i));
  }
}

void find_like(const spec::Cluster& cluster, Fleet& fleet) {
  fleet.like.resize(static_cast<size_t>(fleet.gpus()));
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    const std::vector<physics::Lane> lanes = physics::lanes_of(spec::node_of_group(cluster, kind));
    const GpuRange gpus = fleet.gpus_of(fleet.kinds[kind]);
    for (size_t i = 0; i < gpus.count; i += static_cast<size_t>(fleet.gpus_per_node))
      find_like(lanes, gpus.first + i, fleet);
  }
}

Result<FleetKind> kind_of(const spec::Job& job) {
  const spec::Node& node = job.cluster.node;
  FleetKind kind;
  ERGOMETER_ASSIGN(kind.gpu, physics::gpu_power(node.gpu));
  ERGOMETER_ASSIGN(kind.node, physics::node_power(node));
  ERGOMETER_ASSIGN(kind.cooling, physics::cooling_parameters(node, job.conditions.cooling));
  return kind;
}

/// The kinds of the job's nodes, each with as many as the job has of it.
Result<void> add_kinds(const spec::Job& job, Fleet& fleet) {
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group) {
    const spec::Job alike = spec::on_group(job, group);
    ERGOMETER_ASSIGN(FleetKind kind, kind_of(alike));
    if (group > 0)
      kind.pace =
          alike.cluster.node.gpu.sustained_clock_hz / job.cluster.node.gpu.sustained_clock_hz;
    fleet.kinds.push_back(std::move(kind));
  }
  std::vector<int64_t> nodes(fleet.kinds.size());
  for (int64_t node = 0; node < job.nodes(); ++node)
    ++nodes[spec::group_of_node(job.cluster, node)];
  renumber(nodes, fleet);
  for (FleetKind& kind : fleet.kinds) kind.all_nodes = static_cast<double>(kind.nodes);
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    ++fleet.kinds[spec::group_of_rank(job, rank)].ranks;
  return {};
}

/// What the job's conditions tell the nodes of a kind and their GPUs.
void tell(const spec::Conditions& conditions, const FleetKind& kind, Fleet& fleet) {
  const double cap_w = conditions.power_cap_w > 0 ? conditions.power_cap_w : kind.gpu.cap_w;
  fleet.limits.resize(fleet.limits.size() + fleet.gpus_of(kind).count,
                      {.cap_w = cap_w, .lock_hz = conditions.lock_clock_hz, .brake = false});
  fleet.inlet_c.resize(fleet.inlet_c.size() + static_cast<size_t>(kind.nodes),
                       conditions.has_inlet ? conditions.inlet_c : kind.cooling.inlet_c);
}

/// A lock holds on every kind's own lattice.
void settle_locks(Fleet& fleet) {
  if (fleet.kinds.size() == 1) return;  // where the settings put it
  for (size_t gpu = 0; gpu < fleet.limits.size(); ++gpu)
    if (double& lock_hz = fleet.limits[gpu].lock_hz; lock_hz > 0)
      lock_hz = fleet.of_gpu(gpu).gpu.clocks.floor(lock_hz);
}

/// What each GPU's rank runs.
void give_roles(const spec::Job& job, Fleet& fleet) {
  const LoadClasses classes(job, workload::expert_loads(job));
  fleet.classes = classes.count();
  fleet.role.assign(static_cast<size_t>(fleet.gpus()), -1);
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const int64_t of_kinds = rank / job.stage_ranks() * std::ssize(fleet.kinds) +
                             static_cast<int64_t>(spec::group_of_rank(job, rank));
    fleet.role[static_cast<size_t>(job.parallelism.gpu_of(rank))] =
        static_cast<int32_t>(of_kinds) * fleet.classes + classes.of(rank % job.stage_ranks());
  }
}

void give_others(std::span<const OtherWork> others, Fleet& fleet) {
  if (others.empty()) return;
  fleet.other_w.assign(static_cast<size_t>(fleet.gpus()), 0.0);
  fleet.other_memory_w = fleet.other_w;
  for (const OtherWork& it : others) {
    const auto gpu = static_cast<size_t>(it.gpu);
    ERGOMETER_CHECK(it.gpu < fleet.gpus() && fleet.role[gpu] < 0, "a GPU without a rank");
    fleet.other_w[gpu] = it.watts;
    fleet.other_memory_w[gpu] = it.memory_w;
  }
}

}  // namespace

Result<Fleet> make_fleet(const spec::Job& job, std::span<const OtherWork> others) {
  const spec::Conditions& conditions = job.conditions;
  Fleet fleet;
  fleet.nodes = job.nodes();
  fleet.gpus_per_node = job.cluster.node.gpus;
  fleet.all_nodes = fleet.nodes;
  fleet.ranks = job.gpus;
  ERGOMETER_TRY(add_kinds(job, fleet));
  const auto gpus = static_cast<size_t>(fleet.gpus());
  const auto nodes = static_cast<size_t>(fleet.nodes);
  fleet.silicon = physics::draw_silicon(conditions.seed, fleet.gpus(),
                                        physics::silicon_spread(job.cluster.node.gpu));
  for (const FleetKind& kind : fleet.kinds) tell(conditions, kind, fleet);
  fleet.speed.assign(gpus, 1.0);
  fleet.fan.assign(nodes, conditions.fan);
  fleet.open.assign(nodes, 1.0);
  for (const spec::Override& change : conditions.overrides) apply(change, fleet);
  settle_locks(fleet);
  fleet.rank_map = job.parallelism.rank_map;
  give_roles(job, fleet);
  give_others(others, fleet);
  keep_distinct(fleet);
  find_like(job.cluster, fleet);
  return fleet;
}

}  // namespace ergometer::engine
