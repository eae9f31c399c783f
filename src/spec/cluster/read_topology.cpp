// Networks without a tree of switches: dragonfly, torus, HyperX, circuits; planes of the others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/job/job_words.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kMostLinks = 1000, kMostPlanes = 64, kMostDegree = 64;
constexpr double kShortestRoundTrip = 1e-6, kLongestRoundTrip = 5;
constexpr double kLeastLoss = 1e-9, kMostLoss = 0.2, kMostConnections = 1024;
constexpr double kLongestHop = 1e-3, kLongestReconfiguration = 600;
constexpr std::string_view kAxes[] = {"x", "y", "z", "w", "v", "u"};

/// Adds a dimension over the ones that are there, which join `step` nodes, and the tier of it.
void add_dimension(Fabric& fabric, std::string name, int64_t size, int64_t step, int64_t unit,
                   double link_bytes_per_s) {
  fabric.topology.dimensions.push_back({name, size, step, unit, link_bytes_per_s});
  fabric.tiers.push_back({std::move(name), step * size, 1});
}

void read_dragonfly(YamlMap& map, double link_bytes_per_s, Fabric& fabric) {
  for (const char* key : {"nodes_per_switch", "switches_per_group"}) map.require(key);
  const int64_t nodes = map.integer("nodes_per_switch", 1, 1, kMostNodes);
  const int64_t switches = map.integer("switches_per_group", 1, 1, kMostNodes / nodes);
  const auto rate = [&](const char* links) {
    return link_bytes_per_s * static_cast<double>(map.integer(links, 1, 1, kMostLinks));
  };
  fabric.tiers.push_back({"switch", nodes, 1});
  add_dimension(fabric, "local", switches, nodes, nodes, rate("local_links"));
  const int64_t group = nodes * switches;
  add_dimension(fabric, "global", map.integer("groups", 0, 2, kMostNodes / group), group, group,
                rate("global_links"));
}

/// `unit` nodes on each of the switches that `dims` counts along every dimension.
void read_grid(YamlMap& map, int64_t unit, double link_bytes_per_s, Fabric& fabric) {
  map.require("dims");
  const std::vector<int64_t> sizes = map.integers("dims", 1, kMostNodes);
  if (sizes.empty() || sizes.size() > std::size(kAxes))
    return map.refuse("dims", "found {} dimensions; allowed: 1 to {}", sizes.size(),
                      std::size(kAxes));
  const double rate =
      link_bytes_per_s * static_cast<double>(map.integer("links", 1, 1, kMostLinks));
  fabric.tiers.push_back({unit == 1 ? "node" : "switch", unit, 1});
  int64_t step = unit;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > kMostNodes / step)
      return map.refuse("dims", "join more than {} nodes", kMostNodes);
    add_dimension(fabric, std::string(kAxes[i]), sizes[i], step, unit, rate);
    step *= sizes[i];
  }
}

void read_circuits(YamlMap& map, double link_bytes_per_s, Fabric& fabric) {
  map.require("degree");
  Circuits& circuits = fabric.topology.circuits;
  circuits.degree = map.integer("degree", 1, 1, kMostDegree);
  circuits.link_bytes_per_s = link_bytes_per_s;
  circuits.when = static_cast<Reconfigure>(
      map.choice("reconfigure", base::split(words_of(Reconfigure{}), '|'), 0));
  if (circuits.when != Reconfigure::kJob) map.require("reconfiguration_time");
  if (!map.has("reconfiguration_time") || map.error()) return;
  const base::Parameter time =
      map.parameter("reconfiguration_time", "s", 0, kLongestReconfiguration);
  fabric.parameters.set("circuits.reconfiguration_time", time);
  circuits.reconfiguration_s = time.value;
}

void read_planes(YamlMap& map, Planes& planes) {
  planes.count = map.integer("planes", 1, 1, kMostPlanes);
  for (const char* key : {"planes_down", "spray"})
    if (map.has(key) && !map.has("planes")) map.refuse(key, "needs planes, how many there are");
  if (map.error()) return;
  planes.down = map.integer("planes_down", 0, 0, planes.count - 1);
  planes.spray = map.choice("spray", {"false", "true"}, 0) == 1;
}

