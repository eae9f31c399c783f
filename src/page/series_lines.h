#pragma once

#include <string>
#include <vector>

#include "page/time_grid.h"
#include "run/device_log.h"

namespace ergometer::page {

/// One device's line of a metric.
struct Line {
  const run::Device* device = nullptr;
  Samples samples;
};

/// What is drawn together.
struct MetricLines {
  std::string name, title, unit;
  std::vector<Line> lines;
};

/// Every metric that a report draws and a log holds: of GPUs, then of nodes, CPUs and network
/// ports. Of several power sensors the first of instant, unspecified and averaged; counters of
/// bytes as rates.
std::vector<MetricLines> metric_lines(const run::DeviceLog& log);

/// Indices of `most` lines at the most, in order: the highest and the lowest by their mean and by
/// their peak, and others evenly among the rest.
std::vector<size_t> chosen_lines(const std::vector<Line>& lines, size_t most);

}  // namespace ergometer::page
