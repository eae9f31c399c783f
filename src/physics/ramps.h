#pragma once

#include <vector>

#include "physics/facility.h"

namespace ergometer::physics {

/// Over 0.1, 1, 10 and 60 s, without those shorter than one interval of the series and, unless the
/// series repeats, those that do not fit into it twice. O(n) each. Exact for any ratio of
/// the two: power is constant over an interval, so the difference of two means is linear in time
/// between the moments at which one of their three borders crosses an interval's.
std::vector<Ramp> ramps(const PowerSeries& series, bool periodic);

}  // namespace ergometer::physics
