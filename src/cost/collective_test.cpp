#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

using workload::CollectiveKind;

/// Round numbers: 100 GB/s rings, 10 GB/s in the low-latency protocol, microseconds that tell the
/// terms apart.
DomainParameters round_domain() {
  DomainParameters domain;
  domain.gpus = 8;
  domain.ring_bytes_per_s = 100e9;
  domain.half_ring_bytes_per_s = 80e9;
  domain.pair_ring_bytes_per_s = 50e9;
  domain.pair_bytes_per_s = 40e9;
  domain.all_to_all_bytes_per_s = 70e9;
  domain.low_latency_bytes_per_s = 10e9;
  domain.low_latency_base_s = 5e-6;
  domain.low_latency_hop_s = 1e-6;
  domain.latency_s = 30e-6;
  domain.ramp_s = 60e-6;
  domain.ramp_half_bytes = 1e6;
  domain.ring_base_s = 8e-6;
  domain.hop_s = 3e-6;
  domain.peer_s = 1e-6;
  domain.send_s = 10e-6;
  return domain;
}

FabricParameters round_fabric() {
  FabricParameters fabric;
  fabric.line_efficiency = 0.8;
  fabric.all_to_all_line_efficiency = 0.5;
  fabric.low_latency_bytes_per_s = 5e9;
  fabric.low_latency_base_s = 7e-6;
  fabric.low_latency_hop_s = 2e-6;
  fabric.low_latency_domain_hop_s = 1e-6;
  fabric.low_latency_tree_s = 4e-6;
  fabric.latency_s = 40e-6;
  fabric.ramp_s = 10e-6;
  fabric.ramp_half_bytes = 1e6;
  fabric.tree_s = 8e-6;
  fabric.ring_base_s = 9e-6;
  fabric.ring_hop_s = 14e-6;
  fabric.peer_s = 1e-6;
  fabric.send_s = 20e-6;
  return fabric;
}

Price priced(CollectiveKind kind, double bytes, const plan::GroupPlacement& where,
             const DomainParameters& domain = round_domain()) {
  return price_collective(Device{}, domain, round_fabric(), collective_operator(kind, bytes),
                          where);
}

TEST(Collective, ConnectionsThatLosePacketsPassOnNoMore) {
  FabricParameters fabric = round_fabric();
  fabric.connections_bytes_per_s = 1e6;
  const auto seconds = [&](CollectiveKind kind, const plan::GroupPlacement& where) {
    return price_collective(Device{}, round_domain(), fabric, collective_operator(kind, 8e6), where)
        .seconds();
  };
  const plan::GroupPlacement two = across(2, 2, 1e9);
  // 20 us, and 8 MB at 1 MB/s instead of 0.8 GB/s; half of it in a gather of two.
  EXPECT_NEAR(seconds(CollectiveKind::kSendRecv, two), 8 + 20e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather, two), 4, 1e-4);
}

TEST(Collective, OneRankNeedsNothing) {
  EXPECT_EQ(priced(CollectiveKind::kAllReduce, 1e9, inside(1)).seconds(), 0);
}

TEST(Collective, LongAllReduceInADomain) {
  // k = 1.75: 30 + 60 * 100/101 + 1.75 * 100 MB / 100 GB/s = 30 + 59.406 + 1750 us
  const Price price = priced(CollectiveKind::kAllReduce, 100e6, inside(8));
  EXPECT_NEAR(price.seconds(), 1839.406e-6, 1e-9);
  EXPECT_EQ(price.clocked_s, 0);
  EXPECT_EQ(price.limit, Limit::kLink);
}

TEST(Collective, ShortAllReduceUsesTheLowLatencyProtocol) {
  // 5 + 14 hops + 1.75 * 10 kB / 10 GB/s = 5 + 14 + 1.75 us; the other protocol would need 30.8 us.
  const Price price = priced(CollectiveKind::kAllReduce, 10e3, inside(8));
  EXPECT_NEAR(price.seconds(), 20.75e-6, 1e-12);
  EXPECT_EQ(price.limit, Limit::kLatency);
}

TEST(Collective, GatherAndScatterInADomain) {
  // half the ramp: 8 + 7 * 3 + 29.703 + 0.875 * 100 MB / 100 GB/s = 29 + 29.703 + 875 us
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter})
    EXPECT_NEAR(priced(kind, 100e6, inside(8)).seconds(), 933.703e-6, 1e-9);
  // short: 5 + 7 hops + 0.875 * 10 kB / 10 GB/s
  EXPECT_NEAR(priced(CollectiveKind::kAllGather, 10e3, inside(8)).seconds(), 12.875e-6, 1e-12);
}

