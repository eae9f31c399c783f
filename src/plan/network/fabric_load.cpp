// What it predicts: the bytes on the fullest link of every kind for each byte that every node
// sends, and the hops of the longest way, closed forms for groups that lie evenly.
//
// Symbols: M members s nodes apart; a tier joins B nodes by uplinks for B / o of them. A dimension
// of k switches (groups of them, nodes) has u nodes behind each; of these switches a group has
// members on m, d apart.
//
//   tier of switches   ring, send  min(s, B)          all-to-all  B (1 - (B/s) / M)
//   full mesh of k     ring, send  T = min(s, u)      all-to-all  u/m * M/(M-1)
//     adaptive, where that holds the cards up: the lesser of it and Valiant's, who sends every byte
//     over two of the k - 1 links that leave a switch: 2 T / (k-1), and 2 u (m-1)/m / (k-1) *
//     M/(M-1)
//   ring of k (torus)  ring        d / (2 e)          all-to-all  d floor(m^2/4) / (2 m) * M/(M-1)
//     send             d
//     e: dimensions that the group spans, as many edge-disjoint rings run through them (Bae and
//     Bose, IEEE Trans. Computers 52, 2003), each both ways. A line that is not closed, or that the
//     group does not fill, carries twice that: a closing edge goes back all the way, and its middle
//     is cut once where a ring is cut twice.
//   tree               half of the nodes send to a neighbour s away, a quarter to one 2 s away,
//   ...,
//     up as much as down: the sum over levels j of 2^-(j+1) send(s 2^j), on a torus half of it
//
//   circuits           ring, of all nodes of a dimension: 1 / e, one ring a link of its e
//     anything else goes by the shortest ways (network/circulant.cpp): to the next stage 1 where a
//     circuit leads there; all-to-all within the dimension (m - |j|) / m^2 * M/(M-1) to the member
//     j away; half of a ring of fewer nodes each way round, its end going back to its start; a tree
//     as on a torus
//   planes             L of P are up: 1/L of what a card sends on its ports to each, a P-th of its
//     rate, so that it takes P / L as long, and so do uplinks; f messages at a time that are not
//     cut over planes: 1 / min(f, L). That they lie evenly on planes is assumed
//
// In a dragonfly what leaves a group takes a link inside it on either side, and one on a detour in
// the group between; gateways lie evenly: 2 or 3 * u * (share that leaves) / k bytes, beside what
// stays in the group.
//
// M/(M-1) makes of a byte to everybody, oneself too, a byte sent; tiers keep the former.
//
// Worked: torus of 4 x 4 x 4, all-to-all of all 64 nodes: 4/2/4 = 0.5 bytes a link * 64/63. Cut in
// halves, 32 nodes send half of 64/63 bytes each over 2 * 16 links: the same. Dragonfly of 74
// groups of 128 nodes joined pairwise by 4 links: all to all of the 9,472 puts 128/74 = 1.73 node's
// bytes on a pair's links; two groups alone 64, or 2 * 128 / 2 / 73 = 1.75 adaptively.
#include "plan/network/fabric_load.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "plan/network/circulant.h"
#include "spec/job/circuits.h"

