// What it predicts: the time of one collective from the moment its last member arrives, alone on
// its links.
//
//   t = latency + min( LL, BW )      [s]
//
// S bytes (the whole gathered or reduced buffer; all-to-all: what one rank holds), n ranks in N
// scale-up domains, p = n / N of them in each; k = 2 (n-1)/n for all-reduce, else (n-1)/n. LL is
// the low-latency protocol, BW the other:
//
//   all-reduce, one domain
//     LL = base + hop * 2(n-1) + k S / bLL
//     BW = L + R S/(S+Sh) + k S / B
//   all-reduce, many
//     LL = base + 2 hop (p-1) + 2 x log2 N + k S / min(bLL, B_net)
//     BW = L + 2 y log2 N + R S/(S+Sh) + k S / B
//   all-gather and reduce-scatter, one domain
//     LL = base + hop * (n-1) + k S / bLL
//     BW = ring_base + ring_hop (n-1) + R/2 S/(S+Sh) + k S / B
//   all-gather and reduce-scatter, many
//     LL = base + o (n-N) + hop_net (N-1) + k S / min(bLL, B_net)
//     BW = ring_base + ring_hop (n-N) + ring_hop_net (N-1) + k S / B
//   all of many
//     both + max( step (n-1), step_node sqrt((N-1) (n-1)) ): proxies that answer so slowly that
//     every step of a ring waits for the network (all-reduce: none), or what a fabric out of order
//     loses with every further node and rank, as much in a gather as in an all-reduce and in a
//     short one as in a long one. The root is the form, of five tried, nearest to nanotron's runs;
//     it has no derivation. A long all-reduce (BW) of more than two domains waits at least
//     `all_reduce_wait`, however many they are. 0 where the fabric does not say
//   all-to-all, BW only
//     ring_base + hop + peer * max(0, n-9) + R/2 S/(S+Sh)
//       + max( S (p-1)/n / B_a2a, S (n-q)/n / (NIC share of a rank * efficiency) ), q = p, or the
//     members in the emptiest domain where they are uneven
//   all-to-all that sends every token once to each member it needs (S: one copy of the tokens;
//   u, v: expected members and domains of a token, workload/block/routing.cpp), BW only
//     ring_base + hop + R/2 S/(S+Sh)
//       + max( S u (p-1)/p / B_a2a, S v (N-1)/N / (NIC share of a rank * line efficiency) )
//   send
//     send_latency + S / (pair bandwidth, or NIC share * line efficiency); half the rate is reached
//     at S = send_latency * rate: 3 to 5 MB inside a node
//
// Where the fabric's own links are fuller than the cards (plan/network/fabric_load.cpp), NIC rates
// are divided by that much: for rings and sends, for trees (LL all-reduce), for exchanges. Further
// hops add their time to every step of a ring, to a tree's levels up and down, to a message. Where
// no switch joins rails, what changes its rail takes a hop inside the domain first: x of an
// all-to-all, S (n-p)/n x more over B_a2a, and all of rings and sends between unlike rails, no
// faster than a pair of GPUs. Where not all of an all-to-all's members exchange with all, l times
// S (n-p)/n leaves the domain and the rest of S (n-1)/n stays inside.
//
// Where packets are lost, connections between two nodes pass on no more than they do together, and
// between far nodes every hop, level and send is half a round trip longer (parameters.cpp).
//
// log2 N runs in straight lines between powers of two: 1.5 for three domains. On a full mesh B_a2a
// is the share of a GPU's links that lead to members, min(1, (p-1) / links).
//
// B: in one domain the ring's bus bandwidth for that many ranks (all-reduce in the switch with wire
// bandwidth Bw moves S (1 + 1/n) a GPU, where the catalog turns it on); across domains min(ring
// inside, line efficiency * NIC rate the group owns on a node). On a full mesh B grows with the
// links between members. Times in s, rates in B/s.
//
// Parameters: catalog/collectives. Latencies and hops are NCCL's and RCCL's own tuner constants,
// bandwidths and the ramp R, Sh are fitted to all-reduce curves; half of the ramp goes to each half
// of an all-reduce, the scatter and the gather. A benchmark's own launch overhead is not in here.
//
// Worked: 8 x H100, all-reduce of 1 GiB by ring: k = 1.75; BW = 25 us + 80 us * 1073.7/1093.7 +
// 1.75 * 1.0737 GB / 365 GB/s = 25 + 78.5 + 5148 us = 5.25 ms.
//
// Range: 8 B to 16 GiB, 2 to 72 ranks in a domain, up to 128 nodes; NIC-shared and small groups on
// Ampere are up to 60 % too fast at 64 KiB to 1 MiB.
//
// How far off (collectives_measured_test.cpp; median / mean / max over sizes): all-reduce on 8 H100
// 3.3 / 8.2 / 76 % (the maximum is an outlier of the source; from 1 MiB 0.6 / 1.6 / 5.0), 8 H200
// 3.5 / 4.1 / 11, 8 B200 6.0 / 7.8 / 40, 8 A100 from 1 MiB 0.6 / 6.7 / 23, 4 nodes x 8 1.8 / 5.4 /
// 30: in-sample but for H200. Azure, 16 to 128 A100: 1.6 to 4.9 / 2.7 to 5.1 / 13.
// Messages of 4 to 16 GiB on one node: 0.6 / 0.6 / 1.5. Not fitted: gathers on 2 to 32 nodes in
// SimAI's table 4.1 / 6.9 / 31; SimuMax's B200 gathers (0.673 of 900 GB/s and 24 us): 10 % slow at
// 128 MiB, 5 % fast at 512 MiB. Sends of 1 to 256 MiB between two GPUs of a node, A100 to GB200:
// 4.1 / 4.5 / 12, in-sample.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "cost/parameters.h"
#include "cost/power.h"

