#include "optimize/time_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::optimize {
namespace {

TEST(ConvexChoices, KeepsCornersFromCheapToQuick) {
  // 2 s for 9 J lies above the line from 1 s, 10 J to 3 s, 4 J: mixing these two is better. 4 s for
  // 5 J is slower and dearer than 3 s.
  const auto kept = convex_choices({{1, 10}, {2, 9}, {3, 4}, {4, 5}});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].time_s, 3);
  EXPECT_EQ(kept[1].time_s, 1);
}

TEST(TradeOff, OfOneWorkIsItsOwnCurve) {
  TimeCostGraph graph(2);
  graph.add_work(0, 1, convex_choices({{1, 10}, {2, 5}, {4, 3}}));
  const auto corners = trade_off(graph);
  ASSERT_EQ(corners.size(), 3u);
  EXPECT_NEAR(corners[0].length_s, 4, 1e-3);
  EXPECT_NEAR(corners[0].cost, 3, 1e-3);
  EXPECT_NEAR(corners[0].price, 1, 1e-2);  // 2 J for the next 2 s
  EXPECT_NEAR(corners[1].cost, 5, 1e-3);
  EXPECT_NEAR(corners[1].price, 5, 1e-2);
  EXPECT_NEAR(corners[2].length_s, 1, 1e-3);
  EXPECT_TRUE(std::isinf(corners[2].price));
}

TEST(TradeOff, ShortensTheCheaperOfTwoInARowAndBothSideBySide) {
  // 0 -a-> 1 -b-> 2 beside 0 -c-> 2. a: 1 J for its second; b: 3 J; c: 2 J. From 4 s, a is
  // shortened alone until c, 3.5 s, is as long: then a and c, 3 J a second, then b and c, 5 J.
  TimeCostGraph graph(3);
  graph.add_work(0, 1, {{2, 0}, {1, 1}});
  graph.add_work(1, 2, {{2, 0}, {1, 3}});
  graph.add_work(0, 2, {{3.5, 0}, {1.5, 4}});
  const auto corners = trade_off(graph);
  ASSERT_EQ(corners.size(), 4u);
  const double lengths[] = {4, 3.5, 3, 2}, costs[] = {0, 0.5, 2, 7}, prices[] = {1, 3, 5};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].length_s, lengths[i], 1e-3);
    EXPECT_NEAR(corners[i].cost, costs[i], 1e-2);
    if (i < 3) {
      EXPECT_NEAR(corners[i].price, prices[i], 1e-2);
    }
  }
}

TEST(TradeOff, GivesTimeBackWhereACutIsCrossedBackward) {
  // A bridge: 0-1 (a), 0-2 (b), 1-2 (c), 1-3 (d), 2-3 (e). The critical path a c e is shortened at
  // a and e, 2 J a second together with what c gives back, once a d and b e are critical too.
  TimeCostGraph graph(4);
  graph.add_work(0, 1, {{2, 0}, {1, 1}});    // a
  graph.add_work(0, 2, {{3, 0}, {2, 10}});   // b
  graph.add_work(1, 2, {{2, 0}, {1, 0.5}});  // c
  graph.add_work(1, 3, {{3, 0}, {2, 10}});   // d
  graph.add_work(2, 3, {{2, 0}, {1, 1}});    // e
  const auto corners = trade_off(graph);
  // From 6 s: c at 0.5 J/s to 5 s; there a d and b e are 5 s long too. Then a and e, while c gets
  // its second back: 1 + 1 - 0.5 J for the next second.
  ASSERT_GE(corners.size(), 3u);
  EXPECT_NEAR(corners[1].length_s, 5, 1e-3);
  EXPECT_NEAR(corners[1].cost, 0.5, 1e-3);
  EXPECT_NEAR(corners[1].price, 1.5, 1e-2);
  EXPECT_NEAR(corners[2].length_s, 4, 1e-3);
  EXPECT_NEAR(corners[2].cost, 2, 1e-2);
}

TEST(TradeOff, CountsGaps) {
  TimeCostGraph graph(4);
  graph.add_work(0, 1, {{1, 0}});
  graph.add_order(1, 2, 0.25);
  graph.add_work(2, 3, {{2, 0}, {1, 1}});
  const auto corners = trade_off(graph);
  EXPECT_NEAR(corners.front().length_s, 3.25, 1e-3);
  EXPECT_NEAR(corners.back().length_s, 2.25, 1e-3);
  EXPECT_NEAR(length_of(graph, {1, 2}), 3.25, 1e-12);
}

}  // namespace
}  // namespace ergometer::optimize
