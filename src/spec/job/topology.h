#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::spec {

/// Which of the ways between two switches packets take: the shortest, or also detours over a third
/// one where the shortest is full (Valiant's, as UGAL and Slingshot choose them).
enum class Routing { kMinimal, kAdaptive };

/// When an optical network's circuits are made: once for the job; anew before every step, which
/// waits for them; or within a step too, for each of its phases (circuits.h).
enum class Reconfigure { kJob, kStep, kPhase };

/// One level of a network whose switches (or nodes) are joined to each other, not by switches above
/// them. Node n has the coordinate n / step % size.
struct Dimension {
  std::string name;             ///< "local", "global"; "x", "y", ...
  int64_t size = 1;             ///< how many switches, groups or nodes lie along it
  int64_t step = 1;             ///< nodes from one to the next
  int64_t unit = 1;             ///< nodes that send over the links of one of them
  double link_bytes_per_s = 0;  ///< one direction, all links of two neighbours together
  int64_t links = 0;            ///< optical: of every node along it; the rate is one link's
};

/// Links of every node into switches of light, which join any two of them while a circuit lasts.
struct Circuits {
  int64_t degree = 0;           ///< links of a node
  double link_bytes_per_s = 0;  ///< one link, one direction
  Reconfigure when = Reconfigure::kJob;
  double reconfiguration_s = 0;
};

/// Equal networks side by side among which every card divides its ports.
struct Planes {
  int64_t count = 1, down = 0;
  bool spray = false;  ///< one message is cut over all planes that are up; else it has one of them
  int64_t up() const { return count - down; }
};

/// How a network that is no tree of switches is wired; empty for those that are.
struct Topology {
  std::vector<Dimension> dimensions;  ///< the one in which neighbouring nodes lie first
  Routing routing = Routing::kAdaptive;
  bool wraparound = true;  ///< torus: lines are closed to rings
  double hop_s = 0;        ///< what every hop behind a message's first adds
  Circuits circuits;       ///< of an optical network, whose dimensions are each job's own
};

}  // namespace ergometer::spec
