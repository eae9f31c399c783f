#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::record {

/// Each file makes the driver ask the card's firmware; some do not need it at every tick.
inline constexpr int64_t kSeldom = 1'000'000'000;

/// A port under class/infiniband that counts what crosses it.
struct RdmaPort {
  std::string name;              ///< "mlx5_0/1"
  std::string folder;            ///< ".../class/infiniband/mlx5_0/ports/1"
  std::string uuid;              ///< the card's GUID
  bool ethernet = false;         ///< RoCE
  std::vector<std::string> net;  ///< its network interfaces
};

/// Ports with counters, those that are down left out.
std::vector<RdmaPort> rdma_ports(const std::string& sys);

/// Interfaces of `<sys>/class/net` that are Ethernet, have hardware of their own, are not down and
/// belong to none of `rdma_ports`.
std::vector<std::string> ethernet_interfaces(const std::string& sys);

}  // namespace ergometer::record
