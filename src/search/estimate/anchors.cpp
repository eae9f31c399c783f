#include "search/estimate/anchors.h"

#include <algorithm>
#include <cmath>

namespace ergometer::search {
namespace {

constexpr double kSame = 1e-9;  ///< of a curve's length: points nearer than this are one

/// Anchors of one curve, given its points in ascending order.
void choose(std::span<const CurvePoint> points, std::span<const int32_t> sorted, Anchors& anchors) {
  const int32_t most = points[static_cast<size_t>(sorted.front())].anchors;
  const auto x = [&](int32_t point) { return points[static_cast<size_t>(point)].x; };
  const double from = x(sorted.front()), length = x(sorted.back()) - from;
  const size_t first = anchors.points.size();
  const auto add = [&](int32_t point) {
    if (anchors.points.size() == first || x(point) > x(anchors.points.back()) + kSame * length)
      anchors.points.push_back(point);
  };
  if (sorted.size() <= static_cast<size_t>(most)) {
    for (const int32_t point : sorted) add(point);
  } else {
    for (int32_t k = 0; k < most; ++k) {
      const double wanted = from + length * k / (most - 1);
      add(*std::ranges::min_element(sorted, [&](int32_t a, int32_t b) {
        return std::abs(x(a) - wanted) < std::abs(x(b) - wanted);
      }));
    }
  }
  size_t at = first;
  for (const int32_t point : sorted) {
    while (at + 1 < anchors.points.size() && x(anchors.points[at + 1]) <= x(point)) ++at;
    Anchors::Place& place = anchors.places[static_cast<size_t>(point)];
    const double more = x(point) - x(anchors.points[at]);
    place = {static_cast<int32_t>(at), static_cast<int32_t>(at), 0};
    if (at + 1 == anchors.points.size() || more <= kSame * length) continue;
    place.second = static_cast<int32_t>(at + 1);
    place.share = more / (x(anchors.points[at + 1]) - x(anchors.points[at]));
  }
}

}  // namespace

void choose_anchors(std::span<const CurvePoint> points, Anchors& anchors) {
  anchors.points.clear();
  anchors.places.assign(points.size(), {});
  thread_local std::vector<int32_t> sorted;
  sorted.clear();
  for (size_t i = 0; i < points.size(); ++i) {
    const auto point = static_cast<int32_t>(i);
    if (points[i].curve != CurvePoint::kAlone) {
      sorted.push_back(point);
      continue;
    }
    const auto at = static_cast<int32_t>(anchors.points.size());
    anchors.places[i] = {at, at, 0};
    anchors.points.push_back(point);
  }
  std::ranges::sort(sorted, [&](int32_t a, int32_t b) {
    const CurvePoint &p = points[static_cast<size_t>(a)], &q = points[static_cast<size_t>(b)];
    if (p.curve != q.curve) return p.curve < q.curve;
    return p.x != q.x ? p.x < q.x : a < b;
  });
  for (size_t from = 0; from < sorted.size();) {
    const int32_t curve = points[static_cast<size_t>(sorted[from])].curve;
    size_t to = from + 1;
    while (to < sorted.size() && points[static_cast<size_t>(sorted[to])].curve == curve) ++to;
    choose(points, std::span(sorted).subspan(from, to - from), anchors);
    from = to;
  }
}

void set_between(std::span<const double> first, std::span<const double> second, double share,
                 std::vector<double>& between) {
  between.resize(first.size());
  for (size_t i = 0; i < first.size(); ++i) between[i] = first[i] + share * (second[i] - first[i]);
}

}  // namespace ergometer::search
