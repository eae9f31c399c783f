#pragma once

#include <string_view>
#include <vector>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// Bytes that cross the links inside the scale-up domains and the NICs in one step, each counted
/// once at its sender; rates per GPU inside, per NIC outside, one direction. The peak is the
/// highest mean rate of any single operator. Of a node's PCIe tree also a row of the fullest link
/// upward from a switch and one of the fullest between sockets, of a network without a tree of
/// switches one a dimension: the fullest link's fuller direction.
std::vector<run::Link> link_use(const EngineInput& input, double step_s);

/// What a job does on the links above one tier of switches.
struct UplinkUse {
  std::string_view tier;  ///< its name, the fabric's
  double busy_s = 0;      ///< of a step, that bytes of the busiest node take on their way
  /// What its nodes send up meanwhile over what the links carry: at the cards' line rate, or at
  /// what one of several planes or another tier's links leave of it; above 1 these links hold it
  /// up.
  double load = 0;
};

/// Tier by tier from below, those that the job's traffic leaves upward; none of a network without a
/// tree of switches. `busy_s` counts bytes at the line rate, or at what the fullest links leave of
/// it, and no latency: `busy_s * min(1, load)` is what the links carry over what they could.
std::vector<UplinkUse> uplink_use(const EngineInput& input);

}  // namespace ergometer::engine
