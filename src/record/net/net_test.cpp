#include <gtest/gtest.h>

#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

class Net : public ::testing::Test {
 protected:
  void port(const std::string& card, const std::string& layer, const std::string& net,
            const std::string& state = "4: ACTIVE") {
    const std::string folder = "sys/class/infiniband/" + card + "/ports/1/";
    tree_.write("sys/class/infiniband/" + card + "/node_guid", "b8ce:f603:00a1:0001\n");
    tree_.write(folder + "state", state + "\n");
    tree_.write(folder + "link_layer", layer + "\n");
    tree_.write(folder + "rate", "400 Gb/sec (4X NDR)\n");
    tree_.write(folder + "counters/port_xmit_data", "1000\n");
    tree_.write(folder + "counters/port_rcv_data", "2000\n");
    tree_.write(folder + "counters/port_xmit_wait", "7\n");
    tree_.write(folder + "counters/symbol_error", "1\n");
    tree_.write(folder + "counters/link_downed", "2\n");
    if (!net.empty()) tree_.write("sys/class/infiniband/" + card + "/device/net/" + net + "/x", "");
  }
  void interface(const std::string& name, const std::string& type = "1",
                 const std::string& operstate = "up", bool hardware = true) {
    const std::string folder = "sys/class/net/" + name + '/';
    tree_.write(folder + "type", type + "\n");
    tree_.write(folder + "operstate", operstate + "\n");
    tree_.write(folder + "address", "00:11:22:33:44:55\n");
    tree_.write(folder + "speed", "100000\n");
    tree_.write(folder + "statistics/tx_bytes", "11\n");
    tree_.write(folder + "statistics/rx_bytes", "22\n");
    tree_.write(folder + "statistics/tx_errors", "3\n");
    tree_.write(folder + "statistics/rx_errors", "4\n");
    if (hardware) tree_.write(folder + "device/vendor", "0x15b3\n");
  }
  FakeTree tree_;
};

TEST_F(Net, AnInfiniBandPortCountsWordsOfFourBytes) {
  port("mlx5_0", "InfiniBand", "ibp12s0");
  interface("ibp12s0", "32");
  const auto source = open_infiniband(tree_.options());
  ASSERT_TRUE(source);
  const run::Device& device = (*source)->devices()[0];
  EXPECT_EQ(device.kind, run::DeviceKind::kPort);
  EXPECT_EQ(device.name, "mlx5_0/1");
  EXPECT_EQ(device.uuid, "b8ce:f603:00a1:0001");
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kNetSent}, 4000},
                                  {{0, Metric::kNetReceived}, 8000},
                                  {{0, Metric::kNetErrors}, 3},
                                  {{0, Metric::kNetWait}, 7},
                                  {{0, Metric::kLineRate}, 5e10}}));
  // What changes slowly is not asked for at every tick.
  EXPECT_EQ(look(**source).size(), 2U);
  EXPECT_FALSE(open_ethernet(tree_.options()));  // IP over InfiniBand is in the port's counters
}

TEST_F(Net, ARocePortHoldsItsInterfaceToo) {
  port("mlx5_0", "Ethernet", "ens1");
  interface("ens1");
  interface("eno2");
  const auto rdma = open_infiniband(tree_.options());
  ASSERT_TRUE(rdma);
  Look seen = look(**rdma);
  EXPECT_EQ((seen[{0, Metric::kNetSent}]), 4011);
  EXPECT_EQ((seen[{0, Metric::kNetReceived}]), 8022);
  const auto ethernet = open_ethernet(tree_.options());
  ASSERT_TRUE(ethernet);
  ASSERT_EQ((*ethernet)->devices().size(), 1U);
  EXPECT_EQ((*ethernet)->devices()[0].name, "eno2");
}

TEST_F(Net, ACardWithTwoPortsHasAnInterfaceForEach) {
  port("mlx4_0", "Ethernet", "ens1");
  tree_.write("sys/class/infiniband/mlx4_0/device/net/ens1/dev_port", "0\n");
  tree_.write("sys/class/infiniband/mlx4_0/device/net/ens1d1/dev_port", "1\n");
  interface("ens1");
  interface("ens1d1");
  const auto rdma = open_infiniband(tree_.options());
  ASSERT_TRUE(rdma);
  EXPECT_EQ((look(**rdma)[{0, Metric::kNetSent}]), 4011);
}

TEST_F(Net, HardwareThatIsUp) {
  interface("eth0");
  interface("bond0", "1", "up", false);
  interface("lo", "772", "unknown", false);
  interface("eth1", "1", "down");
  const auto source = open_ethernet(tree_.options());
  ASSERT_TRUE(source);
  ASSERT_EQ((*source)->devices().size(), 1U);
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kNetSent}, 11},
                                  {{0, Metric::kNetReceived}, 22},
                                  {{0, Metric::kNetErrors}, 7},
                                  {{0, Metric::kLineRate}, 1.25e10}}));
}

TEST_F(Net, ASpeedThatIsNotKnown) {
  interface("eth0");
  tree_.write("sys/class/net/eth0/speed", "-1\n");
  const auto source = open_ethernet(tree_.options());
  ASSERT_TRUE(source);
  EXPECT_EQ(look(**source).count({0, Metric::kLineRate}), 0U);
}

TEST_F(Net, APortThatIsDown) {
  port("mlx5_0", "InfiniBand", "", "1: DOWN");
  EXPECT_FALSE(open_infiniband(tree_.options()));
}

}  // namespace
}  // namespace ergometer::record
