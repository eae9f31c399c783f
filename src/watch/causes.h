#pragma once

#include <map>
#include <string>

namespace ergometer::watch {

/// What is known of the window in which a quantity left its predicted interval. Zero, or a negative
/// use: not known.
struct Evidence {
  std::string quantity;  ///< "step_time_s", "mean_w_per_gpu", ...
  double measured = 0, low = 0, high = 0;
  double use_percent = -1, use_before_percent = -1;  ///< of GPUs; while the quantity was inside
  double dips = 0;  ///< share of the looks at which GPUs were used half as much as at the busiest
  double cpu_percent = -1;
  double clock_mhz = 0, predicted_clock_mhz = 0;
  double tokens_per_step = 0, predicted_tokens_per_step = 0;  ///< a GPU
  std::map<std::string, double> held_back = {};               ///< share of GPU time, by reason
  std::string slow_gpu = {};     ///< 5 % or more behind the median clock in half of the looks
  std::string link_errors = {};  ///< which device counted errors of a link

  bool is_slow_step() const { return quantity == "step_time_s" && measured > high; }
};

struct Cause {
  std::string kind;  ///< "longer_sequences", "throttle", "slow_gpu", "link", "host", "data", "none"
  std::string text;
};

/// The likely cause of a deviation, by the rules of docs/models/causes.md: the first that holds.
Cause likely_cause(const Evidence& of);

}  // namespace ergometer::watch