TEST(Collective, SmallGroupsHaveTheirOwnRings) {
  const auto bandwidth = [](int64_t ranks) {
    const double long_s = priced(CollectiveKind::kAllGather, 2e12, inside(ranks)).seconds();
    return 2e12 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) / long_s;
  };
  EXPECT_NEAR(bandwidth(2) / 50e9, 1, 1e-4);
  EXPECT_NEAR(bandwidth(3) / 80e9, 1, 1e-4);
  EXPECT_NEAR(bandwidth(4) / 80e9, 1, 1e-4);
  EXPECT_NEAR(bandwidth(5) / 100e9, 1, 1e-4);
}

TEST(Collective, AMeshGainsALinkWithEveryMember) {
  // MI300X: 47.7 GB/s for 2, 313 for 8; between them 94, 140, 184, 228 and 271
  // (reference/collectives.md 1.7).
  DomainParameters mesh = round_domain();
  mesh.mesh_links = 7;
  mesh.ring_bytes_per_s = 313e9;
  mesh.pair_bytes_per_s = 47.7e9;
  const double expected[] = {47.7e9, 94e9, 140e9, 184e9, 228e9, 271e9, 313e9};
  for (int64_t ranks = 2; ranks <= 8; ++ranks) {
    const double long_s = priced(CollectiveKind::kAllReduce, 2e12, inside(ranks), mesh).seconds();
    const double bus =
        2 * 2e12 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) / long_s;
    EXPECT_NEAR(bus / expected[ranks - 2], 1, 0.02) << ranks;
  }
}

TEST(Collective, TheSwitchReducesWhereTurnedOn) {
  // S (1 + 1/8) / 300 GB/s = 375 us for 100 MB instead of the ring's 1750.
  DomainParameters domain = round_domain();
  domain.in_switch_bytes_per_s = 300e9;
  EXPECT_NEAR(priced(CollectiveKind::kAllReduce, 100e6, inside(8), domain).seconds(),
              (89.406 + 375) * 1e-6, 1e-9);
  // Capped at 350 GB/s of bus bandwidth: 500 us. Four ranks and gathers stay on the ring.
  domain.in_switch_bus_cap = 350e9;
  EXPECT_NEAR(priced(CollectiveKind::kAllReduce, 100e6, inside(8), domain).seconds(),
              (89.406 + 500) * 1e-6, 1e-9);
  EXPECT_EQ(priced(CollectiveKind::kAllReduce, 100e6, inside(4), domain).seconds(),
            priced(CollectiveKind::kAllReduce, 100e6, inside(4)).seconds());
  EXPECT_EQ(priced(CollectiveKind::kAllGather, 100e6, inside(8), domain).seconds(),
            priced(CollectiveKind::kAllGather, 100e6, inside(8)).seconds());
}

TEST(Collective, AllReduceAcrossDomains) {
  // 16 ranks on 4 domains, 50 GB/s of NICs at 0.8: 40 GB/s, less than the 4-rank ring's 80; k =
  // 1.875. 40 + 2 * 2 levels * 8 + 10 * 100/101 + 1.875 * 100 MB / 40 GB/s = 40 + 32 + 9.901 +
  // 4687.5 us
  EXPECT_NEAR(priced(CollectiveKind::kAllReduce, 100e6, across(16, 4, 50e9)).seconds(), 4769.401e-6,
              1e-9);
  // The inner ring binds when the NICs are fast: 80 GB/s.
  EXPECT_NEAR(priced(CollectiveKind::kAllReduce, 100e6, across(16, 4, 500e9)).seconds(),
              (81.901 + 2343.75) * 1e-6, 1e-9);
  // Short: 7 + 2 * 1 * 3 + 2 * 2 * 4 + 1.875 * 10 kB / 5 GB/s = 7 + 6 + 16 + 3.75 us
  EXPECT_NEAR(priced(CollectiveKind::kAllReduce, 10e3, across(16, 4, 50e9)).seconds(), 32.75e-6,
              1e-12);
}

