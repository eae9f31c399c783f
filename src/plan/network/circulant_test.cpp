#include "plan/network/circulant.h"

#include <gtest/gtest.h>

namespace ergometer::plan {
namespace {

using Strides = std::vector<int64_t>;

TEST(Circulant, RingsHaveStridesWithoutADivisorInCommonWithTheirNodes) {
  // Of 12 nodes 1, 5, 7 and 11 lead through all of them, 2, 3, 4 and 6 back after 6, 4, 3 and 2.
  EXPECT_EQ(ring_strides(12, 4), (Strides{1, 11, 5, 7}));
  EXPECT_EQ(ring_strides(12, 1), Strides{1});
  // 16 nodes, two pairs: nearest to 1 and to 16^(1/2) = 4 is 3, as near as 5.
  EXPECT_EQ(ring_strides(16, 4), (Strides{1, 15, 3, 13}));
  // There are no more: links side by side.
  EXPECT_EQ(ring_strides(2, 3), (Strides{1, 1, 1}));
  EXPECT_EQ(ring_strides(6, 4), (Strides{1, 5, 1, 5}));
}

TEST(Circulant, WaysAreTheShortest) {
  const Circulant graph(12, ring_strides(12, 4));
  const auto one = [&](size_t to) {
    std::vector<double> bytes(12, 0);
    bytes[to] = 1;
    return graph.carry(bytes);
  };
  // Direct; 2 = 1 + 1 = 7 + 7: half a byte over each of two ways, all of it over two links of one
  // stride; 4 = 5 + 11; 3 = 1 + 1 + 1 = 5 + 5 + 5 = 1 + 7 + 7 = ...
  EXPECT_EQ(one(5).bytes, 1);
  EXPECT_EQ(one(5).hops, 1);
  EXPECT_EQ(one(2).bytes, 1);
  EXPECT_EQ(one(2).hops, 2);
  EXPECT_EQ(one(4).bytes, 1);
  EXPECT_EQ(one(3).hops, 3);
}

TEST(Circulant, AnExchangeTakesTheMeanWayDividedByItsLinks) {
  // 4 nodes in one hop, 5 in two, 2 in three: 20 hops, and no stride is unlike another.
  std::vector<double> bytes(12, 1.0 / 11);
  const Circulant::Carried all = Circulant(12, ring_strides(12, 4)).carry(bytes);
  EXPECT_NEAR(all.bytes, 20.0 / 11 / 4, 1e-12);
  EXPECT_EQ(all.hops, 3);
  // A ring of one direction: 1 + 2 + ... + 11 hops over one link.
  EXPECT_NEAR(Circulant(12, ring_strides(12, 1)).carry(bytes).bytes, 66.0 / 11, 1e-12);
  // Both: 1 + 1 + 2 + 2 + ... + 5 + 5 + 6 over two.
  EXPECT_NEAR(Circulant(12, ring_strides(12, 2)).carry(bytes).bytes, 36.0 / 11 / 2, 1e-12);
}

}  // namespace
}  // namespace ergometer::plan