namespace ergometer::cost {
namespace {

using plan::GroupPlacement;
using workload::CollectiveKind;
using workload::Operator;

/// One collective's shape: the symbols of the formulas above.
struct Group {
  double bytes = 0, ranks = 1, domains = 1, local = 1, bus_factor = 0, leaving = 1;
  bool all_reduce = false;
};

Group shape_of(const Operator& op, const GroupPlacement& where) {
  Group group;
  group.bytes = op.comm_bytes;
  group.ranks = static_cast<double>(where.size);
  group.domains = static_cast<double>(where.nodes);
  group.local = group.ranks / group.domains;
  group.leaving = op.leaving;
  group.all_reduce = op.collective == CollectiveKind::kAllReduce;
  group.bus_factor = (group.all_reduce ? 2 : 1) * (group.ranks - 1) / group.ranks;
  return group;
}

using Time = CollectiveTime;

}  // namespace

double ring_bandwidth(const DomainParameters& domain, double ranks) {
  if (ranks < 2) return std::numeric_limits<double>::infinity();
  if (domain.mesh_links > 0) {
    // Every further member adds a link; a link yields a little less the more of them run at once.
    const double last = domain.ring_bytes_per_s / domain.mesh_links,
                 first = domain.pair_bytes_per_s;
    const double steps = std::max(1.0, domain.mesh_links - 1);
    return (ranks - 1) * (first + (last - first) * (ranks - 2) / steps);
  }
  if (ranks == 2) return domain.pair_ring_bytes_per_s;
  return 2 * ranks <= static_cast<double>(domain.gpus) ? domain.half_ring_bytes_per_s
                                                       : domain.ring_bytes_per_s;
}

namespace {

double ramp(double ramp_s, double half_bytes, double bytes) {
  return bytes > 0 ? ramp_s * bytes / (bytes + half_bytes) : 0;
}

/// Transfer of a long all-reduce in one domain; the switch reduces where that is turned on and
/// faster.
double domain_transfer(const DomainParameters& domain, const Group& group) {
  const double ring_s = group.bus_factor * group.bytes / ring_bandwidth(domain, group.ranks);
  const bool in_switch = group.all_reduce && domain.in_switch_bytes_per_s > 0 && group.ranks > 4;
  if (!in_switch) return ring_s;
  double switch_s = group.bytes * (1 + 1 / group.ranks) / domain.in_switch_bytes_per_s;
  if (domain.in_switch_bus_cap > 0)
    switch_s = std::max(switch_s, group.bus_factor * group.bytes / domain.in_switch_bus_cap);
  return std::min(ring_s, switch_s);
}

Time in_domain(const DomainParameters& domain, const Group& group) {
  const double steps = group.ranks - 1;
  const Time low{
      domain.low_latency_base_s + domain.low_latency_hop_s * (group.all_reduce ? 2 : 1) * steps,
      group.bus_factor * group.bytes / domain.low_latency_bytes_per_s, true};
  const double start_s =
      group.all_reduce ? domain.latency_s : domain.ring_base_s + domain.hop_s * steps;
  const double fill_s = group.all_reduce ? domain.ramp_s : domain.ramp_s / 2;
  const Time high{start_s + ramp(fill_s, domain.ramp_half_bytes, group.bytes),
                  domain_transfer(domain, group)};
  return low.seconds() <= high.seconds() ? low : high;
}

/// What hops between switches add to a ring's steps or a tree's levels, and on a fabric whose rails
/// no switch joins the hop inside the domain to the rail of the next.
double hops_s(const DomainParameters& domain, const Group& group, const GroupPlacement& where) {
  const double crossing_s = where.ring_crosses_rails * domain.hop_s;
  if (!group.all_reduce) return (group.domains - 1) * (where.ring_hop_s + crossing_s);
  return where.tree_hop_s + 2 * levels(static_cast<long long>(group.domains)) * crossing_s;
}

/// Bytes/s over the network, where all of it goes over the pair of GPUs that changes the rail too.
double over_rails(const DomainParameters& domain, const GroupPlacement& where, double network) {
  return where.ring_crosses_rails > 0 ? std::min(network, domain.pair_bytes_per_s) : network;
}

Time across_domains(const DomainParameters& domain, const FabricParameters& fabric,
                    const Group& group, const GroupPlacement& where) {
  const double inner = group.ranks - group.domains, outer = group.domains - 1;
  const double depth = 2 * levels(static_cast<long long>(group.domains));
  const auto between_nodes = [&](double uplink) {
    const double line = where.nic_bytes_per_s / uplink * fabric.line_efficiency;
    return over_rails(domain, where, std::min(line, fabric.connections_bytes_per_s));
  };
  const double network = between_nodes(where.ring_uplink);
  const double tree = between_nodes(where.tree_uplink);
  const double bandwidth = std::min(ring_bandwidth(domain, group.local), network);
  Time low{fabric.low_latency_base_s,
           group.bus_factor * group.bytes /
               std::min(fabric.low_latency_bytes_per_s, group.all_reduce ? tree : network),
           true};
  Time high{0, group.bus_factor * group.bytes / bandwidth};
  if (group.all_reduce) {
    low.latency_s += 2 * domain.low_latency_hop_s * std::max(0.0, group.local - 1) +
                     depth * fabric.low_latency_tree_s;
    high.latency_s = fabric.latency_s + depth * fabric.tree_s +
                     ramp(fabric.ramp_s, fabric.ramp_half_bytes, group.bytes);
  } else {
    low.latency_s += fabric.low_latency_domain_hop_s * inner + fabric.low_latency_hop_s * outer;
    high.latency_s = fabric.ring_base_s + domain.hop_s * inner + fabric.ring_hop_s * outer;
  }
  const double ring_s = group.all_reduce ? 0 : fabric.ring_step_s * (group.ranks - 1);
  const double waits_s =
      std::max(ring_s, fabric.node_step_s * std::sqrt(outer * (group.ranks - 1)));
  low.latency_s += waits_s;
  const bool tree_waits = group.all_reduce && group.domains > 2;
  high.latency_s += std::max(waits_s, tree_waits ? fabric.all_reduce_wait_s : 0);
  const double further_s = hops_s(domain, group, where);
  low.latency_s += further_s;
  high.latency_s += further_s;
  return low.seconds() <= high.seconds() ? low : high;
}

/// Members of the domain with the fewest: they send the most away.
double fewest_members(const Group& group, const GroupPlacement& where) {
  return std::min(group.local, static_cast<double>(where.ranks_per_node));
}

/// Bytes/s that a member of an exchange sends inside its domain.
double exchange_bandwidth(const DomainParameters& domain, const Group& group) {
  if (domain.mesh_links <= 0) return domain.all_to_all_bytes_per_s;
  return domain.all_to_all_bytes_per_s * std::min(1.0, (group.local - 1) / domain.mesh_links);
}

Time all_to_all(const DomainParameters& domain, const FabricParameters& fabric, const Group& group,
                const GroupPlacement& where) {
  constexpr double kPeersAtOnce =
      8;  // sends issued in one batch; NVIDIA/nccl@5067397c src/enqueue.cc
  const bool network = where.nodes > 1;
  const double peers = group.ranks - 1;
  Time time{network ? fabric.ring_base_s + fabric.ring_hop_s : domain.ring_base_s + domain.hop_s,
            0};
  time.latency_s += (network ? fabric.peer_s : domain.peer_s) * std::max(0.0, peers - kPeersAtOnce);
  time.latency_s += ramp(domain.ramp_s / 2, domain.ramp_half_bytes, group.bytes);
  const double others = group.ranks - group.local;
  const double away = network ? others * group.leaving * where.exchange_crosses_rails : 0;
  const double stay = others * (1 - group.leaving);  // of what would leave, all with all
  if (group.local > 1 || away > 0)
    time.transfer_s =
        group.bytes * (group.local - 1 + stay + away) / group.ranks /
        (group.local > 1 ? exchange_bandwidth(domain, group) : domain.pair_bytes_per_s);
  if (network) {
    time.latency_s += where.exchange_hop_s + (away > 0 ? domain.hop_s : 0);
    const double fewest = fewest_members(group, where);
    const double share = std::min(
        where.nic_bytes_per_s / where.exchange_uplink / fewest * fabric.all_to_all_line_efficiency,
        fabric.connections_bytes_per_s * (group.ranks - fewest));
    time.transfer_s = std::max(time.transfer_s, group.bytes * (group.ranks - fewest) *
                                                    group.leaving / group.ranks / share);
  }
  return time;
}

/// Every token once to each member that needs it: over the network once to each domain, to the GPU
/// of the sender's rail, which passes it on inside.
Time token_exchange(const DomainParameters& domain, const FabricParameters& fabric,
                    const Group& group, const GroupPlacement& where,
                    const workload::TokenRouting& routing) {
  const bool network = where.nodes > 1;
  const Traffic sent = routed_traffic(group.bytes, group.ranks, group.domains, routing);
  Time time{network ? fabric.ring_base_s + fabric.ring_hop_s : domain.ring_base_s + domain.hop_s,
            0};
  time.latency_s += ramp(domain.ramp_s / 2, domain.ramp_half_bytes, group.bytes);
  if (group.local > 1) time.transfer_s = sent.intra_bytes / exchange_bandwidth(domain, group);
  if (network) {
    time.latency_s += where.exchange_hop_s;
    const double share = std::min(where.nic_bytes_per_s / where.exchange_uplink /
                                      fewest_members(group, where) * fabric.line_efficiency,
                                  fabric.connections_bytes_per_s * (group.domains - 1));
    time.transfer_s = std::max(time.transfer_s, sent.nic_bytes / share);
  }
  return time;
}

Time send(const DomainParameters& domain, const FabricParameters& fabric, const Group& group,
          const GroupPlacement& where) {
  if (where.nodes > 1) {
    const bool crosses = where.ring_crosses_rails > 0;
    const double network_s =
        std::max(group.bytes * where.ring_uplink / (where.nic_bytes_per_s * fabric.line_efficiency),
                 group.bytes / fabric.connections_bytes_per_s);
    return {fabric.send_s + where.ring_hop_s + (crosses ? domain.hop_s : 0),
            std::max(network_s, crosses ? group.bytes / domain.pair_bytes_per_s : 0)};
  }
  return {domain.send_s, group.bytes / domain.pair_bytes_per_s};
}

/// Without what a node's PCIe tree holds up.
Time unheld_time(const DomainParameters& domain, const FabricParameters& fabric, const Operator& op,
                 const GroupPlacement& where) {
  const Group group = shape_of(op, where);
  if (op.collective == CollectiveKind::kSendRecv) return send(domain, fabric, group, where);
  if (op.routing.choices > 0) return token_exchange(domain, fabric, group, where, op.routing);
  if (op.collective == CollectiveKind::kAllToAll) return all_to_all(domain, fabric, group, where);
  if (where.nodes > 1) return across_domains(domain, fabric, group, where);
  return in_domain(domain, group);
}

}  // namespace

CollectiveTime collective_time(const DomainParameters& domain, const FabricParameters& fabric,
                               const Operator& op, const GroupPlacement& where,
                               double fullest_pcie_s) {
  Time time = unheld_time(domain, fabric, op, where);
  time.transfer_s = std::max(time.transfer_s, fullest_pcie_s);
  return time;
}

Price price_collective(const Device& device, const DomainParameters& domain,
                       const FabricParameters& fabric, const Operator& op,
                       const GroupPlacement& where, double fullest_pcie_s) {
  if (where.size <= 1) return Price{};
  ERGOMETER_CHECK(where.nodes <= 1 || where.nic_bytes_per_s > 0, "a group across domains has NICs");
  return price_of(device, collective_time(domain, fabric, op, where, fullest_pcie_s));
}

Price price_of(const Device& device, const CollectiveTime& time) {
  Price price;
  price.fixed_s = device.kernel_latency_s + time.seconds();
  price.limit = time.latency_s > time.transfer_s ? Limit::kLatency : Limit::kLink;
  return price;
}

}  // namespace ergometer::cost
