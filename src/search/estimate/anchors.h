#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ergometer::search {

/// Where a pass stands among others that differ in one number, such as how many layers they
/// recompute.
struct CurvePoint {
  int32_t curve = kAlone;
  int32_t anchors = 2;  ///< of the curve that begins here, at most; 2 or more
  double x = 0;
  static constexpr int32_t kAlone = -1;  ///< of no curve
};

/// A few points of every curve, and where the others lie between them. A step is a maximum of sums
/// of its parts' times, so along a curve on which these grow evenly it is convex and made of few
/// straight pieces.
struct Anchors {
  struct Place {
    int32_t first = 0, second = 0;  ///< in `points`
    double share = 0;               ///< of the way from the first to the second
  };
  std::vector<int32_t> points;  ///< which are anchors
  std::vector<Place> places;    ///< by point
};

/// Anchors as evenly spread over a curve's x as its points allow, both ends among them. Of points
/// with the same x one is taken.
void choose_anchors(std::span<const CurvePoint> points, Anchors& anchors);

/// Values between those of two anchors.
void set_between(std::span<const double> first, std::span<const double> second, double share,
                 std::vector<double>& between);

}  // namespace ergometer::search
