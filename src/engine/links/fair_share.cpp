#include "engine/links/fair_share.h"

#include <algorithm>

namespace ergometer::engine {

// The share s with sum of min(demand, s) = capacity, where demands exceed it; who asks gets
// min(own, s). From below: s = (capacity - demands up to the s before) / (number of the others),
// until it rises no more, at most once for every demand.
double fair_share(double own, std::span<const double> demands, double capacity) {
  double share = 0;
  for (size_t round = 0; round <= demands.size(); ++round) {
    double left = capacity, unsatisfied = 0;
    for (const double demand : demands) {
      if (round > 0 && demand <= share)
        left -= demand;
      else
        unsatisfied += 1;
    }
    if (unsatisfied == 0) return own;
    if (left / unsatisfied <= share) break;
    share = left / unsatisfied;
  }
  return std::min(own, share);
}

}  // namespace ergometer::engine
