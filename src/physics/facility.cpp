#include "physics/facility.h"

#include <algorithm>

#include "physics/ramps.h"
#include "physics/spectrum.h"

namespace ergometer::physics {

double percentile_95(std::vector<double> watts) {
  const size_t rank = (95 * watts.size() + 99) / 100;
  const auto at = watts.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(watts.begin(), at, watts.end());
  return *at;
}

SeriesSummary summarise(const PowerSeries& series, bool periodic) {
  SeriesSummary result;
  if (series.watts.empty()) return result;
  result.ramps = ramps(series, periodic);
  Spectrum found = spectrum(series, periodic);
  result.bands = std::move(found.bands);
  result.dominant_hz = found.dominant_hz;
  result.dominant_rms_w = found.dominant_rms_w;
  return result;
}

}  // namespace ergometer::physics
