#include "record/sources.h"

#include <algorithm>
#include <chrono>

namespace ergometer::record {

int64_t now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

bool SourceOptions::wants(run::Metric metric) const {
  return metrics.empty() || std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

}  // namespace ergometer::record