TEST(Collective, GatherAcrossDomainsPaysEveryHop) {
  // 9 + 12 * 3 + 3 * 14 + 0.9375 * 100 MB / 40 GB/s = 87 + 2343.75 us
  EXPECT_NEAR(priced(CollectiveKind::kReduceScatter, 100e6, across(16, 4, 50e9)).seconds(),
              2430.75e-6, 1e-9);
  // Short: 7 + 12 * 1 + 3 * 2 + 0.9375 * 10 kB / 5 GB/s
  EXPECT_NEAR(priced(CollectiveKind::kAllGather, 10e3, across(16, 4, 50e9)).seconds(), 26.875e-6,
              1e-12);
  // No protocol is faster than its share of the port, 2 GB/s at 0.8: 7 + 12 * 1 + 3 * 2 + 0.9375 *
  // 100 MB / 1.6 GB/s in the low-latency one, which starts sooner.
  EXPECT_NEAR(priced(CollectiveKind::kAllGather, 100e6, across(16, 4, 2e9)).seconds(),
              (25 + 58593.75) * 1e-6, 1e-9);
  // One rank a domain: no inner hops, no inner ring.
  EXPECT_NEAR(priced(CollectiveKind::kAllGather, 100e6, across(4, 4, 50e9)).seconds(),
              (9 + 42 + 1875) * 1e-6, 1e-9);
}

// A fabric that makes further nodes and steps of a ring wait; 16 ranks on 4 domains.
TEST(Collective, WaitsOfAFabricOutOfOrder) {
  const auto seconds = [](CollectiveKind kind, double ring_step_s, double node_step_s) {
    FabricParameters fabric = round_fabric();
    fabric.ring_step_s = ring_step_s;
    fabric.node_step_s = node_step_s;
    const workload::Operator op = collective_operator(kind, 100e6);
    return price_collective(Device{}, round_domain(), fabric, op, across(16, 4, 50e9)).seconds();
  };
  // Every step of a gather's ring: 2430.75 us as above and 15 * 40. An all-reduce is no such ring.
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather, 40e-6, 0), 3030.75e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 40e-6, 0), 4769.401e-6, 1e-9);
  // Further nodes and ranks: sqrt(3 * 15) = 6.7082 times 1 ms, all-reduces too; for a ring the
  // longer of the two waits.
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 40e-6, 1e-3), (4769.401 + 6708.204) * 1e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather, 40e-6, 1e-3), (2430.75 + 6708.204) * 1e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather, 40e-6, 1e-5), 3030.75e-6, 1e-9);
}

// Long all-reduces of three domains and more wait 2 ms or what the nodes cost, whichever is longer;
// short ones, gathers and pairs of domains do not. Sums of the tests above; two domains of eight:
// 40 + 2 * 1 * 8 + 9.901 + 1.875 * 100 MB / 40 GB/s = 65.901 + 4687.5 us.
TEST(Collective, LongAllReducesWaitBeyondTwoDomains) {
  const auto seconds = [](CollectiveKind kind, double bytes, int64_t nodes, double node_step_s) {
    FabricParameters fabric = round_fabric();
    fabric.all_reduce_wait_s = 2e-3;
    fabric.node_step_s = node_step_s;
    return price_collective(Device{}, round_domain(), fabric, collective_operator(kind, bytes),
                            across(16, nodes, 50e9))
        .seconds();
  };
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 100e6, 4, 0), 6769.401e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 100e6, 4, 1e-4), 6769.401e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 100e6, 4, 1e-3), (4769.401 + 6708.204) * 1e-6,
              1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 100e6, 2, 0), 4753.401e-6, 1e-9);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce, 10e3, 4, 0), 32.75e-6, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather, 100e6, 4, 0), 2430.75e-6, 1e-9);
}

TEST(Collective, AllToAllSplitsBetweenLinks) {
  // 8 ranks inside: 8 + 3 + 29.703 + 100 MB * 7/8 / 70 GB/s = 40.703 + 1250 us
  EXPECT_NEAR(priced(CollectiveKind::kAllToAll, 100e6, inside(8)).seconds(), 1290.703e-6, 1e-9);
  // 16 ranks on 4 domains: 12/16 of the bytes over a quarter of 50 GB/s at 0.5: 75 MB / 6.25 GB/s =
  // 12 ms; 15 peers.
  EXPECT_NEAR(priced(CollectiveKind::kAllToAll, 100e6, across(16, 4, 50e9)).seconds(),
              (9 + 14 + 7 + 29.703 + 12000) * 1e-6, 1e-9);
  // 64 ranks, 8 in one domain and 56 in another: the 8 send 56/64 of their bytes over a card each:
  // 87.5 MB / 25 GB/s = 3500 us; 63 peers.
  EXPECT_NEAR(priced(CollectiveKind::kAllToAll, 100e6, {64, 2, 8, 400e9, 1}).seconds(),
              (9 + 14 + 55 + 29.703 + 3500) * 1e-6, 1e-9);
  // Where a tenth of what an exchange of all with all sends out of its domain does: 1.2 ms; inside
  // 3 + 0.9 x 12 of 16 parts, 86.25 MB / 70 GB/s = 1.232 ms. Where a quarter more does nothing
  // stays.
  workload::Operator rings = collective_operator(CollectiveKind::kAllToAll, 100e6);
  const auto transfer_s = [&](double leaving) {
    rings.leaving = leaving;
    return collective_time(round_domain(), round_fabric(), rings, across(16, 4, 50e9)).transfer_s;
  };
  EXPECT_NEAR(transfer_s(0.1), 100e6 * 13.8 / 16 / 70e9, 1e-9);
  EXPECT_NEAR(transfer_s(1.25), 15e-3, 1e-9);
  // On a mesh two ranks of eight have one link of seven.
  DomainParameters mesh = round_domain();
  mesh.mesh_links = 7;
  EXPECT_NEAR(priced(CollectiveKind::kAllToAll, 100e6, inside(2), mesh).seconds(),
              (40.703 + 5000) * 1e-6, 1e-9);
}

