#include "search/estimate/anchors.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

using Points = std::vector<CurvePoint>;
constexpr int32_t kAlone = CurvePoint::kAlone;

TEST(Anchors, FewPointsAreAllAnchors) {
  Anchors anchors;
  choose_anchors(Points{{0, 2, 3}, {kAlone, 2, 7}, {0, 2, 1}}, anchors);
  EXPECT_EQ(anchors.points, (std::vector<int32_t>{1, 2, 0}));  // alone, then along the curve
  ASSERT_EQ(anchors.places.size(), 3u);
  EXPECT_EQ(anchors.places[0].first, 2);
  EXPECT_EQ(anchors.places[1].first, 0);
  EXPECT_EQ(anchors.places[2].first, 1);
  for (const Anchors::Place& place : anchors.places) EXPECT_EQ(place.share, 0);
}

/// x from 10 to 20 in steps of 1: anchors at 10, 15 and 20; 12 lies two fifths behind the first.
TEST(Anchors, OthersLieBetween) {
  Points points;
  for (int i = 0; i <= 10; ++i) points.push_back({0, 3, 20.0 - i});
  Anchors anchors;
  choose_anchors(points, anchors);
  EXPECT_EQ(anchors.points, (std::vector<int32_t>{10, 5, 0}));
  EXPECT_EQ(anchors.places[8].first, 0);
  EXPECT_EQ(anchors.places[8].second, 1);
  EXPECT_DOUBLE_EQ(anchors.places[8].share, 0.4);
  EXPECT_EQ(anchors.places[0].first, 2);
  EXPECT_EQ(anchors.places[0].share, 0);
  EXPECT_EQ(anchors.places[5].first, 1);
  EXPECT_EQ(anchors.places[5].share, 0);
}

TEST(Anchors, TheSamePointIsTakenOnce) {
  Anchors anchors;
  choose_anchors(Points{{1, 3, 2}, {1, 3, 2}, {2, 3, 2}, {1, 3, 2}}, anchors);
  EXPECT_EQ(anchors.points, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(anchors.places[3].first, 0);
  EXPECT_EQ(anchors.places[2].first, 1);
}

/// Curves do not meet: a wide gap in one leaves its ends and what is nearest its middle.
TEST(Anchors, EveryCurveHasItsOwn) {
  Anchors anchors;
  choose_anchors(
      Points{{0, 3, 0}, {1, 2, 0}, {0, 3, 1}, {1, 2, 100}, {0, 3, 2}, {1, 2, 25}, {0, 3, 10}},
      anchors);
  EXPECT_EQ(anchors.points, (std::vector<int32_t>{0, 4, 6, 1, 3}));
  EXPECT_DOUBLE_EQ(anchors.places[2].share, 0.5);
  EXPECT_DOUBLE_EQ(anchors.places[5].share, 0.25);
}

TEST(Anchors, ValuesBetween) {
  std::vector<double> between;
  set_between(std::vector<double>{1, 10}, std::vector<double>{3, 20}, 0.25, between);
  EXPECT_EQ(between, (std::vector<double>{1.5, 12.5}));
}

}  // namespace
}  // namespace ergometer::search
