// A node's PCIe tree: which GPUs and NICs hang on which switch, and these on which CPU socket.
#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "spec/cluster/cluster_reader.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::spec {
namespace {

constexpr int kMostSwitchesDeep = 8;

/// The number behind `prefix`, or 0.
int number_behind(std::string_view text, std::string_view prefix) {
  int number = 0;
  if (!text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

/// "gen4 x16", or a rate as everywhere.
base::Parameter read_uplink(YamlMap& map) {
  map.require("uplink");
  if (map.error()) return {};
  if (map.map("uplink") || !map.text("uplink").starts_with("gen"))
    return map.parameter("uplink", "B/s", kSlowestLink, kFastestLink);
  const std::string text = map.text("uplink");
  const size_t blank = text.find(' ');
  const int generation = number_behind(std::string_view(text).substr(0, blank), "gen");
  const int lanes =
      blank == std::string::npos ? 0 : number_behind(std::string_view(text).substr(blank + 1), "x");
  if (generation < 1 || generation > 6 || lanes < 1 || lanes > 32) {
    map.refuse("uplink",
               "found \"{}\"; allowed: gen1 to gen6 and x1 to x32, as in gen4 x16, or a rate",
               text);
    return {};
  }
  return {pcie_bytes_per_s(generation, lanes), "B/s", "PCIe " + text + " line rate",
          base::Grade::kDatasheet};
}

class PcieReader {
 public:
  explicit PcieReader(Node& node) : node_(node) {
    tree_.gpus.assign(static_cast<size_t>(node.gpus), -1);
    tree_.nics.assign(node.nics.size(), -1);
  }

  void read(YamlMap& pcie) {
    pcie.allow({"sockets", "socket_link", "peer_to_peer", "gpudirect"});
    pcie.require("sockets");
    for (YamlMap& socket : pcie.maps("sockets")) {
      socket.allow({"gpus", "nics", "switches"});
      read_bridge(socket, -1, {}, 0);
    }
    if (pcie.error()) return;
    for (size_t i = 0; i < tree_.gpus.size(); ++i)
      if (tree_.gpus[i] < 0) pcie.refuse("sockets", "GPU {} hangs on none of them", i);
    for (size_t i = 0; i < tree_.nics.size(); ++i)
      if (tree_.nics[i] < 0) pcie.refuse("sockets", "NIC {} hangs on none of them", i);
    tree_.peer_to_peer = pcie.choice("peer_to_peer", {"false", "true"}, 1) == 1;
    tree_.gpudirect = pcie.choice("gpudirect", {"false", "true"}, tree_.peer_to_peer ? 1 : 0) == 1;
    base::Parameter link{0, "B/s", "one socket", base::Grade::kDatasheet};
    if (tree_.sockets() > 1) {
      pcie.require("socket_link");
      if (!pcie.error()) link = pcie.parameter("socket_link", "B/s", kSlowestLink, kFastestLink);
    }
    if (!pcie.error()) set_pcie_tree(tree_, link, uplinks_, node_.parameters);
  }

 private:
  void read_bridge(YamlMap& map, int above, const base::Parameter& uplink, int depth) {
    const int bridge = static_cast<int>(tree_.bridges.size());
    tree_.bridges.push_back({above, uplink.value});
    uplinks_.push_back(uplink);
    hang(map, "gpus", "GPU", bridge, tree_.gpus);
    hang(map, "nics", "NIC", bridge, tree_.nics);
    for (YamlMap& below : map.maps("switches")) {
      if (depth == kMostSwitchesDeep)
        return map.refuse("switches", "hang on each other more than {} deep", kMostSwitchesDeep);
      below.allow({"uplink", "gpus", "nics", "switches"});
      const base::Parameter link = read_uplink(below);
      if (below.error()) return;
      read_bridge(below, bridge, link, depth + 1);
    }
  }

  static void hang(YamlMap& map, std::string_view key, std::string_view what, int bridge,
                   std::vector<int>& places) {
    if (!map.has(key)) return;
    if (places.empty()) return map.refuse(key, "the node has no {}", what);
    for (const int64_t index : map.integers(key, 0, std::ssize(places) - 1)) {
      int& place = places[static_cast<size_t>(index)];
      if (place >= 0) return map.refuse(key, "{} {} hangs on another already", what, index);
      place = bridge;
    }
  }

  Node& node_;
  PcieTree tree_;
  std::vector<base::Parameter> uplinks_;
};

}  // namespace

void read_pcie(YamlMap& map, Node& node) {
  if (auto pcie = map.map("pcie", "a mapping with sockets")) PcieReader(node).read(*pcie);
}

}  // namespace ergometer::spec