namespace ergometer::plan {
namespace {

using spec::Dimension;
using spec::FabricKind;

/// How a group lies along one dimension.
struct Extent {
  double members = 1;   ///< switches along it that have members of the group
  double distance = 1;  ///< from one of them to the next
  double stride = 0;    ///< nodes from a member to the next within one line; 0: it does not use it
};

/// What one of two switches' links carries, and whether packets take detours over others.
struct Mesh {
  double bytes = 0;
  bool detours = false;
};

/// Whether a group that climbs `tiers` uses a dimension: the first tier is what a switch joins.
bool reaches(const FabricGroup& group, size_t dimension) {
  return group.tiers >= static_cast<int64_t>(dimension) + 2;
}

Extent extent_of(const Dimension& line, const FabricGroup& group) {
  const auto size = static_cast<double>(line.size), step = static_cast<double>(line.step);
  const double stride = std::fmod(group.stride, step * size);
  if (stride == 0 || line.size < 2) return {};
  Extent extent{.stride = stride};
  extent.distance = std::max(1.0, std::floor(stride / step));
  const double spanned = stride < step ? std::ceil(group.members * stride / step) : group.members;
  extent.members = std::clamp(spanned, 2.0, std::max(2.0, std::floor(size / extent.distance)));
  return extent;
}

class Load {
 public:
  Load(const spec::Cluster& cluster, const FabricGroup& group)
      : fabric_(cluster.fabric),
        lines_(spec::dimensions_of(cluster.fabric, group.nodes, group.stages, group.onward)),
        group_(group),
        node_bytes_per_s_(
            base::sum(cluster.node.nics, [](const spec::Nic& nic) { return nic.bytes_per_s; })) {}

  FabricLoad of(Pattern pattern) const {
    if (pattern == Pattern::kTree) return tree();
    if (fabric_.kind == FabricKind::kOptical) return circuits(pattern);
    return lines_.empty() ? uplinks(pattern) : direct(pattern);
  }

 private:
  FabricLoad uplinks(Pattern pattern) const {
    FabricLoad load;
    load.hops = 2 * std::max(0.0, static_cast<double>(group_.tiers - 1));
    double oversubscription = 1;
    for (int64_t tier = 0; tier + 1 < group_.tiers; ++tier) {
      const spec::FabricTier& it = fabric_.tiers[static_cast<size_t>(tier)];
      oversubscription *= it.oversubscription;
      const auto below = static_cast<double>(it.nodes_below);
      if (below <= 0) continue;
      const double share = pattern == Pattern::kAllToAll
                               ? 1 - std::max(1.0, below / group_.stride) / group_.members
                               : std::min(group_.stride, below) / below;
      load.links.push_back({it.name, below * share, oversubscription * share});
    }
    return load;
  }

  FabricLoad direct(Pattern pattern) const {
    FabricLoad load;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Extent extent = reaches(group_, i) ? extent_of(lines_[i], group_) : Extent{};
      if (extent.stride == 0) continue;
      if (fabric_.kind == FabricKind::kTorus) {
        load.links.push_back(loaded(lines_[i], ring(pattern, lines_[i], extent)));
        load.hops += hops(pattern, lines_[i], extent);
        continue;
      }
      const Mesh way = mesh(pattern, lines_[i], extent);
      load.links.push_back(loaded(lines_[i], way.bytes));
      load.hops += way.detours ? 2 : 1;
      if (fabric_.kind == FabricKind::kDragonfly && i == 1)
        add_ways_to_gateways(pattern, extent, way.detours, load);
    }
    return load;
  }

  /// Where a job's circuits lead to. A group is in one stage unless it reaches into the next.
  FabricLoad circuits(Pattern pattern) const {
    FabricLoad load;
    std::vector<Extent> extents;
    for (const Dimension& line : lines_) {
      const bool within = (group_.members - 1) * group_.stride < static_cast<double>(line.step);
      extents.push_back(within ? Extent{} : extent_of(line, group_));
    }
    const auto spanned = static_cast<double>(
        std::ranges::count_if(extents, [](const Extent& it) { return it.stride > 0; }));
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Dimension& line = lines_[i];
      if (extents[i].stride == 0) continue;
      Circulant::Carried carried{1 / spanned / static_cast<double>(line.links), 1 / spanned};
      const bool rings = extents[i].members == static_cast<double>(line.size);
      if (pattern != Pattern::kRing || !rings) carried = forwarded(pattern, line, extents[i]);
      load.links.push_back(loaded(line, carried.bytes));
      load.hops += carried.hops;
    }
    return load;
  }

