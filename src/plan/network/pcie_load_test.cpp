#include "plan/network/pcie_load.h"

#include <gtest/gtest.h>

namespace ergometer::plan {
namespace {

/// GPUs 0 and 1 and the NIC behind a switch, 2 and 3 behind another; on one socket, or each on one
/// of its own.
spec::PcieTree two_switches(bool two_sockets) {
  spec::PcieTree tree;
  if (two_sockets)
    tree.bridges = {{-1, 8e9}, {0, 20e9}, {-1, 8e9}, {2, 20e9}};
  else
    tree.bridges = {{-1, 0}, {0, 20e9}, {0, 20e9}};
  const int other = two_sockets ? 3 : 2;
  tree.gpus = {1, 1, other, other};
  tree.nics = {1};
  return tree;
}

void expect_link(const PcieLoad& load, size_t link, double up, double down) {
  EXPECT_DOUBLE_EQ(load.links()[link].up_bytes, up) << link;
  EXPECT_DOUBLE_EQ(load.links()[link].down_bytes, down) << link;
}

TEST(PcieLoad, APeerBehindTheSameSwitchLoadsNoUplink) {
  const spec::PcieTree tree = two_switches(false);
  PcieLoad load(tree, 10e9);
  load.send(0, 1, 5);
  expect_link(load, 1, 0, 0);
  expect_link(load, 3, 5, 0);  // GPU 0's own link, then GPU 1's
  expect_link(load, 4, 0, 5);
  load.send(0, 2, 7);
  expect_link(load, 1, 7, 0);
  expect_link(load, 2, 0, 7);
  expect_link(load, 0, 0, 0);  // one socket: nothing passes to another
}

TEST(PcieLoad, CopiesClimbToTheirSocket) {
  const spec::PcieTree tree = two_switches(true);
  PcieLoad load(tree, 10e9);
  load.to_host(0, 5);
  load.to_host(1, 2);
  load.from_host(2, 3);
  expect_link(load, 1, 7, 0);
  expect_link(load, 3, 0, 3);
  expect_link(load, 4, 5, 0);
  expect_link(load, 0, 0, 0);  // not on to the other socket
  expect_link(load, 2, 0, 0);
}

TEST(PcieLoad, WithoutPeerToPeerAllGoesThroughTheHost) {
  spec::PcieTree tree = two_switches(false);
  tree.peer_to_peer = false;
  PcieLoad load(tree, 10e9);
  load.send(0, 1, 5);
  expect_link(load, 1, 5, 5);
}

TEST(PcieLoad, BetweenSocketsTheirLinkCarriesIt) {
  const spec::PcieTree tree = two_switches(true);
  PcieLoad load(tree, 10e9);
  load.send(3, 0, 4);
  expect_link(load, 3, 4, 0);
  expect_link(load, 2, 4, 0);
  expect_link(load, 0, 0, 4);
  expect_link(load, 1, 0, 4);
  // 4 B at the 8 GB/s that pass, however little of PCIe's line rate is reached: 0.5 ns; of the
  // GPUs' links 4 B at a half of 10 GB/s 0.8 ns.
  EXPECT_DOUBLE_EQ(load.seconds(1), 4 / 8e9);
  EXPECT_DOUBLE_EQ(load.seconds(0.5), 4 / 5e9);
}

TEST(PcieLoad, ANicIsReachedDirectlyOrThroughTheHost) {
  spec::PcieTree tree = two_switches(true);
  PcieLoad direct(tree, 10e9);
  direct.leave(0, 0, 3);
  expect_link(direct, 1, 0, 0);
  direct.leave(2, 0, 3);
  expect_link(direct, 1, 0, 3);
  expect_link(direct, 2, 3, 0);
  tree.gpudirect = false;
  PcieLoad staged(tree, 10e9);
  staged.leave(0, 0, 3);
  staged.arrive(0, 1, 2);
  expect_link(staged, 1, 5, 5);
  expect_link(staged, 0, 0, 0);
}

}  // namespace
}  // namespace ergometer::plan
