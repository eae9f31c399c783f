#include "together/nodes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "plan/placement.h"
#include "spec/job/pcie_tree.h"
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

/// A node that small jobs share.
struct SharedNode {
  int64_t node = 0;
  int64_t taken = 0;  ///< GPUs, from the first on
  std::vector<size_t> jobs = {};
};

bool is_small(const spec::Job& job) { return job.gpus < job.cluster.node.gpus; }

/// Places a small job where there is room; false: nowhere.
bool fill(size_t number, int64_t gpus, int64_t of_node, std::vector<SharedNode>& shared,
          std::vector<Place>& places) {
  const auto room = std::ranges::find_if(
      shared, [&](const SharedNode& it) { return it.taken + gpus <= of_node; });
  if (room == shared.end()) return false;
  places[number].nodes = {room->node};
  for (int64_t i = 0; i < gpus; ++i) places[number].gpus.push_back(room->taken + i);
  room->taken += gpus;
  room->jobs.push_back(number);
  return true;
}

/// `whole`: what it is part of, for the message.
Result<std::vector<int64_t>> parse_ranges(const std::string& text, const std::string& whole) {
  std::vector<int64_t> numbers;
  const auto add = [&](const std::string& part) {
    const auto range = spec::parse_rank_list(part);
    if (!range || part.empty() || !base::is_digit(part.front())) return false;
    numbers.insert(numbers.end(), range->begin(), range->end());
    return true;
  };
  if (text.empty() || !std::ranges::all_of(base::split(text, '+'), add))
    return input_error(
        "found \"{}\"; allowed: the nodes of one job, as 0-15 or 0-7+16-23, or GPUs of one node, "
        "as 0:0-3",
        whole);
  return numbers;
}

/// A job's GPUs of a node.
Result<void> check_gpus(const spec::Job& job, const std::string& name, const Place& place) {
  const int64_t of_node = job.cluster.node.gpus;
  if (!is_small(job))
    return input_error(
        "--nodes: found GPUs of a node for {}, which has {} GPUs; allowed: whole nodes for jobs of "
        "{} GPUs and more, as many as a node has",
        name, job.gpus, of_node);
  if (std::ssize(place.gpus) != job.gpus)
    return input_error("--nodes: found {} GPUs for {}, which has {}", place.gpus.size(), name,
                       job.gpus);
  for (const int64_t gpu : place.gpus)
    if (gpu >= of_node)
      return input_error(
          "--nodes: {} would be on GPU {} of node {}; a node of {} has {}, from 0 "
          "to {}",
          name, gpu, place.nodes.front(), job.cluster.name, of_node, of_node - 1);
  return {};
}

/// Who has a GPU of a node, or all of them.
class Owners {
 public:
  explicit Owners(const std::vector<std::string>& names) : names_(names) {}

  Result<void> take(size_t job, const Place& place) {
    for (const int64_t node : place.nodes) {
      const auto [whole, is_new] = of_node_.emplace(node, Owner{job, !place.shares_node()});
      if (!is_new && (whole->second.all || !place.shares_node()))
        return input_error(
            "--nodes: node {} is given to {} and to {}; allowed: nodes of its own for each, or "
            "GPUs of it, as {}:0-1 and {}:2-3, for jobs that are smaller than a node",
            node, names_[whole->second.job], names_[job], node, node);
      for (const int64_t gpu : place.gpus)
        if (const auto [found, is_free] = of_gpu_.emplace(std::pair(node, gpu), job); !is_free)
          return input_error("--nodes: GPU {} of node {} is given to {}", gpu, node,
                             found->second == job
                                 ? names_[job] + " twice"
                                 : names_[found->second] + " and to " + names_[job]);
    }
    return {};
  }

 private:
  struct Owner {
    size_t job;
    bool all;
  };
  const std::vector<std::string>& names_;
  std::map<int64_t, Owner> of_node_;
  std::map<std::pair<int64_t, int64_t>, size_t> of_gpu_;
};

}  // namespace

