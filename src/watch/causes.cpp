#include "watch/causes.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace ergometer::watch {
namespace {

constexpr double kMoreTokens = 1.03;  ///< than predicted, in a step
constexpr double kHeldBack = 0.1;     ///< of GPU time
constexpr double kLowClock = 0.97;    ///< of the predicted one
constexpr double kBusyCpu = 80, kLowUse = 50, kHighUse = 80, kSameUse = 5;  ///< percent
constexpr double kDips = 0.1;                                               ///< of the looks

using Found = std::optional<Cause>;

/// The log's own tokens a step explain the time: at their predicted number it is inside.
Found by_tokens(const Evidence& e) {
  if (!e.is_slow_step() || e.tokens_per_step <= 0 || e.predicted_tokens_per_step <= 0) return {};
  const double more = e.tokens_per_step / e.predicted_tokens_per_step;
  if (more < kMoreTokens || e.measured / more > e.high) return {};
  return Cause{"longer_sequences",
               fmt::format("longer sequences: {:.0f} tokens a step and GPU, {:.0f} are predicted",
                           e.tokens_per_step, e.predicted_tokens_per_step)};
}

/// A power cap is part of many predictions; it counts where the clock is lower than predicted.
Found by_throttling(const Evidence& e) {
  const bool low_clock = e.predicted_clock_mhz > 0 && e.clock_mhz > 0 &&
                         e.clock_mhz < kLowClock * e.predicted_clock_mhz;
  const std::pair<const std::string, double>* most = nullptr;
  for (const auto& reason : e.held_back) {
    if (reason.second < kHeldBack || (reason.first == "sw_power_cap" && !low_clock)) continue;
    if (most == nullptr || reason.second > most->second) most = &reason;
  }
  if (most == nullptr) return {};
  return Cause{"throttle", fmt::format("throttling: {} in {:.0f} % of GPU time", most->first,
                                       100 * most->second)};
}

Found by_slow_gpu(const Evidence& e) {
  if (e.slow_gpu.empty()) return {};
  return Cause{"slow_gpu", fmt::format("a slow GPU: the clock of {} is 5 % or more below the "
                                       "others'",
                                       e.slow_gpu)};
}

Found by_link(const Evidence& e) {
  if (e.link_errors.empty()) return {};
  return Cause{"link", "a link: " + e.link_errors + " counts errors"};
}

Found by_host(const Evidence& e) {
  if (e.use_percent < 0 || e.use_percent >= kLowUse) return {};
  if (e.cpu_percent >= kBusyCpu)
    return Cause{"host",
                 fmt::format("the host: GPUs are in use {:.0f} % of the time, CPUs {:.0f} %",
                             e.use_percent, e.cpu_percent)};
  if (!e.is_slow_step() || e.dips >= kDips) return {};
  return Cause{"host", fmt::format("the host: steps are long while GPUs are in use {:.0f} % of the "
                                   "time",
                                   e.use_percent)};
}

Found by_data(const Evidence& e) {
  if (e.dips < kDips || e.use_percent < 0) return {};
  return Cause{"data", fmt::format("data: GPU use falls between steps, in {:.0f} % of the time",
                                   100 * e.dips)};
}

/// All GPUs busy as before at the predicted clock, and still the step is longer: it holds more.
Found by_more_work(const Evidence& e) {
  const bool as_before = e.use_percent >= kHighUse && e.use_before_percent >= 0 &&
                         std::abs(e.use_percent - e.use_before_percent) <= kSameUse;
  const bool full_clock =
      e.predicted_clock_mhz > 0 && e.clock_mhz >= kLowClock * e.predicted_clock_mhz;
  if (!e.is_slow_step() || !as_before || !full_clock || e.tokens_per_step > 0) return {};
  return Cause{"longer_sequences",
               "longer sequences, or other work more: all GPUs are busy as before"};
}

}  // namespace

Cause likely_cause(const Evidence& of) {
  for (const auto rule :
       {by_tokens, by_throttling, by_slow_gpu, by_link, by_host, by_data, by_more_work})
    if (Found cause = rule(of)) return *std::move(cause);
  return {"none", "cause not told"};
}

}  // namespace ergometer::watch
