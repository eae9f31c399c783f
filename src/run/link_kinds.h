#pragma once

#include <string_view>

namespace ergometer::run {

/// Whether links of this kind join switches, sockets or the nodes of a torus: those named for a
/// dimension of the network ("local", "global", "x"), a node's PCIe "uplink" and "socket". Others
/// start at a GPU, "host" among them, or at a network card.
inline bool joins_switches(std::string_view kind) {
  return kind != "nvlink" && kind != "xgmi" && kind != "pcie" && kind != "nic" && kind != "host";
}

}  // namespace ergometer::run
