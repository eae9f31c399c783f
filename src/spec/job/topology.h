#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::spec {

/// Which of the ways between two switches packets take: the shortest, or also detours over a third
/// one where the shortest is full (Valiant's, as UGAL and Slingshot choose them).
enum class Routing { kMinimal, kAdaptive };

/// One level of a network whose switches (or nodes) are joined to each other, not by switches above
/// them. Node n has the coordinate n / step % size.
struct Dimension {
  std::string name;             ///< "local", "global"; "x", "y", ...
  int64_t size = 1;             ///< how many switches, groups or nodes lie along it
  int64_t step = 1;             ///< nodes from one to the next
  int64_t unit = 1;             ///< nodes that send over the links of one of them
  double link_bytes_per_s = 0;  ///< one direction, all links of two neighbours together
};

/// How a network that is no tree of switches is wired; empty for those that are.
struct Topology {
  std::vector<Dimension> dimensions;  ///< the one in which neighbouring nodes lie first
  Routing routing = Routing::kAdaptive;
  bool wraparound = true;  ///< torus: lines are closed to rings
  double hop_s = 0;        ///< what every hop behind a message's first adds
};

}  // namespace ergometer::spec
