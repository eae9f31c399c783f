#include "base/exponential.h"
#include "physics/facility.h"

namespace ergometer::physics {
namespace {

/// (1 - exp(-x)) / x, without the difference of near equals where x is small.
double mean_decay(double x) {
  constexpr double kSmall = 1e-2;
  if (x > kSmall) return (1 - base::exponential(-x)) / x;
  return 1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7)))));
}

}  // namespace

// Behind a lag T the grid sees y' = (P - y) / T. Power P is constant over an interval dt, so
//   mean of y = P + (y0 - P) m,  y at its end = P + (y0 - P) (1 - m dt/T),  m = (1 - e^(-dt/T))
//   T/dt
// and what storage gave is T times the fall of y, to the last digit.
PowerSeries behind_storage(const PowerSeries& load, double time_constant_s) {
  PowerSeries result = load;
  if (!(time_constant_s > 0) || load.watts.empty()) return result;
  const double share = load.interval_s / time_constant_s;
  const double mean = mean_decay(share), kept = 1 - share * mean;
  double grid_w = load.watts.front();
  for (double& watts : result.watts) {
    const double asked = watts, lag = grid_w - asked;
    watts = asked + lag * mean;
    grid_w = asked + lag * kept;
  }
  return result;
}

}  // namespace ergometer::physics
