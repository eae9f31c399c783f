#pragma once

#include <optional>
#include <vector>

#include "base/parameter.h"
#include "spec/job/cluster.h"

namespace ergometer::spec {

/// A CPU socket's root complex, or a PCIe switch.
struct PcieBridge {
  int above = -1;  ///< the bridge that it hangs on; -1: a root complex
  /// Of its link upward, one direction: a switch's at line rate; a root complex's is what the links
  /// to the other sockets let through, 0 where it is the only one.
  double bytes_per_s = 0;
  friend bool operator==(const PcieBridge&, const PcieBridge&) = default;
};

/// What a node's GPUs and NICs hang on, as its `pcie` says (docs/guide/describe-your-hardware.md).
struct PcieTree {
  std::vector<PcieBridge> bridges;  ///< who is above stands before who is below
  std::vector<int> gpus, nics;      ///< the bridge of each
  bool peer_to_peer = true;         ///< GPUs read each other's memory; else through the host's
  bool gpudirect = true;            ///< NICs read GPUs' memory; else through the host's

  int sockets() const;
  int switches() const { return static_cast<int>(bridges.size()) - sockets(); }
  friend bool operator==(const PcieTree&, const PcieTree&) = default;
};

/// A tree is part of the node's parameters, as its NICs' rates are: "pcie.*", each with its source.
void set_pcie_tree(const PcieTree& tree, const base::Parameter& socket_link,
                   const std::vector<base::Parameter>& uplinks, base::ParameterSet& parameters);
/// Nothing: the node says none.
std::optional<PcieTree> pcie_tree(const Node& node);

/// Of the link upward from a bridge, what others leave of its rate: that over `times`.
void slow_pcie_link(size_t bridge, double times, base::ParameterSet& parameters);

/// Line rate of a PCIe link, one direction, bytes/s: GT/s x lanes x what the coding leaves (8b/10b,
/// from generation 3 on 128b/130b, in generation 6 236 bytes of each flit of 256; PCI-SIG base
/// specifications). Generations 1 to 6.
double pcie_bytes_per_s(int generation, int lanes);

/// Of a PCIe link's line rate, what copies of pinned memory have of it (assumed).
inline constexpr double kCopyShare = 0.8;

/// Bytes/s, one direction, that the worst placed GPU has to the host's memory while all GPUs of
/// the node copy: `kCopyShare` of its own link (`host_link`) or, of an uplink, of the share that
/// the GPUs below leave each other.
double host_bytes_per_s(const PcieTree& tree, double host_link_bytes_per_s);

}  // namespace ergometer::spec
