#include "record/clock_peer.h"

#include <gtest/gtest.h>

namespace ergometer::record {
namespace {

using namespace std::chrono_literals;

TEST(ClockPeer, EndpointsAreReadInEverySpelling) {
  const auto named = parse_endpoint("node01:9401");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->host, "node01");
  EXPECT_EQ(named->port, 9401);
  const auto any = parse_endpoint("9401");
  ASSERT_TRUE(any);
  EXPECT_EQ(any->host, "");
  EXPECT_EQ(any->port, 9401);
  const auto six = parse_endpoint("[::1]:9401");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "::1");
  for (const char* wrong : {"", "node01", "node01:", "node01:x", "node01:70000", "node01:-1"})
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
}

TEST(ClockPeer, AnAnswerHoldsFourTimesInOrderOnOneMachine) {
  const auto server = ClockServer::listen({"127.0.0.1", 0}, "node01");
  ASSERT_TRUE(server) << server.error().message;
  auto client = ClockClient::open({"127.0.0.1", server->port()});
  ASSERT_TRUE(client) << client.error().message;
  for (int i = 0; i < 20; ++i) {
    const auto probe = client->ask(2s);
    ASSERT_TRUE(probe);
    EXPECT_EQ(probe->peer, "node01");
    EXPECT_LE(probe->sent_ns, probe->peer_received_ns);
    EXPECT_LE(probe->peer_received_ns, probe->peer_sent_ns);
    EXPECT_LE(probe->peer_sent_ns, probe->received_ns);
  }
}

TEST(ClockPeer, WithoutAnAnswerThereIsNoProbe) {
  uint16_t port = 0;
  {
    const auto server = ClockServer::listen({"127.0.0.1", 0}, "gone");
    ASSERT_TRUE(server);
    port = server->port();
  }
  auto client = ClockClient::open({"127.0.0.1", port});
  ASSERT_TRUE(client);
  EXPECT_FALSE(client->ask(50ms));
  EXPECT_FALSE(client->ask(50ms));
}

TEST(ClockPeer, APortInUseIsMissing) {
  const auto first = ClockServer::listen({"127.0.0.1", 0}, "a");
  ASSERT_TRUE(first);
  const auto second = ClockServer::listen({"127.0.0.1", first->port()}, "b");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::ErrorKind::kMissing);
}

}  // namespace
}  // namespace ergometer::record
