#include "engine/links/fair_share.h"

#include <algorithm>

namespace ergometer::engine {

double fair_share(double own, std::span<const double> demands, double capacity) {
  double share =
      0;  // raised until nobody below it is left to satisfy: at most once for every demand
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
