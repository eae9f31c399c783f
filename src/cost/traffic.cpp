// What it predicts: the bytes one rank sends for a collective, by the kind of link they cross; the
// average over the group's ranks, which is every rank's share since a collective runs many rings or
// trees with different ends.
//
//   ring, n ranks in N domains: a hop carries S (n-1)/n (all-reduce twice that); of the n hops N
//     leave a domain, so one rank sends S (n-1)/n * N/n over NICs and S (n-1)/n * (n-N)/n inside;
//     all inside for N = 1.
//   all-to-all, p = n/N: S (p-1)/n inside, S (n-p)/n over NICs; where not all exchange with all,
//     `leaving` times that over NICs and what is left of S (n-1)/n inside.
//   send to the next of a ring: S, over NICs from N of the n; of a pair in two domains all.
//     Where no switch joins rails, what changes its rail also counts inside.
//   tokens once to each member that needs them: S u (p-1)/p inside and S v (N-1)/N over NICs, u and
//     v the members and domains a token needs (workload/block/routing.cpp).
//
// Worked: all-reduce of 1 GB over 16 ranks in 2 nodes: 2 * 15/16 = 1.875 GB a rank, 1.640625 GB
// inside and 0.234375 GB over NICs, that is 8 * 0.234375 = 1.875 GB out of every node.
//
// Of collectives whose algorithm a file gives: given_choice.cpp.
//
// Range: exact for rings. A tree moves 2 S a channel instead of 2 S (n-1)/n.
#include <algorithm>

#include "cost/cost.h"

namespace ergometer::cost {

using workload::CollectiveKind;

namespace {

/// What a rank sends to its neighbour in a ring.
Traffic by_hops(double bytes, double ranks, double domains) {
  if (domains <= 1) return {bytes, 0};
  return {bytes * (ranks - domains) / ranks, bytes * domains / ranks};
}

}  // namespace

Traffic routed_traffic(double bytes, double ranks, double domains,
                       const workload::TokenRouting& routing) {
  const double local = ranks / domains;
  return {bytes * workload::expected_members(routing, ranks) * (local - 1) / local,
          bytes * workload::expected_members(routing, domains) * (domains - 1) / domains};
}

namespace {

Traffic by_the_shortest(const workload::Operator& op, const plan::GroupPlacement& where) {
  if (op.kind != workload::OperatorKind::kCollective || where.size <= 1) return {};
  const double bytes = op.comm_bytes;
  const auto ranks = static_cast<double>(where.size), domains = static_cast<double>(where.nodes);
  if (op.collective == CollectiveKind::kSendRecv) return by_hops(bytes, ranks, domains);
  if (op.routing.choices > 0) return routed_traffic(bytes, ranks, domains, op.routing);
  if (op.collective == CollectiveKind::kAllToAll) {
    const double local = ranks / domains, others = ranks - local;
    return {bytes * std::max(0.0, local - 1 + others * (1 - op.leaving)) / ranks,
            bytes * others * op.leaving / ranks};
  }
  const double sent =
      (op.collective == CollectiveKind::kAllReduce ? 2 : 1) * bytes * (ranks - 1) / ranks;
  return by_hops(sent, ranks, domains);
}

}  // namespace

Traffic traffic(const workload::Operator& op, const plan::GroupPlacement& where) {
  Traffic sent = by_the_shortest(op, where);
  if (op.routing.choices > 0) return sent;  // leaves on the receiver's rail
  const bool exchange = op.collective == CollectiveKind::kAllToAll;
  sent.intra_bytes +=
      sent.nic_bytes * (exchange ? where.exchange_crosses_rails : where.ring_crosses_rails);
  return sent;
}

}  // namespace ergometer::cost
