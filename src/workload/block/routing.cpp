// How many members (ranks, nodes) one token's experts lie on when routing is balanced.
//
//   hit(E, k, n) = n (1 - prod_{i<k} (1 - (E/n) / (E - i)))
//
// are the expected distinct members among n that k different experts of E, E/n to a member, lie on.
// With groups (DeepSeek-V3: 4 of 8 groups, 2 experts in each) and at least as many members as
// groups every chosen group has n/G members of its own; with fewer members, a member holds G/n
// groups:
//
//   n >= G:  g * hit(E/G, k/g, n/G)          n < G:  hit(G, g, n)
//
// Worked: 256 experts, top 8, no groups, 8 nodes: prod (1 - 32/(256 - i)), i = 0..7, is
// 0.3387; 5.29 nodes. Limited to 4 of 8 groups, a node a group: 4 * hit(32, 2, 1) = 4 nodes.
#include <algorithm>

#include "workload/operator.h"

namespace ergometer::workload {
namespace {

double hit(double experts, int64_t choices, double members) {
  const double share = experts / members;
  double missed = 1;
  for (int64_t i = 0; i < choices; ++i)
    missed *= std::max(0.0, 1 - share / std::max(share, experts - static_cast<double>(i)));
  return members * (1 - missed);
}

}  // namespace

double expected_members(const TokenRouting& routing, double members) {
  const auto groups = static_cast<double>(routing.groups);
  if (members < groups) return hit(groups, routing.group_choices, members);
  return static_cast<double>(routing.group_choices) *
         hit(static_cast<double>(routing.experts) / groups, routing.choices / routing.group_choices,
             members / groups);
}

}  // namespace ergometer::workload
