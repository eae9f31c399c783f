#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/device_log.h"

namespace ergometer::page {

using Samples = std::vector<run::Sample>;

/// The times at which many lines are drawn. Where the lines' own times are few and common to them,
/// they are those; else the whole stretch is cut into equal buckets of two times each, and a line
/// shows the lowest and the highest value of every bucket, in the order in which they came: no peak
/// is lost, whatever the number of samples.
class TimeGrid {
 public:
  /// At most `most` times (from 2).
  TimeGrid(std::span<const Samples* const> lines, size_t most);

  const std::vector<int64_t>& times_ns() const { return times_ns_; }
  /// A line's value at each of the times; NaN before its first and behind its last sample. Between
  /// two samples the former stands.
  std::vector<double> values(const Samples& line) const;

 private:
  std::vector<double> bucket_values(const Samples& line) const;

  std::vector<int64_t> times_ns_;
  int64_t from_ns_ = 0;
  double width_ns_ = 0;  ///< of a bucket; 0: the lines' own times
};

}  // namespace ergometer::page
