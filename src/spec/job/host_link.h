#pragma once

#include "spec/job/cluster.h"

namespace ergometer::spec {

inline constexpr double kAssumedHostLink = 31.5e9;  ///< bytes/s, PCIe 4.0 x16
inline constexpr double kAssumedHostShare = 0.4;

/// Bytes a second, one direction, that a GPU copies between its memory and the host's while all
/// GPUs of its node do: the link's peak (`host_link`, data sheet) times what is left of it
/// (`host.link_share`). Assumed where the catalog has no share: copies of pinned memory reach 0.8
/// of PCIe's peak, and two GPUs behind one PCIe switch share its uplink.
inline double host_bytes_per_s(const Node& node) {
  return node.gpu.parameters.value_or("host_link", kAssumedHostLink) *
         node.parameters.value_or("host.link_share", kAssumedHostShare);
}

}  // namespace ergometer::spec
