// What it predicts: the power of jobs together whose phases are unrelated, as shares of time. Where
// p_i and q_j are the shares in which two draw a + i w and b + j w, they draw a + b + k w in
//
//   sum over i of p_i q_{k-i}
//
// Worked: one draws 1 kW and 3 kW for half of the time each, the other 2 kW for a quarter and 4 kW
// else: 3 kW in 1/8, 5 kW in 1/2, 7 kW in 3/8 of the time.
//
// Range: unrelated phases. Jobs of one step time keep the phases that they happen to have.
#include "together/hall_power.h"

#include <algorithm>
#include <cmath>

namespace ergometer::together {

double PowerShares::mean_w() const {
  double mean_w = 0;
  for (size_t i = 0; i < shares.size(); ++i)
    mean_w += shares[i] * (low_w + static_cast<double>(i) * width_w);
  return mean_w;
}

double PowerShares::above(double limit_w) const {
  double share = 0;
  for (size_t i = 0; i < shares.size(); ++i)
    if (low_w + static_cast<double>(i) * width_w > limit_w) share += shares[i];
  return share;
}

double PowerShares::exceeded_for(double share) const {
  // Sums of shares are off by their rounding.
  constexpr double kRounding = 1e-12;
  double above = 0;
  size_t i = shares.size() - 1;
  while (i > 0 && above + shares[i] <= share + kRounding) above += shares[i--];
  return low_w + static_cast<double>(i) * width_w;
}

PowerShares power_shares(const std::vector<double>& watts, double width_w) {
  const auto [low, high] = std::ranges::minmax(watts);
  const auto bin = [&, least_w = low](double w) {
    return static_cast<size_t>(std::lround((w - least_w) / width_w));
  };
  PowerShares result{
      .low_w = low, .width_w = width_w, .shares = std::vector<double>(bin(high) + 1)};
  for (const double w : watts) result.shares[bin(w)] += 1 / static_cast<double>(watts.size());
  return result;
}

PowerShares beside(const PowerShares& a, const PowerShares& b) {
  PowerShares sum{.low_w = a.low_w + b.low_w,
                  .width_w = a.width_w,
                  .shares = std::vector<double>(a.shares.size() + b.shares.size() - 1)};
  for (size_t i = 0; i < a.shares.size(); ++i) {
    if (a.shares[i] == 0) continue;
    for (size_t j = 0; j < b.shares.size(); ++j) sum.shares[i + j] += a.shares[i] * b.shares[j];
  }
  return sum;
}

}  // namespace ergometer::together
