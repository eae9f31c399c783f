#pragma once

#include <cstdint>
#include <optional>

#include "base/mean.h"
#include "record/source.h"

namespace ergometer::record {

/// What a controller says of its node: gathered from several answers, then told as one device.
struct NodeReadings {
  std::optional<double> total_w;
  /// Supplies that are there, and those whose input is known: their sum is the node's power where
  /// no total is stated, and only if none is missing.
  int64_t supplies = 0;
  base::Mean supplies_in_w;
  base::Mean inlet_c, outlet_c, fan_rpm, fan_percent;

  /// Adds the readings of the metrics that `wanted` holds, with one time.
  void tell(std::span<const run::Metric> wanted, int64_t time_ns, Batch& batch) const;
  std::vector<run::Metric> metrics() const;
  std::optional<double> value(run::Metric metric) const;
};

}  // namespace ergometer::record