  /// What goes over circuits between nodes that no ring of theirs need join.
  Circulant::Carried forwarded(Pattern pattern, const Dimension& line, const Extent& extent) const {
    const Circulant circuits(line.size, ring_strides(line.size, line.links));
    const auto m = static_cast<int64_t>(extent.members),
               apart = static_cast<int64_t>(extent.distance);
    std::vector<double> bytes(static_cast<size_t>(line.size), 0);
    const auto send = [&](int64_t members_on, double share) {
      const int64_t to = (members_on * apart % line.size + line.size) % line.size;
      bytes[static_cast<size_t>(to)] += share;
    };
    if (pattern == Pattern::kSend) {
      const auto way = [&](int64_t members_on) {
        std::ranges::fill(bytes, 0);
        send(members_on, 1);
        return circuits.carry(bytes);
      };
      if (group_.way != Way::kBoth) return way(group_.way == Way::kForth ? 1 : -1);
      const Circulant::Carried there = way(1), back = way(-1);
      return {std::max(there.bytes, back.bytes), std::max(there.hops, back.hops)};
    }
    for (int64_t on = 1 - m; on < m; ++on) {
      const double pairs = static_cast<double>(m - std::abs(on)) / extent.members;
      const bool neighbour = std::abs(on) == 1, ends = std::abs(on) == m - 1;
      if (pattern == Pattern::kAllToAll)
        send(on, pairs / extent.members * exchanged());
      else
        send(on, 0.5 * ((neighbour ? pairs : 0) + (ends ? pairs : 0)));
    }
    return circuits.carry(std::move(bytes));
  }

  LinkLoad loaded(const Dimension& line, double bytes) const {
    return {line.name, bytes, bytes * node_bytes_per_s_ / line.link_bytes_per_s};
  }

  /// What a byte to everybody is in bytes that are sent.
  double exchanged() const { return group_.members / std::max(1.0, group_.members - 1); }

  /// Over a full mesh; of a dragonfly's exchange within groups, what stays in them.
  Mesh mesh(Pattern pattern, const Dimension& line, const Extent& extent) const {
    const auto unit = static_cast<double>(line.unit), others = static_cast<double>(line.size - 1);
    double direct = std::min(extent.stride, unit), detoured = 2 * direct / others;
    if (pattern == Pattern::kAllToAll) {
      direct = unit / extent.members / groups_beside(line) * exchanged();
      detoured = 2 * direct * (extent.members - 1) / others;
    }
    const bool full = loaded(line, direct).slowdown > 1 && detoured < direct;
    if (full && fabric_.topology.routing == spec::Routing::kAdaptive) return {detoured, true};
    return {direct, false};
  }

  /// Groups of a dragonfly among which an exchange divides what a switch sends, where `line` joins
  /// the switches of one.
  double groups_beside(const Dimension& line) const {
    if (fabric_.kind != FabricKind::kDragonfly || &line != lines_.data() || !reaches(group_, 1))
      return 1;
    return extent_of(lines_[1], group_).members;
  }

  bool closed(const Dimension& line, const Extent& extent) const {
    return fabric_.topology.wraparound &&
           extent.members * extent.distance >= static_cast<double>(line.size);
  }

  double ring(Pattern pattern, const Dimension& line, const Extent& extent) const {
    const double open = closed(line, extent) ? 1 : 2, m = extent.members;
    switch (pattern) {
      case Pattern::kAllToAll:
        return open * extent.distance * std::floor(m * m / 4) / (2 * m) * exchanged();
      case Pattern::kSend: return way(line, extent);
      default: return open * extent.distance / (2 * spanned());
    }
  }

  /// Along a line, the shorter way round where there is one.
  double way(const Dimension& line, const Extent& extent) const {
    const double back = static_cast<double>(line.size) - extent.distance;
    return fabric_.topology.wraparound ? std::min(extent.distance, back) : extent.distance;
  }

  double spanned() const {
    double dimensions = 0;
    for (size_t i = 0; i < lines_.size(); ++i)
      if (reaches(group_, i) && extent_of(lines_[i], group_).stride > 0) ++dimensions;
    return dimensions;
  }

