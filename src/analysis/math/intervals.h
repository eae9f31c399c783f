#pragma once

#include <cstdint>
#include <vector>

namespace ergometer::analysis {

/// A stretch of time, the end not part of it.
struct Interval {
  int64_t start_ns = 0, end_ns = 0;
};
/// Intervals in order of time, none touching another: the union of any set of them.
using Intervals = std::vector<Interval>;

/// The union; intervals without length are left out.
Intervals unite(std::vector<Interval> pieces);
/// The union of two unions.
Intervals unite(const Intervals& a, const Intervals& b);
/// How much time they cover.
int64_t length(const Intervals& intervals);
/// How much time both cover.
int64_t common_length(const Intervals& a, const Intervals& b);

}  // namespace ergometer::analysis
