// What it predicts: jobs on GPUs of one node heat each other and share its host.
//
// To each job the GPUs of the others are boards that draw their mean power: they warm the air or
// the water that its own get (src/physics), raise the speed of the node's fans, and count at its
// plug. What a node draws with jobs j on it, G_j their GPUs' mean power, eta the supplies'
// efficiency:
//
//   P = (sum over j of G_j + rest) / eta       rest: host, fans, idle GPUs, what supplies always
//   lose
//
// P comes from the play of each job beside the others' means; they agree once no mean moves. A
// job's part is G_j / eta + rest / eta by its GPUs among all jobs'.
//
// Worked: two jobs on 4 and 2 of 8 GPUs whose GPUs draw 2000 and 800 W, eta 0.95, P = 5000 W: rest
// is 4750 - 2800 = 1950 W, parts are (2000 + 1300) / 0.95 = 3474 W and (800 + 650) / 0.95 = 1526 W.
//
// Range: means. How the others' power goes up and down within a step is too quick for heat sinks,
// but not for dies, whose peaks are their own job's alone.
#include "together/one_node.h"

#include <algorithm>

#include "base/collection.h"
#include "physics/gpu_power.h"
#include "physics/node_power.h"

namespace ergometer::together {
namespace {

/// Of a GPU of the job, what its HBM turns into heat in the mean.
double memory_w(const Tenant& tenant) {
  const auto gpu = physics::gpu_power(tenant.job->cluster.node.gpu);
  const double constant_w = gpu ? gpu->constant_memory_w : 0;
  const auto hbm = std::ranges::find(tenant.run->power.gpu_parts, "hbm", &run::PowerPart::name);
  return constant_w + (hbm == tenant.run->power.gpu_parts.end() ? 0 : hbm->watts);
}

double gpus_w(const Tenant& tenant) {
  return base::sum(tenant.run->ranks, &run::Rank::mean_power_w);
}

bool same_room(const spec::Conditions& a, const spec::Conditions& b) {
  return a.cooling == b.cooling && a.has_inlet == b.has_inlet && a.inlet_c == b.inlet_c &&
         a.fan == b.fan;
}

bool is_of_node(const spec::Override& change) {
  return change.kind == spec::OverrideKind::kInlet || change.kind == spec::OverrideKind::kFan ||
         change.kind == spec::OverrideKind::kBlockedInlet;
}

/// What is said of single GPUs of the node is said of the job's own.
Result<void> check_gpu_overrides(const spec::Job& job, const std::string& name,
                                 const Place& place) {
  for (const spec::Override& it : job.conditions.overrides)
    if (place.shares_node() && it.gpu >= 0 && !base::contains(place.gpus, it.gpu))
      return input_error(
          "{} has an override of GPU {} of its node ({}) and lies on {}; allowed: GPUs of its own",
          name, it.gpu, it.text, place_text(place));
  return {};
}

}  // namespace

spec::Job on_own_gpus(const spec::Job& job, const Place& place) {
  spec::Job placed = job;
  if (!place.shares_node()) return placed;
  // A map of its own says an order of its GPUs.
  std::vector<int64_t> own = job.parallelism.rank_map;
  std::ranges::sort(own);
  std::vector<int64_t>& map = placed.parallelism.rank_map;
  map.clear();
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const auto at =
        own.empty()
            ? static_cast<size_t>(rank)
            : static_cast<size_t>(std::ranges::lower_bound(own, job.parallelism.gpu_of(rank)) -
                                  own.begin());
    map.push_back(place.gpus[at]);
  }
  return placed;
}

std::vector<size_t> sharing_node(const std::vector<Place>& places, size_t which) {
  std::vector<size_t> others;
  if (!places[which].shares_node()) return others;
  for (size_t i = 0; i < places.size(); ++i)
    if (i != which && places[i].shares_node() && places[i].nodes == places[which].nodes)
      others.push_back(i);
  return others;
}

std::vector<engine::OtherWork> others_work(std::span<const Tenant> tenants,
                                           const std::vector<size_t>& others) {
  std::vector<engine::OtherWork> work;
  for (const size_t other : others) {
    const Tenant& it = tenants[other];
    const spec::Job placed = on_own_gpus(*it.job, *it.place);
    for (const run::Rank& rank : it.run->ranks)
      work.push_back({.gpu = placed.parallelism.gpu_of(rank.rank),
                      .watts = rank.mean_power_w,
                      .memory_w = memory_w(it)});
  }
  return work;
}

double own_mean_w(const Tenant& own, std::span<const engine::OtherWork> others) {
  const double node_w = own.run->power.cluster_mean_w;
  const auto node = physics::node_power(own.job->cluster.node);
  if (others.empty() || !node) return node_w;
  const auto gpus = static_cast<double>(own.job->gpus);
  const double others_w = base::sum(others, &engine::OtherWork::watts);
  const double own_w = gpus_w(own) / node->supply_efficiency;
  const double rest_w = node_w - own_w - others_w / node->supply_efficiency;
  return own_w + rest_w * gpus / (gpus + static_cast<double>(others.size()));
}

Result<void> check_rooms(std::span<const Tenant> tenants, const std::vector<std::string>& names,
                         const std::vector<Place>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    ERGOMETER_TRY(check_gpu_overrides(*tenants[i].job, names[i], places[i]));
    for (const size_t other : sharing_node(places, i)) {
      const spec::Conditions& own = tenants[i].job->conditions;
      if (!same_room(own, tenants[other].job->conditions))
        return input_error(
            "{} and {} share node {} and say another cooling, inlet or fan speed of it; allowed: "
            "the same, or --nodes of their own",
            names[std::min(i, other)], names[std::max(i, other)], places[i].nodes.front());
      if (own.cluster_cap_w > 0 || std::ranges::any_of(own.overrides, is_of_node))
        return input_error(
            "{} shares node {} with {} and has {}, which would hold for both; allowed: one "
            "without, or --nodes of its own",
            names[i], places[i].nodes.front(), names[other],
            own.cluster_cap_w > 0 ? "a cluster_cap" : "an override of a node's inlet or fans");
    }
  }
  return {};
}

}  // namespace ergometer::together
