#include "swarm/peers.h"

#include <algorithm>
#include <set>

#include "cost/lossy_tcp.h"
#include "spec/catalog/read.h"
#include "spec/job/measure_range.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::swarm {
namespace {

constexpr int64_t kMostPeers = 10'000;
constexpr double kSlowestLine = 1e4, kFastestLine = 1e12, kLongestLatency = 5;
constexpr double kMostLoss = 0.2, kMostConnections = 1024, kMostPrice = 1e4;
constexpr double kShortestStay = 60, kLongestStay = 1e9;

double measured(spec::YamlMap& map, const char* key, const spec::MeasureRange& range,
                double fallback) {
  if (!map.has(key) || map.error()) return fallback;
  const auto value = range.read(map.text(key));
  if (!value) map.refuse(key, value.error().message);
  return value.value_or(fallback);
}

PeerKind read_kind(spec::YamlMap& map) {
  map.allow({"name", "node", "count", "uplink", "downlink", "latency", "loss", "connections",
             "stays", "away", "price"});
  for (const char* key : {"node", "uplink", "downlink"}) map.require(key);
  PeerKind kind;
  kind.node = map.text("node");
  kind.name = map.text("name", kind.node);
  kind.count = map.integer("count", 1, 1, kMostPeers);
  const spec::MeasureRange line{"B/s", kSlowestLine, kFastestLine};
  kind.uplink_bytes_per_s = measured(map, "uplink", line, 1);
  kind.downlink_bytes_per_s = measured(map, "downlink", line, 1);
  kind.latency_s = measured(map, "latency", {"s", 0, kLongestLatency}, 0);
  kind.loss = measured(map, "loss", {"", 0, kMostLoss}, 0);
  kind.connections = map.real("connections", 1, 1, kMostConnections);
  const spec::MeasureRange stay{"s", kShortestStay, kLongestStay};
  kind.stays_s = measured(map, "stays", stay, 0);
  kind.away_s = measured(map, "away", stay, 0);
  kind.dollars_per_hour = map.real("price", 0, 0, kMostPrice);
  if (kind.loss > 0 && kind.latency_s <= 0)
    map.refuse("loss", "needs latency: what loss costs grows with the round trip");
  if (map.has("away") && !map.has("stays"))
    map.refuse("away", "needs stays: these peers never leave");
  if (map.error()) return kind;
  const auto cluster = spec::read_cluster(kind.node);
  if (!cluster) map.refuse("node", cluster.error().message);
  return kind;
}

}  // namespace

Result<std::vector<PeerKind>> parse_peers(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(spec::YamlMap map, spec::YamlMap::parse(text, file));
  map.allow({"peers"});
  map.require("peers");
  std::vector<PeerKind> kinds;
  std::set<std::string> names;
  int64_t count = 0;
  for (spec::YamlMap& entry : map.maps("peers")) {
    kinds.push_back(read_kind(entry));
    count += kinds.back().count;
    if (!names.insert(kinds.back().name).second)
      entry.refuse(entry.has("name") ? "name" : "node",
                   "\"{}\" names other peers already; name these", kinds.back().name);
    if (count > kMostPeers) entry.refuse("count", "makes {} peers; allowed: {}", count, kMostPeers);
  }
  if (!map.error() && kinds.empty())
    map.refuse("peers", "are none; allowed: a list of kinds of peers");
  if (map.error()) return tl::unexpected(*map.error());
  return kinds;
}

double rate_between(const PeerKind& from, const PeerKind& to) {
  const double line = std::min(from.uplink_bytes_per_s, to.downlink_bytes_per_s);
  const double loss = 1 - (1 - from.loss) * (1 - to.loss);
  if (loss <= 0) return line;
  const double round_trip_s = 2 * (from.latency_s + to.latency_s);
  const double connections = std::min(from.connections, to.connections);
  return std::min(line, connections * cost::lossy_tcp_bytes_per_s(round_trip_s, loss));
}

}  // namespace ergometer::swarm
