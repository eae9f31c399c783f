#include "analysis/math/intervals.h"

#include <algorithm>

namespace ergometer::analysis {
namespace {

bool starts_before(const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; }

/// Joins what touches, of intervals in order of their starts.
Intervals join(std::vector<Interval> pieces) {
  size_t kept = 0;
  for (const Interval& piece : pieces) {
    if (piece.end_ns <= piece.start_ns) continue;
    if (kept > 0 && piece.start_ns <= pieces[kept - 1].end_ns) {
      pieces[kept - 1].end_ns = std::max(pieces[kept - 1].end_ns, piece.end_ns);
    } else {
      pieces[kept++] = piece;
    }
  }
  pieces.resize(kept);
  return pieces;
}

}  // namespace

Intervals unite(std::vector<Interval> pieces) {
  if (!std::ranges::is_sorted(pieces, starts_before)) std::ranges::sort(pieces, starts_before);
  return join(std::move(pieces));
}

Intervals unite(const Intervals& a, const Intervals& b) {
  Intervals both(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin(), starts_before);
  return join(std::move(both));
}

int64_t length(const Intervals& intervals) {
  int64_t sum = 0;
  for (const Interval& i : intervals) sum += i.end_ns - i.start_ns;
  return sum;
}

int64_t common_length(const Intervals& a, const Intervals& b) {
  int64_t sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t start = std::max(a[i].start_ns, b[j].start_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    sum += std::max<int64_t>(end - start, 0);
    (a[i].end_ns < b[j].end_ns ? i : j) += 1;
  }
  return sum;
}

}  // namespace ergometer::analysis
