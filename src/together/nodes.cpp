#include "together/nodes.h"

#include <algorithm>

#include "base/collection.h"
#include "base/text.h"
#include "plan/placement.h"
#include "spec/settings/rank_map.h"

namespace ergometer::together {
namespace {

/// Nodes of a scale-up domain: a rack of an NVL72 has 18.
int64_t domain_nodes(const spec::Job& job) {
  return std::max<int64_t>(1, job.cluster.domain_gpus / std::max(1, job.cluster.node.gpus));
}

/// Of those, how many the job takes: 16 of 18 where that makes its racks equal.
int64_t taken_nodes(const spec::Job& job) {
  const int64_t gpus = job.cluster.node.gpus;
  return std::clamp<int64_t>((plan::domain_segment(job) + gpus - 1) / gpus, 1, domain_nodes(job));
}

void add_nodes(int64_t from, int64_t count, Nodes& nodes) {
  for (int64_t i = 0; i < count; ++i) nodes.push_back(from + i);
}

Result<void> check_domains(const spec::Job& job, const std::string& name, const Nodes& nodes) {
  const int64_t domain = domain_nodes(job), taken = taken_nodes(job);
  for (int64_t i = 0; i < std::ssize(nodes); ++i) {
    const int64_t node = nodes[static_cast<size_t>(i)];
    if (node % domain != i % taken)
      return input_error(
          "--nodes: node {} of {} is number {} of a scale-up domain of {} nodes; allowed: the "
          "first {} of each domain, as far as the job goes",
          node, name, node % domain, domain, taken);
  }
  return {};
}

}  // namespace

std::vector<Nodes> place(const std::vector<const spec::Job*>& jobs, Placement placement) {
  std::vector<Nodes> nodes(jobs.size());
  int64_t next = 0;
  const auto add_domain = [&](size_t i) {
    const int64_t left = jobs[i]->nodes() - std::ssize(nodes[i]);
    if (left == 0) return false;
    add_nodes(next, std::min(left, taken_nodes(*jobs[i])), nodes[i]);
    next += domain_nodes(*jobs[i]);
    return true;
  };
  if (placement == Placement::kPacked) {
    for (size_t i = 0; i < jobs.size(); ++i)
      while (add_domain(i)) continue;
    return nodes;
  }
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < jobs.size(); ++i) more = add_domain(i) || more;
  }
  return nodes;
}

Result<Nodes> parse_nodes(const std::string& text) {
  Nodes nodes;
  for (const std::string& part : base::split(text, '+')) {
    const auto range = spec::parse_rank_list(part);
    if (!range || !base::is_digit(part.front()))
      return input_error("found \"{}\"; allowed: the nodes of one job, as 0-15 or 0-7+16-23", text);
    nodes.insert(nodes.end(), range->begin(), range->end());
  }
  if (nodes.empty()) return input_error("found nothing; allowed: the nodes of one job, as 0-15");
  return nodes;
}

Result<void> check_nodes(const std::vector<const spec::Job*>& jobs,
                         const std::vector<std::string>& names, const std::vector<Nodes>& nodes) {
  const spec::Cluster& cluster = jobs.front()->cluster;
  std::map<int64_t, size_t> owner;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (std::ssize(nodes[i]) != jobs[i]->nodes())
      return input_error("--nodes: found {} for {}, which takes {} of {} ({} GPUs)",
                         std::ssize(nodes[i]), names[i], jobs[i]->nodes(), cluster.name,
                         jobs[i]->gpus);
    ERGOMETER_TRY(check_domains(*jobs[i], names[i], nodes[i]));
    for (const int64_t node : nodes[i]) {
      if (cluster.nodes > 0 && node >= cluster.nodes)
        return input_error("{} would be on node {}; {} has {}, from 0 to {}", names[i], node,
                           cluster.name, cluster.nodes, cluster.nodes - 1);
      const auto [found, is_new] = owner.emplace(node, i);
      if (!is_new)
        return input_error(
            "--nodes: node {} is given to {} and to {}; jobs on GPUs of one node are not predicted "
            "together, every job has nodes of its own",
            node, names[found->second], names[i]);
    }
  }
  return {};
}

int64_t TierPlace::most() const {
  int64_t most = 0;
  for (const auto& [group, count] : groups) most = std::max(most, count);
  return most;
}

std::vector<TierPlace> tier_places(const spec::Fabric& fabric, const Nodes& nodes) {
  if (!fabric.topology.dimensions.empty()) return {};
  return base::mapped(fabric.tiers, [&](const spec::FabricTier& tier) {
    TierPlace place{.below = tier.nodes_below, .groups = {}};
    for (const int64_t node : nodes) ++place.groups[place.below > 0 ? node / place.below : 0];
    return place;
  });
}

bool alike(const std::vector<TierPlace>& a, const std::vector<TierPlace>& b) {
  return std::ranges::equal(a, b, [](const TierPlace& one, const TierPlace& other) {
    return one.climbs() == other.climbs() && (!one.climbs() || one.most() == other.most());
  });
}

spec::Cluster cluster_for(const spec::Cluster& cluster, const std::vector<TierPlace>& places,
                          const std::vector<double>& shares) {
  spec::Cluster changed = cluster;
  // Ratios of a tier count from the one below it, loads from the nodes.
  double whole = 1, before = 1;
  for (size_t i = 0; i < places.size(); ++i) {
    spec::FabricTier& tier = changed.fabric.tiers[i];
    whole *= tier.oversubscription;
    if (!places[i].climbs()) continue;
    const auto most = static_cast<double>(places[i].most());
    const double own = whole * most / static_cast<double>(tier.nodes_below) * shares[i];
    tier.nodes_below = places[i].most();
    tier.oversubscription = own / before;
    before = own;
  }
  return changed;
}

}  // namespace ergometer::together
