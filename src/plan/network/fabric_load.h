#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/job/cluster.h"

namespace ergometer::plan {

/// Who sends to whom: everybody to the next of a ring, up and down a double binary tree, everybody
/// to everybody, everybody to the one a stage further.
enum class Pattern { kRing, kTree, kAllToAll, kSend };

/// Which way messages between stages go over circuits: to stages of higher numbers, of lower ones,
/// or both, of which the worse counts.
enum class Way { kBoth, kForth, kBack };

/// A group's nodes on the fabric: `members` of them, `stride` nodes apart. The nodes between them
/// belong to groups alike, which communicate at the same time.
struct FabricGroup {
  double members = 1, stride = 1;
  int64_t tiers = 0;              ///< switch tiers that its traffic climbs, counted from 1
  int64_t nodes = 1, stages = 1;  ///< of the job, to which circuits are fitted
  int64_t onward = -1;   ///< of a node's circuits, those between stages; spec/job/circuits.h
  Way way = Way::kBoth;  ///< of what is sent over circuits
  /// Messages that leave through one card at a time where not all its channels carry one
  /// collective: in an exchange `flows`, to all others outside the domain from all GPUs of the
  /// card; to the next stage or member one from each of these, `senders`.
  double flows = 1, senders = 1;
};

/// What a card's ports to one of several planes are called.
inline constexpr std::string_view kPlane = "plane";

/// The fullest link of one kind.
struct LinkLoad {
  /// The name of its dimension; of uplinks that of the tier below them; or `kPlane`.
  std::string link;
  double bytes = 0;     ///< that it carries for each byte that every node sends
  double slowdown = 0;  ///< times the nodes' line rate over its own: how far it holds them up
};

struct FabricLoad {
  std::vector<LinkLoad> links;
  /// Links between switches (torus: nodes) that the message with the longest way takes; of a tree
  /// added up over its levels.
  double hops = 0;
  double levels = 1;  ///< of a tree: how many messages follow each other from a leaf to the root

  const LinkLoad* fullest() const;
  double slowdown() const;  ///< the fullest link's, at least 1
  double hops_beyond_first() const { return hops > levels ? hops - levels : 0; }
};

/// Formulas: fabric_load.cpp.
FabricLoad fabric_load(const spec::Cluster& cluster, Pattern pattern, const FabricGroup& group);

}  // namespace ergometer::plan