std::string place_text(const Place& place) {
  const std::string nodes = base::ranges_text(place.nodes);
  return place.shares_node() ? nodes + ':' + base::ranges_text(place.gpus) : nodes;
}

std::vector<Place> place(const std::vector<const spec::Job*>& jobs, Placement placement) {
  std::vector<Place> places(jobs.size());
  int64_t next = 0;
  const auto add_domain = [&](size_t i) {
    const int64_t left = jobs[i]->nodes() - std::ssize(places[i].nodes);
    if (left == 0) return false;
    add_nodes(next, std::min(left, taken_nodes(*jobs[i])), places[i].nodes);
    next += domain_nodes(*jobs[i]);
    return true;
  };
  if (placement == Placement::kInterleaved) {
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < jobs.size(); ++i) more = add_domain(i) || more;
    }
    return places;
  }
  std::vector<SharedNode> shared;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t of_node = jobs[i]->cluster.node.gpus;
    if (is_small(*jobs[i])) {
      if (fill(i, jobs[i]->gpus, of_node, shared, places)) continue;
      shared.push_back({.node = next});
      next += domain_nodes(*jobs[i]);
      fill(i, jobs[i]->gpus, of_node, shared, places);
      continue;
    }
    while (add_domain(i)) continue;
  }
  for (const SharedNode& it : shared)
    if (it.jobs.size() == 1) places[it.jobs.front()].gpus.clear();  // a node of its own
  return places;
}

Result<Place> parse_place(const std::string& text) {
  const size_t colon = text.find(':');
  Place place;
  ERGOMETER_ASSIGN(place.nodes, parse_ranges(text.substr(0, colon), text));
  if (colon == std::string::npos) return place;
  ERGOMETER_ASSIGN(place.gpus, parse_ranges(text.substr(colon + 1), text));
  if (place.nodes.size() > 1)
    return input_error("found \"{}\"; allowed: GPUs of one node, as 0:0-3", text);
  return place;
}

Result<void> check_places(const std::vector<const spec::Job*>& jobs,
                          const std::vector<std::string>& names, const std::vector<Place>& places) {
  const spec::Cluster& cluster = jobs.front()->cluster;
  Owners owners(names);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Nodes& nodes = places[i].nodes;
    if (std::ssize(nodes) != jobs[i]->nodes())
      return input_error("--nodes: found {} for {}, which takes {} of {} ({} GPUs)",
                         std::ssize(nodes), names[i], jobs[i]->nodes(), cluster.name,
                         jobs[i]->gpus);
    ERGOMETER_TRY(places[i].shares_node() ? check_gpus(*jobs[i], names[i], places[i])
                                          : check_domains(*jobs[i], names[i], nodes));
    for (const int64_t node : nodes)
      if (cluster.nodes > 0 && node >= cluster.nodes)
        return input_error("{} would be on node {}; {} has {}, from 0 to {}", names[i], node,
                           cluster.name, cluster.nodes, cluster.nodes - 1);
    ERGOMETER_TRY(owners.take(i, places[i]));
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

std::vector<TierPlace> pcie_places(const spec::Node& node, const Place& place) {
  const std::optional<spec::PcieTree> tree = spec::pcie_tree(node);
  if (!tree) return {};
  const auto bridges = std::ssize(tree->bridges);
  std::vector<TierPlace> places(tree->bridges.size(), {.groups = {}, .is_pcie = true});
  if (!place.shares_node()) return places;
  for (int64_t bridge = 0; bridge < bridges; ++bridge)
    places[static_cast<size_t>(bridge)].groups[place.nodes.front() * bridges + bridge] = 0;
  for (const int64_t gpu : place.gpus)
    for (int at = tree->gpus[static_cast<size_t>(gpu)]; at >= 0;
         at = tree->bridges[static_cast<size_t>(at)].above)
      ++places[static_cast<size_t>(at)].groups.begin()->second;
  return places;
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
  size_t bridge = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].is_pcie) {
      spec::slow_pcie_link(bridge++, shares[i], changed.node.parameters);
      continue;
    }
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
