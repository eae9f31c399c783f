#include "physics/series_mean.h"

namespace ergometer::physics {

double mean_w(std::span<const double> watts) {
  double sum = 0;
  for (const double value : watts) sum += value - watts.front();
  return watts.front() + sum / static_cast<double>(watts.size());
}

double variance_w2(std::span<const double> watts) {
  const double mean = mean_w(watts);
  double sum = 0;
  for (const double value : watts) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(watts.size());
}

}  // namespace ergometer::physics
