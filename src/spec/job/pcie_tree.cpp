#include "spec/job/pcie_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/check.h"

namespace ergometer::spec {
namespace {

base::Parameter place(int bridge, const base::Parameter& like) {
  return {static_cast<double>(bridge), "", like.source, like.grade};
}

int bridge_number(const base::ParameterSet& parameters, const std::string& name) {
  return static_cast<int>(std::lround(parameters.at(name)));
}

/// Of a tree that another takes the place of nothing stays.
base::ParameterSet without_tree(const base::ParameterSet& parameters) {
  base::ParameterSet others;
  for (const auto& [name, parameter] : parameters.all())
    if (!name.starts_with("pcie.")) others.set(name, parameter);
  return others;
}

}  // namespace

int PcieTree::sockets() const {
  return static_cast<int>(std::ranges::count(bridges, -1, &PcieBridge::above));
}

void set_pcie_tree(const PcieTree& tree, const base::Parameter& socket_link,
                   const std::vector<base::Parameter>& uplinks, base::ParameterSet& parameters) {
  parameters = without_tree(parameters);
  for (size_t i = 0; i < tree.bridges.size(); ++i) {
    const bool root = tree.bridges[i].above < 0;
    const base::Parameter& link = root ? socket_link : uplinks[i];
    parameters.set(fmt::format("pcie.bridge{}.above", i), place(tree.bridges[i].above, link));
    parameters.set(fmt::format("pcie.bridge{}.{}", i, root ? "socket_link" : "uplink"), link);
  }
  const auto flag = [&](const char* name, bool value) {
    parameters.set(name, place(value ? 1 : 0, socket_link));
  };
  flag("pcie.peer_to_peer", tree.peer_to_peer);
  flag("pcie.gpudirect", tree.gpudirect);
  for (size_t i = 0; i < tree.gpus.size(); ++i)
    parameters.set(fmt::format("pcie.gpu{}", i), place(tree.gpus[i], socket_link));
  for (size_t i = 0; i < tree.nics.size(); ++i)
    parameters.set(fmt::format("pcie.nic{}", i), place(tree.nics[i], socket_link));
  parameters.set("pcie.bridges", place(static_cast<int>(tree.bridges.size()), socket_link));
}

std::optional<PcieTree> pcie_tree(const Node& node) {
  const base::ParameterSet& p = node.parameters;
  if (!p.has("pcie.bridges")) return std::nullopt;
  PcieTree tree;
  for (int i = 0; i < bridge_number(p, "pcie.bridges"); ++i) {
    const int above = bridge_number(p, fmt::format("pcie.bridge{}.above", i));
    const char* link = above < 0 ? "socket_link" : "uplink";
    tree.bridges.push_back({above, p.at(fmt::format("pcie.bridge{}.{}", i, link))});
  }
  for (int i = 0; i < node.gpus; ++i)
    tree.gpus.push_back(bridge_number(p, fmt::format("pcie.gpu{}", i)));
  for (size_t i = 0; i < node.nics.size(); ++i)
    tree.nics.push_back(bridge_number(p, fmt::format("pcie.nic{}", i)));
  tree.peer_to_peer = p.at("pcie.peer_to_peer") > 0;
  tree.gpudirect = p.at("pcie.gpudirect") > 0;
  return tree;
}

void slow_pcie_link(size_t bridge, double times, base::ParameterSet& parameters) {
  for (const char* link : {"socket_link", "uplink"}) {
    const std::string name = fmt::format("pcie.bridge{}.{}", bridge, link);
    const base::Parameter* found = parameters.find(name);
    if (found == nullptr || times == 1) continue;
    base::Parameter slower = *found;
    slower.value /= times;
    parameters.set(name, slower);
  }
}

double pcie_bytes_per_s(int generation, int lanes) {
  constexpr std::array kTransfersPerS = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  ERGOMETER_CHECK(generation >= 1 && generation <= 6, "a generation of PCIe");
  const double coding = generation < 3 ? 8.0 / 10 : generation < 6 ? 128.0 / 130 : 236.0 / 256;
  return kTransfersPerS[static_cast<size_t>(generation - 1)] / 8 * coding * lanes;
}

double host_bytes_per_s(const PcieTree& tree, double host_link_bytes_per_s) {
  std::vector<double> below(tree.bridges.size());
  for (const int gpu : tree.gpus)
    for (int at = gpu; at >= 0; at = tree.bridges[static_cast<size_t>(at)].above)
      ++below[static_cast<size_t>(at)];
  double least = host_link_bytes_per_s;
  for (size_t i = 0; i < below.size(); ++i)
    if (tree.bridges[i].above >= 0 && below[i] > 0)
      least = std::min(least, tree.bridges[i].bytes_per_s / below[i]);
  return kCopyShare * least;
}

}  // namespace ergometer::spec
