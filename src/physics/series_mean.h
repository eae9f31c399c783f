#pragma once

#include <span>

namespace ergometer::physics {

/// Of at least one value. Sums are taken from the first value on, so that a constant series has
/// exactly its own mean and no variance.
double mean_w(std::span<const double> watts);
double variance_w2(std::span<const double> watts);  ///< of the population: over n

}  // namespace ergometer::physics
