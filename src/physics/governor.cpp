#include "physics/governor.h"

#include <algorithm>
#include <cmath>

namespace ergometer::physics {
namespace {

/// Power against clock for one decision: what does not depend on the clock is worked out once.
class PowerCurve {
 public:
  PowerCurve(const GpuPower& gpu, const Silicon& silicon, double leakage_w, const Load& load,
             const Response& response)
      : constant_w_(gpu.constant_w),
        leakage_w_(leakage_w),
        active_j_(load.awake ? gpu.active_w / gpu.clocks.highest_hz : 0),
        core_w_(load.core_w),
        steady_w_(load.memory_w + load.link_w),
        knee_hz_(gpu.voltage.knee_hz),
        lowest_(gpu.voltage.lowest + silicon.voltage),
        slope_(gpu.voltage.highest_hz > gpu.voltage.knee_hz
                   ? (1 - gpu.voltage.lowest) / (gpu.voltage.highest_hz - gpu.voltage.knee_hz)
                   : 0),
        free_(response.at_hz > 0 ? 1 - response.clocked_share : 1),
        clocked_hz_(response.clocked_share * response.at_hz) {}

  double power_w(double clock_hz) const {
    const double v = lowest_ + slope_ * std::max(0.0, clock_hz - knee_hz_);
    const double v2 = v * v;
    return constant_w_ + leakage_w_ * v + active_j_ * v2 * clock_hz +
           (core_w_ * v2 + steady_w_) * pace(clock_hz);
  }
  /// Derivative of `power_w` by the clock; from above at the knee.
  double slope_w_per_hz(double clock_hz) const {
    const double v = lowest_ + slope_ * std::max(0.0, clock_hz - knee_hz_);
    const double dv = clock_hz >= knee_hz_ ? slope_ : 0;
    const double inverse = 1 / (free_ * clock_hz + clocked_hz_);
    const double dpace = clocked_hz_ > 0 ? clocked_hz_ * inverse * inverse : 0;
    return leakage_w_ * dv + active_j_ * (v * v) + (core_w_ * (v * v) + steady_w_) * dpace +
           2 * v * dv * (active_j_ * clock_hz + core_w_ * pace(clock_hz));
  }

 private:
  /// The same work at another pace: its power goes with the inverse of the time it takes.
  double pace(double clock_hz) const {
    return clocked_hz_ > 0 ? clock_hz / (free_ * clock_hz + clocked_hz_) : 1;
  }

