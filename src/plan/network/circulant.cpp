// Rings that circuits form, and what they carry of traffic that has to go over several of them.
//
// A stride that has no divisor in common with the number of nodes leads through all of them before
// it comes back: one ring a link of every node (TotientPerms; Wang et al., TopoOpt, NSDI 2023). A
// stride p comes with its way back, M - p, so that circuits whose fibres run both ways between two
// nodes form the same rings. Of the strides those nearest to 1, M^(1/q), M^(2/q), ... for q pairs
// are taken: steps that grow by a factor reach every node in about q M^(1/q) hops.
//
// All nodes see the same graph, so that what one node sends, summed over the links of one stride,
// is what each of these links carries when all nodes send alike. Ways are the shortest, found
// breadth first; at every node what goes on is cut evenly over the links that lead nearer.
//
// Worked: 12 nodes of four links have the strides 1, 11, 5, 7, and reach four nodes in one hop,
// five in two, two in three: 20 hops to 11 others, 20/11/4 bytes a link for each byte that a node
// sends to all of them.
#include "plan/network/circulant.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/collection.h"

namespace ergometer::plan {
namespace {

/// The stride nearest to `target`, of two the smaller, that makes a ring and is not taken; of every
/// pair there and back the shorter. 0: there is none.
int64_t nearest_stride(double target, int64_t nodes, const std::vector<int64_t>& taken) {
  auto below = static_cast<int64_t>(target), above = below + 1;
  while (below >= 1 || 2 * above <= nodes) {
    const bool down = below >= 1 && (2 * above > nodes || target - static_cast<double>(below) <=
                                                              static_cast<double>(above) - target);
    const int64_t stride = down ? below-- : above++;
    if (2 * stride <= nodes && std::gcd(stride, nodes) == 1 && !base::contains(taken, stride))
      return stride;
  }
  return 0;
}

}  // namespace

std::vector<int64_t> ring_strides(int64_t nodes, int64_t links) {
  std::vector<int64_t> pairs, strides;
  const double factor =
      std::pow(static_cast<double>(nodes), 1 / static_cast<double>((links + 1) / 2));
  double target = 1;
  for (int64_t pair = 0; 2 * pair < links; ++pair, target *= factor) {
    const int64_t stride = nearest_stride(target, nodes, pairs);
    if (stride == 0) break;
    pairs.push_back(stride);
  }
  for (size_t link = 0; link < static_cast<size_t>(links); ++link) {
    const int64_t stride = pairs[link / 2 % pairs.size()];
    strides.push_back(link % 2 == 0 ? stride : nodes - stride);
  }
  return strides;
}

Circulant::Circulant(int64_t nodes, std::vector<int64_t> strides)
    : strides_(std::move(strides)), hops_(static_cast<size_t>(nodes), -1), order_{0} {
  hops_[0] = 0;
  for (size_t next = 0; next < order_.size(); ++next)
    for (const int64_t stride : strides_) {
      const int64_t to = (order_[next] + stride) % nodes;
      int64_t& hops = hops_[static_cast<size_t>(to)];
      if (hops >= 0) continue;
      hops = hops_[static_cast<size_t>(order_[next])] + 1;
      order_.push_back(to);
    }
}

Circulant::Carried Circulant::carry(std::vector<double> bytes) const {
  const auto nodes = static_cast<int64_t>(hops_.size());
  Carried carried;
  std::vector<double> over(strides_.size(), 0);
  std::vector<std::pair<size_t, size_t>> ways;  // links that lead to a node, and from where
  for (size_t i = order_.size(); i-- > 1;) {
    const auto node = static_cast<size_t>(order_[i]);
    if (bytes[node] <= 0) continue;
    carried.hops = std::max(carried.hops, static_cast<double>(hops_[node]));
    ways.clear();
    for (size_t link = 0; link < strides_.size(); ++link) {
      const auto from = static_cast<size_t>((order_[i] - strides_[link] + nodes) % nodes);
      if (hops_[from] + 1 == hops_[node]) ways.emplace_back(link, from);
    }
    const double share = bytes[node] / static_cast<double>(ways.size());
    for (const auto& [link, from] : ways) {
      over[link] += share;
      bytes[from] += share;
    }
  }
  carried.bytes = std::ranges::max(over);
  return carried;
}

}  // namespace ergometer::plan