/// What lies between nodes that are far from each other; "distance.*" of the fabric's parameters.
void read_distance(YamlMap& map, Fabric& fabric) {
  for (const char* key : {"loss", "connections"})
    if (map.has(key) && !map.has("round_trip"))
      map.refuse(key, "needs round_trip, the time there and back between two nodes");
  if (map.has("connections") && !map.has("loss"))
    map.refuse("connections", "needs loss: without, one connection fills the line");
  if (!map.has("round_trip") || map.error()) return;
  const auto keep = [&](const char* key, const char* unit, double min, double max) {
    if (map.has(key))
      fabric.parameters.set(fmt::format("distance.{}", key), map.parameter(key, unit, min, max));
  };
  keep("round_trip", "s", kShortestRoundTrip, kLongestRoundTrip);
  keep("loss", "", kLeastLoss, kMostLoss);
  keep("connections", "", 1, kMostConnections);
}

/// Nodes that the network has places for.
int64_t places(const Fabric& fabric) {
  const Dimension& last = fabric.topology.dimensions.back();
  return last.step * last.size;
}

std::string grid_words(const Topology& topology) {
  return fmt::format("{}", fmt::join(base::mapped(topology.dimensions, &Dimension::size), " x "));
}

}  // namespace

void allow_fabric_keys(YamlMap& map, FabricKind kind) {
  switch (kind) {
    case FabricKind::kDragonfly:
      return map.allow({"kind", "collectives", "source", "nodes_per_switch", "switches_per_group",
                        "groups", "local_links", "global_links", "link_bandwidth", "routing",
                        "hop_latency"});
    case FabricKind::kTorus:
      return map.allow({"kind", "collectives", "source", "dims", "links", "link_bandwidth",
                        "wraparound", "hop_latency"});
    case FabricKind::kHyperX:
      return map.allow({"kind", "collectives", "source", "dims", "nodes_per_switch", "links",
                        "link_bandwidth", "routing", "hop_latency"});
    case FabricKind::kOptical:
      return map.allow({"kind", "collectives", "source", "degree", "link_bandwidth", "reconfigure",
                        "reconfiguration_time", "hop_latency"});
    default:
      return map.allow({"kind", "collectives", "source", "tiers", "planes", "planes_down", "spray",
                        "round_trip", "loss", "connections"});
  }
}

void read_topology(YamlMap& map, Fabric& fabric) {
  if (has_tiers(fabric.kind)) {
    read_distance(map, fabric);
    return read_planes(map, fabric.planes);
  }
  Topology& topology = fabric.topology;
  map.require("link_bandwidth");
  if (map.error()) return;
  const base::Parameter link = map.parameter("link_bandwidth", "B/s", kSlowestLink, kFastestLink);
  fabric.parameters.set("link.bandwidth", link);
  if (map.has("hop_latency")) {
    const base::Parameter hop = map.parameter("hop_latency", "s", 0, kLongestHop);
    fabric.parameters.set("hop.latency", hop);
    topology.hop_s = hop.value;
  }
  topology.routing = static_cast<Routing>(
      map.choice("routing", {to_word(Routing::kMinimal), to_word(Routing::kAdaptive)},
                 static_cast<int>(Routing::kAdaptive)));
  topology.wraparound = map.choice("wraparound", {"false", "true"}, 1) == 1;
  if (fabric.kind == FabricKind::kOptical) return read_circuits(map, link.value, fabric);
  if (fabric.kind == FabricKind::kDragonfly) return read_dragonfly(map, link.value, fabric);
  const bool torus = fabric.kind == FabricKind::kTorus;
  if (!torus) map.require("nodes_per_switch");
  read_grid(map, torus ? 1 : map.integer("nodes_per_switch", 1, 1, kMostNodes), link.value, fabric);
}

void fit_topology(YamlMap& map, Cluster& cluster) {
  Fabric& fabric = cluster.fabric;
  if (fabric.topology.dimensions.empty() || map.error()) return;
  const std::string_view key = map.has("fabric") ? "fabric" : "nodes";
  Dimension& last = fabric.topology.dimensions.back();
  if (last.size == 0) {  // a dragonfly of as many groups as its nodes fill
    if (cluster.nodes == 0)
      return map.refuse(key, "the dragonfly lacks groups, and the cluster says no nodes: name one");
    last.size = std::max<int64_t>(2, (cluster.nodes + last.step - 1) / last.step);
    fabric.tiers.back().nodes_below = last.size * last.step;
  }
  const int64_t most = places(fabric);
  if (cluster.nodes == 0) cluster.nodes = most;
  if (fabric.kind == FabricKind::kTorus && cluster.nodes != most)
    map.refuse(key, "a torus of {} has {} nodes; the cluster has {}", grid_words(fabric.topology),
               most, cluster.nodes);
  else if (cluster.nodes > most)
    map.refuse(key, "the {} has places for {} nodes; the cluster has {}", to_word(fabric.kind),
               most, cluster.nodes);
}

}  // namespace ergometer::spec