  double constant_w_, leakage_w_, active_j_, core_w_, steady_w_;
  double knee_hz_, lowest_, slope_;
  double free_, clocked_hz_;
};

/// The highest lattice clock up to `ceiling_hz` within the cap, sought from `start_hz`. Power grows
/// with the clock and is nearly convex in it, so a few of Newton's steps land within a lattice step
/// of the answer; the lattice itself is then checked point by point.
double within_cap(const ClockLattice& clocks, const PowerCurve& curve, double start_hz,
                  double ceiling_hz, double cap_w) {
  double clock = start_hz;
  for (int i = 0; i < 6; ++i) {
    const double slope = curve.slope_w_per_hz(clock);
    if (slope <= 0) break;
    const double step = (curve.power_w(clock) - cap_w) / slope;
    clock = std::clamp(clock - step, clocks.lowest_hz, ceiling_hz);
    if (std::abs(step) < clocks.step_hz) break;
  }
  double found = std::min(clocks.floor(clock), ceiling_hz);
  while (found > clocks.lowest_hz && curve.power_w(found) > cap_w)
    found = clocks.floor(found - clocks.step_hz);
  while (found < ceiling_hz) {
    const double next = std::min(found + clocks.step_hz, ceiling_hz);
    if (curve.power_w(next) > cap_w) break;
    found = next;
  }
  return found;
}

}  // namespace

Load load_at(const Load& load, const Response& response, double clock_hz) {
  const double pace =
      1 / (1 - response.clocked_share + response.clocked_share * response.at_hz / clock_hz);
  return {load.core_w * pace, load.memory_w * pace, load.link_w * pace, load.awake};
}

ClockDecision decide_clock(const GpuPower& gpu, const Silicon& silicon, const ClockLimits& limits,
                           double die_c, const Load& load, const Response& response,
                           double thermal_hz) {
  return decide_clock_leaking(gpu, silicon, limits, gpu.leakage_at(die_c, silicon), load, response,
                              thermal_hz);
}

ClockDecision decide_clock_leaking(const GpuPower& gpu, const Silicon& silicon,
                                   const ClockLimits& limits, double leakage_w, const Load& load,
                                   const Response& response, double thermal_hz, double near_hz) {
  const ClockLattice& clocks = gpu.clocks;
  if (limits.brake) return {clocks.lowest_hz, kHwSlowdown | kHwPowerBrake};

  ClockDecision decision{clocks.highest_hz, 0};
  const auto hold = [&](double limit_hz, EventReason reason) {
    if (limit_hz <= 0 || limit_hz >= decision.clock_hz) return;
    decision = {clocks.floor(limit_hz), reason};
  };
  hold(limits.lock_hz, kApplicationsClocksSetting);
  hold(thermal_hz, kSwThermalSlowdown);

  const double cap_w = gpu.held * (limits.cap_w > 0 ? limits.cap_w : gpu.cap_w);
  const PowerCurve curve(gpu, silicon, leakage_w, load, response);
  const double ceiling_hz = decision.clock_hz;
  // Most decisions repeat the one before: look there first.
  if (near_hz <= 0) near_hz = response.at_hz;
  const double start_hz = near_hz > 0 && near_hz < ceiling_hz ? clocks.floor(near_hz) : ceiling_hz;
  const bool fits = curve.power_w(start_hz) <= cap_w;
  if (fits && start_hz == ceiling_hz) return decision;
  if (fits && curve.power_w(std::min(start_hz + clocks.step_hz, ceiling_hz)) > cap_w)
    return {start_hz, kSwPowerCap};
  const double found_hz = within_cap(clocks, curve, start_hz, ceiling_hz, cap_w);
  const bool limited = found_hz < ceiling_hz || curve.power_w(found_hz) > cap_w;
  return limited ? ClockDecision{found_hz, kSwPowerCap} : decision;
}

void ThermalGovernor::advance(const GpuPower& gpu, double dt_s, double die_c, double memory_c,
                              double clock_hz) {
  const ClockLattice& clocks = gpu.clocks;
  if (gpu.shutdown_c > 0 && die_c >= gpu.shutdown_c) shut_down = true;
  if (shut_down) {
    ceiling_hz = clocks.lowest_hz;
    return;
  }
  if (gpu.slowdown_c > 0 && die_c >= gpu.slowdown_c && !halved) {
    halved = true;
    ceiling_hz = clocks.floor(clock_hz / 2);
  }
  if (halved && die_c < gpu.slowdown_c - kHalvedHysteresisC) halved = false;

  const double margin_c =
      std::min(gpu.target_c > 0 ? gpu.target_c - die_c : hysteresis_c,
               gpu.memory_limit_c > 0 ? gpu.memory_limit_c - memory_c : hysteresis_c);
  // The limit is noticed at once, whenever the next step of the clock is due.
  if (margin_c <= 0 && ceiling_hz <= 0) ceiling_hz = clocks.floor(clock_hz);

  since_s += dt_s;
  const double periods = std::floor(since_s / period_s + 1e-9);
  since_s = std::max(0.0, since_s - periods * period_s);
  if (halved || periods < 1) return;

  if (margin_c <= 0) {
    const double from = ceiling_hz > 0 ? std::min(ceiling_hz, clock_hz) : clock_hz;
    ceiling_hz = clocks.floor(clocks.floor(from) - periods * clocks.step_hz);
  } else if (ceiling_hz > 0 && margin_c >= hysteresis_c) {
    ceiling_hz += periods * clocks.step_hz;
    if (ceiling_hz >= clocks.highest_hz) ceiling_hz = 0;
  }
}

uint32_t ThermalGovernor::reasons() const {
  if (halved || shut_down) return kHwSlowdown | kHwThermalSlowdown;
  return ceiling_hz > 0 ? kSwThermalSlowdown : 0u;
}

}  // namespace ergometer::physics
