#include "campaign/deviation.h"

#include <algorithm>

#include "base/exponential.h"
#include "engine/outcome/interval.h"

namespace ergometer::campaign {

Deviation deviation_of(double predicted, const run::Interval& interval) {
  if (interval.low <= 0) return {};
  const auto side = [](double ratio) {
    return base::logarithm(std::max(1.0, ratio)) / engine::kNormal90;
  };
  return {side(predicted / interval.low), side(interval.high / predicted)};
}

double factor(const Deviation& deviation, double normal) {
  return base::exponential((normal < 0 ? deviation.below : deviation.above) * normal);
}

}  // namespace ergometer::campaign
