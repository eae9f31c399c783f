#pragma once

#include <vector>

namespace ergometer::together {

/// Which share of the time a power is drawn: `shares[i]` of it `low_w + i * width_w`.
struct PowerShares {
  double low_w = 0, width_w = 1;
  std::vector<double> shares;

  double mean_w() const;
  /// Share of the time in which more than `limit_w` is drawn.
  double above(double limit_w) const;
  /// The least power that is exceeded in no more than `share` of the time.
  double exceeded_for(double share) const;
};

/// Of samples that stand equally long; there is one at least. Off by half of `width_w` at most.
PowerShares power_shares(const std::vector<double>& watts, double width_w);

/// Of two together that know nothing of each other: every power of one meets every power of the
/// other as often as both are drawn. Both have the same width.
PowerShares beside(const PowerShares& a, const PowerShares& b);

}  // namespace ergometer::together