// 100 MB of tokens, 2 of 4 experts each, on 16 ranks of which 4 domains hold an expert each: 2
// domains a token, 3/4 of them others: 150 MB over a quarter of 50 GB/s at line efficiency 0.8 = 10
// GB/s: 15 ms. Inside 8 experts lie on 8 ranks, 2 of them a token's: 2 * 100 MB * 7/8 / 70 GB/s.
TEST(Collective, TokensGoOnceToEachMember) {
  workload::Operator op = collective_operator(CollectiveKind::kAllToAll, 100e6);
  op.routing = {.experts = 8, .choices = 2};
  const double line = round_fabric().line_efficiency;
  EXPECT_NEAR(collective_time(round_domain(), round_fabric(), op, inside(8)).transfer_s, 2500e-6,
              1e-9);
  op.routing = {.experts = 4, .choices = 2};
  const CollectiveTime far =
      collective_time(round_domain(), round_fabric(), op, across(16, 4, 50e9));
  EXPECT_NEAR(far.transfer_s, 150e6 / (12.5e9 * line), 1e-9);
  EXPECT_DOUBLE_EQ(traffic(op, across(16, 4, 50e9)).nic_bytes, 150e6);
}

TEST(Collective, SendsGoStraight) {
  EXPECT_NEAR(priced(CollectiveKind::kSendRecv, 40e6, inside(2)).seconds(), 1010e-6, 1e-12);
  EXPECT_NEAR(priced(CollectiveKind::kSendRecv, 40e6, across(2, 2, 50e9)).seconds(), 1020e-6,
              1e-12);
}

TEST(Collective, MoreBytesNeverTakeLess) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kAllToAll, CollectiveKind::kSendRecv}) {
    for (const plan::GroupPlacement& where : {inside(8), across(16, 4, 50e9)}) {
      double last = 0;
      for (double bytes = 0; bytes < 1e10; bytes = bytes * 2 + 8) {
        const double seconds = priced(kind, bytes, where).seconds();
        EXPECT_GE(seconds, last);
        EXPECT_GT(seconds, 0);
        last = seconds;
      }
    }
  }
}

TEST(Traffic, RingsLeaveANodeOnceAChannel) {
  // 1 GB over 16 ranks in 2 nodes: 1.875 GB a rank, 2 of 16 hops leave.
  const Traffic sent =
      traffic(collective_operator(CollectiveKind::kAllReduce, 1e9), across(16, 2, 1));
  EXPECT_DOUBLE_EQ(sent.nic_bytes, 1.875e9 / 8);
  EXPECT_DOUBLE_EQ(sent.intra_bytes, 1.875e9 * 7 / 8);
  const Traffic gathered =
      traffic(collective_operator(CollectiveKind::kAllGather, 1e9), across(16, 2, 1));
  EXPECT_DOUBLE_EQ(gathered.nic_bytes, 0.9375e9 / 8);
  const Traffic alone =
      traffic(collective_operator(CollectiveKind::kReduceScatter, 1e9), across(4, 4, 1));
  EXPECT_DOUBLE_EQ(alone.nic_bytes, 0.75e9);  // one rank a node: every hop leaves
  EXPECT_DOUBLE_EQ(alone.intra_bytes, 0);
  const Traffic local =
      traffic(collective_operator(CollectiveKind::kReduceScatter, 1e9), inside(4));
  EXPECT_DOUBLE_EQ(local.intra_bytes, 0.75e9);
  EXPECT_DOUBLE_EQ(local.nic_bytes, 0);
}

