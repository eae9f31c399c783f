#include "optimize/verdict.h"

#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace ergometer::optimize {

double student_95(double freedom) {
  const double z = base::normal_quantile(0.95), z2 = z * z;
  const double first = z * (z2 + 1) / 4;
  const double second = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
  return z + first / freedom + second / (freedom * freedom);
}

Gain paired_gain(Objective objective, const std::vector<Outcome>& unchanged,
                 const std::vector<Outcome>& changed, double noise_floor_pct) {
  ERGOMETER_CHECK(unchanged.size() == changed.size() && changed.size() > 1, "plays are in pairs");
  Gain gain;
  for (size_t i = 0; i < changed.size(); ++i)
    gain.by_seed_pct.push_back(
        100 * (1 - value_of(objective, changed[i]) / value_of(objective, unchanged[i])));
  const auto n = static_cast<double>(changed.size());
  for (const double pct : gain.by_seed_pct) gain.value_pct += pct / n;
  double squares = 0;
  for (const double pct : gain.by_seed_pct)
    squares += (pct - gain.value_pct) * (pct - gain.value_pct);
  const double t = student_95(n - 1);
  const double half =
      std::sqrt(t * t * squares / (n - 1) * (1 + 1 / n) + noise_floor_pct * noise_floor_pct);
  gain.low_pct = gain.value_pct - half;
  gain.high_pct = gain.value_pct + half;
  return gain;
}

}  // namespace ergometer::optimize
