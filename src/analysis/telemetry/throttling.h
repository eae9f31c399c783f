#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// Bits of the clock event reasons that hold clocks below what was asked, by power or by heat.
inline constexpr int64_t kThrottlingReasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// Of a reading's bits those that hold the clock, without the one that only repeats another.
int64_t throttling_causes(int64_t bits);

/// A reason under NVML's name, and for which part of the time it held.
struct ReasonShare {
  std::string reason;
  double fraction = 0;
};

/// For how much of the time something held a GPU's clock, and what: the longest first, of equally
/// long ones the most severe.
///
/// NVML sets hw_slowdown beside hw_thermal_slowdown and hw_power_brake_slowdown, which say why; by
/// itself it is a reason only where neither stands. Worked: brake and hw_slowdown for 3 s of 10,
/// hw_slowdown alone for 1 s: 40 % throttled, brake 30 %, hw_slowdown 10 %.
struct Throttling {
  double fraction = 0;
  std::vector<ReasonShare> reasons;
  /// The reason that held longest; empty: none did.
  std::string main() const { return reasons.empty() ? "" : reasons.front().reason; }
};

/// Of a series of event reasons from one time to another, each reading standing until the next one;
/// nothing where none stands. Between readings further apart than `longest_ns` none stands.
std::optional<Throttling> throttling_between(const run::Series& reasons, int64_t from_ns,
                                             int64_t to_ns, int64_t longest_ns = INT64_MAX);
/// Over all a GPU's readings: of its event reasons, else of its counters of time by reason. Of
/// counters the fraction is the largest share: how far reasons overlap, they do not say.
std::optional<Throttling> throttling_of(const run::Device& gpu);
/// The shares that counters of time by reason tell, other reasons than throttling among them.
std::vector<ReasonShare> counted_reasons(const run::Device& gpu);

/// What to do where a reason holds clocks.
struct ReasonAdvice {
  std::string_view reason;
  std::string_view try_next, check;
};
/// Of a reason that is not known, the one of hw_slowdown, which may be any.
const ReasonAdvice& advice_for(std::string_view reason);

}  // namespace ergometer::analysis
