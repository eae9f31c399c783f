#include "swarm/peers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::swarm {
namespace {

std::string error_of(const std::string& text) {
  const auto kinds = parse_peers(text, "peers.yaml");
  return kinds ? "" : kinds.error().message;
}

TEST(Peers, AreReadInTheirUnits) {
  const auto kinds = parse_peers(
      "peers:\n"
      "  - {name: home, node: rtx-3090, count: 4, uplink: 20 Mb/s, downlink: 100 Mb/s,\n"
      "     latency: 30 ms, loss: 0.1 %, connections: 4, stays: 8h, away: 30min, price: 0.2}\n",
      "peers.yaml");
  ASSERT_TRUE(kinds) << kinds.error().message;
  const PeerKind& kind = kinds->front();
  EXPECT_EQ(kind.count, 4);
  EXPECT_DOUBLE_EQ(kind.uplink_bytes_per_s, 2.5e6);
  EXPECT_DOUBLE_EQ(kind.downlink_bytes_per_s, 12.5e6);
  EXPECT_DOUBLE_EQ(kind.latency_s, 0.03);
  EXPECT_DOUBLE_EQ(kind.loss, 0.001);
  EXPECT_DOUBLE_EQ(kind.stays_s, 8 * 3600);
  EXPECT_DOUBLE_EQ(kind.away_s, 1800);
}

TEST(Peers, WrongOnesAreNamedWithTheirLine) {
  EXPECT_NE(error_of("peers:\n  - {node: rtx-3090, uplink: 1 Mb/s}\n").find("peers.yaml:2"),
            std::string::npos);
  EXPECT_NE(error_of("peers:\n  - {node: a, uplink: 1 Mb/s, downlink: fast}\n").find("downlink"),
            std::string::npos);
  EXPECT_NE(error_of("peers:\n  - {node: a, uplink: 1 Mb/s, downlink: 1 Mb/s, loss: 1 %}\n")
                .find("latency"),
            std::string::npos);
}

TEST(Peers, LossHoldsAConnection) {
  PeerKind from{.uplink_bytes_per_s = 1e8, .downlink_bytes_per_s = 2e8, .latency_s = 0.01};
  PeerKind to{.uplink_bytes_per_s = 1e8, .downlink_bytes_per_s = 5e7, .latency_s = 0.015};
  EXPECT_EQ(rate_between(from, to), 5e7);
  EXPECT_EQ(rate_between(to, from), 1e8);
  from.loss = 0.0015;
  // 1448 B / 50 ms x sqrt(1.5 / 0.0015)
  EXPECT_NEAR(rate_between(from, to), 1448 / 0.05 * std::sqrt(1000), 1e-3);
}

}  // namespace
}  // namespace ergometer::swarm