  double hops(Pattern pattern, const Dimension& line, const Extent& extent) const {
    if (pattern == Pattern::kSend) return way(line, extent);
    if (pattern == Pattern::kRing) return extent.distance / spanned();
    return extent.distance *
           (closed(line, extent) ? std::floor(extent.members / 2) : extent.members - 1);
  }

  /// Inside a dragonfly's groups, what leaves and enters them, or passes them on a detour.
  void add_ways_to_gateways(Pattern pattern, const Extent& groups, bool detours,
                            FabricLoad& load) const {
    const Dimension &local = lines_[0], &global = lines_[1];
    if (local.size < 2) return;
    const auto step = static_cast<double>(global.step);
    const double leaving = pattern == Pattern::kAllToAll ? (1 - 1 / groups.members) * exchanged()
                                                         : std::min(groups.stride, step) / step;
    const double ways = detours ? 3 : 2;
    const LinkLoad further = loaded(
        local, ways * static_cast<double>(local.unit) * leaving / static_cast<double>(local.size));
    add(further, 1, load);
    load.hops = (detours ? 2 : 1) + ways;
  }

  FabricLoad tree() const {
    FabricLoad sum;
    sum.levels = 0;
    FabricGroup level = group_;
    const bool both_ways =
        fabric_.kind == FabricKind::kTorus || fabric_.kind == FabricKind::kOptical;
    double share = both_ways ? 0.25 : 0.5;
    for (double reach = 1; reach < group_.members; reach *= 2) {
      const Load edges(*this, level);
      const FabricLoad sent = edges.of(Pattern::kSend);
      for (const LinkLoad& link : sent.links) add(link, share, sum);
      sum.hops += sent.hops;
      sum.levels += 1;
      share /= 2;
      level.stride *= 2;
    }
    return sum;
  }

  Load(const Load& other, const FabricGroup& group)
      : fabric_(other.fabric_),
        lines_(other.lines_),
        group_(group),
        node_bytes_per_s_(other.node_bytes_per_s_) {}

  static void add(const LinkLoad& link, double share, FabricLoad& sum) {
    auto found = std::ranges::find(sum.links, link.link, &LinkLoad::link);
    if (found == sum.links.end()) found = sum.links.insert(found, {link.link, 0, 0});
    found->bytes += share * link.bytes;
    found->slowdown += share * link.slowdown;
  }

  const spec::Fabric& fabric_;
  std::vector<Dimension> lines_;
  FabricGroup group_;
  double node_bytes_per_s_;
};

/// What planes leave of a card to a message, and of uplinks to all.
void divide_planes(const spec::Planes& planes, Pattern pattern, const FabricGroup& group,
                   FabricLoad& load) {
  if (planes.count == 1) return;
  const auto count = static_cast<double>(planes.count), up = static_cast<double>(planes.up());
  for (LinkLoad& link : load.links) link.slowdown *= count / up;
  const bool apart = !planes.spray && (pattern == Pattern::kSend || pattern == Pattern::kAllToAll);
  const double flows = pattern == Pattern::kSend ? group.senders : group.flows;
  const double used = apart ? std::min(up, std::max(1.0, flows)) : up;
  load.links.push_back({std::string(kPlane), 1 / used, count / used});
}

}  // namespace

const LinkLoad* FabricLoad::fullest() const {
  const auto found = std::ranges::max_element(links, {}, &LinkLoad::slowdown);
  return found == links.end() ? nullptr : &*found;
}

double FabricLoad::slowdown() const {
  const LinkLoad* link = fullest();
  return link == nullptr ? 1 : std::max(1.0, link->slowdown);
}

FabricLoad fabric_load(const spec::Cluster& cluster, Pattern pattern, const FabricGroup& group) {
  FabricLoad load = Load(cluster, group).of(pattern);
  divide_planes(cluster.fabric.planes, pattern, group, load);
  return load;
}

}  // namespace ergometer::plan
