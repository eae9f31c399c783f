#include "physics/series_mean.h"

#include "base/collection.h"

namespace ergometer::physics {

double mean_w(std::span<const double> watts) {
  const double sum = base::sum(watts, [&](double value) { return value - watts.front(); });
  return watts.front() + sum / static_cast<double>(watts.size());
}

double variance_w2(std::span<const double> watts) {
  const double mean = mean_w(watts);
  const double sum =
      base::sum(watts, [&](double value) { return (value - mean) * (value - mean); });
  return sum / static_cast<double>(watts.size());
}

}  // namespace ergometer::physics
