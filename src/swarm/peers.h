#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::swarm {

/// Peers that are alike: one GPU each behind a line of its own.
struct PeerKind {
  std::string name = {};
  /// A node or cluster of the catalog, or a file: its first GPU is the peer's.
  std::string node = {};
  int64_t count = 1;
  double uplink_bytes_per_s = 0, downlink_bytes_per_s = 0;
  double latency_s = 0;         ///< one way, to where lines meet
  double loss = 0;              ///< share of packets lost on the line
  double connections = 1;       ///< TCP connections between two peers
  double stays_s = 0;           ///< mean time until it leaves, exponential; 0: it stays
  double away_s = 0;            ///< mean time until it is back, exponential; 0: it stays away
  double dollars_per_hour = 0;  ///< while it is there
};

/// `peers`: a list of {name, node, count, uplink, downlink, latency, loss, connections, stays,
/// away, price}. The first thing wrong is the error, with its line.
Result<std::vector<PeerKind>> parse_peers(const std::string& text, const std::string& file);

/// What a message from one to the other passes on: the slower of the two lines, and of connections
/// that lose packets no more than `cost::lossy_tcp_bytes_per_s` each. Bytes/s.
double rate_between(const PeerKind& from, const PeerKind& to);

}  // namespace ergometer::swarm
