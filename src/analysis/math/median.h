#pragma once

#include <utility>
#include <vector>

#include "base/collection.h"

namespace ergometer::analysis {

/// Of an even number the upper one; 0 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  return base::upper_median(std::move(values));
}

}  // namespace ergometer::analysis
