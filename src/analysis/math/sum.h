#pragma once

#include <cstdint>

namespace ergometer::analysis {

/// Adds times up to the largest that fits and no further: a damaged file may hold any.
inline void add_time(int64_t& sum_ns, int64_t more_ns) {
  if (__builtin_add_overflow(sum_ns, more_ns, &sum_ns)) sum_ns = INT64_MAX;
}

inline double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace ergometer::analysis