TEST(Collective, HopsBetweenSwitchesAddTheirTime) {
  // Four domains: three steps of a ring, whatever its tree's hops; all-reduce the other way round.
  plan::GroupPlacement where = across(4, 4, 50e9);
  const auto seconds = [&](CollectiveKind kind) { return priced(kind, 1e3, where).seconds(); };
  const double gather_s = seconds(CollectiveKind::kAllGather),
               reduce_s = seconds(CollectiveKind::kAllReduce),
               exchange_s = seconds(CollectiveKind::kAllToAll),
               send_s = seconds(CollectiveKind::kSendRecv);
  where.ring_hop_s = 1e-6;
  where.tree_hop_s = 20e-6;
  where.exchange_hop_s = 300e-6;
  EXPECT_NEAR(seconds(CollectiveKind::kAllGather) - gather_s, 3e-6, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::kAllReduce) - reduce_s, 20e-6, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::kAllToAll) - exchange_s, 300e-6, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::kSendRecv) - send_s, 1e-6, 1e-12);
}

TEST(Collective, WhatChangesItsRailGoesThroughTheDomain) {
  // 100 MB from one rank to another rail: cards take 100 MB / 160 GB/s, the pair of GPUs behind
  // them 100 MB / 40 GB/s = 2500 us; 20 + 3 us before.
  plan::GroupPlacement pair{2, 2, 1, 200e9, 1};
  pair.ring_crosses_rails = 1;
  EXPECT_NEAR(priced(CollectiveKind::kSendRecv, 100e6, pair).seconds(), 2523e-6, 1e-9);
  // All-to-all over two domains of eight: of what goes out 7/8 changes its rail, 100 MB x (7 + 7) /
  // 16 / 70 GB/s = 1250 us, longer than the cards; 9 + 14 + 7 + 30 x 100/101 + 3 us before.
  plan::GroupPlacement wide{16, 2, 8, 4000e9, 1};
  wide.exchange_crosses_rails = 7.0 / 8;
  EXPECT_NEAR(priced(CollectiveKind::kAllToAll, 100e6, wide).seconds(), 1312.703e-6, 1e-9);
}

TEST(Traffic, WhatChangesItsRailAlsoCountsInside) {
  // 1.6 GB over two domains of eight: 0.7 GB inside, 0.8 GB out, of which 7/8 inside too: S
  // (p-1)/p.
  plan::GroupPlacement where = across(16, 2, 1);
  where.exchange_crosses_rails = 7.0 / 8;
  const Traffic sent = traffic(collective_operator(CollectiveKind::kAllToAll, 1.6e9), where);
  EXPECT_NEAR(sent.intra_bytes, 1.4e9, 1);
  EXPECT_NEAR(sent.nic_bytes, 0.8e9, 1);
}

TEST(Traffic, AllToAllAndSends) {
  const Traffic all =
      traffic(collective_operator(CollectiveKind::kAllToAll, 1.6e9), across(16, 2, 1));
  EXPECT_DOUBLE_EQ(all.intra_bytes, 0.7e9);
  EXPECT_DOUBLE_EQ(all.nic_bytes, 0.8e9);
  // Rings of a few that leave their domain a quarter as often; those of pairs apart, always.
  workload::Operator rings = collective_operator(CollectiveKind::kAllToAll, 1.6e9);
  rings.leaving = 0.25;
  EXPECT_DOUBLE_EQ(traffic(rings, across(16, 2, 1)).nic_bytes, 0.2e9);
  EXPECT_DOUBLE_EQ(traffic(rings, across(16, 2, 1)).intra_bytes, 1.3e9);
  rings.leaving = 15.0 / 8;
  EXPECT_DOUBLE_EQ(traffic(rings, across(16, 2, 1)).nic_bytes, 1.5e9);
  EXPECT_DOUBLE_EQ(traffic(rings, across(16, 2, 1)).intra_bytes, 0);
  EXPECT_DOUBLE_EQ(
      traffic(collective_operator(CollectiveKind::kSendRecv, 5), inside(2)).intra_bytes, 5);
  EXPECT_DOUBLE_EQ(
      traffic(collective_operator(CollectiveKind::kSendRecv, 5), across(2, 2, 1)).nic_bytes, 5);
  // A ring of 8 in 2 nodes: two of eight have their next neighbour in the other one.
  const Traffic ring = traffic(collective_operator(CollectiveKind::kSendRecv, 8), across(8, 2, 1));
  EXPECT_DOUBLE_EQ(ring.intra_bytes, 6);
  EXPECT_DOUBLE_EQ(ring.nic_bytes, 2);
  EXPECT_EQ(traffic(collective_operator(CollectiveKind::kAllToAll, 5), inside(1)).intra_bytes, 0);
  EXPECT_EQ(traffic(gemm_operator(1, 1, 1), inside(8)).intra_bytes, 0);
}

}  // namespace
}  // namespace ergometer::cost
