// The clock that a GPU runs at under its power limit, and the ceiling that heat puts on it.
//
// Power against clock f, of work that was found at clock f0 (docs/models/clocks.md):
//
//   P(f) = P_c + P_l v + a v^2 f + (P_core v^2 + P_memory + P_link) pace(f)              W
//   v(f) = v_min + s (f - f_k) above the knee f_k, v_min below, plus what the silicon needs
//   pace(f) = f / ((1 - c) f + c f0)
//
// P_c constant, P_l leakage at v = 1 and the die's temperature (W); a = active power / highest
// clock (J); v relative voltage, s its slope (1/Hz); c the share of the time that follows the
// clock. Sought is the highest f of the lattice with P(f) <= held x cap, by Newton's method:
//
//   dP/df = P_l v' + a v^2 + (P_core v^2 + P_memory + P_link) pace' + 2 v v' (a f + P_core pace)
//   pace' = c f0 / ((1 - c) f + c f0)^2,   v' = s above the knee, 0 below
#include "physics/governor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/widths.h"

namespace ergometer::physics {
namespace {

/// What power against clock has in common for all GPUs of a kind. `active_j`: W for each Hz;
/// `slope`: of the relative voltage, for each Hz.
struct KindCurve {
  double constant_w, active_j, knee_hz, lowest, slope;
  explicit KindCurve(const GpuPower& gpu)
      : constant_w(gpu.constant_w),
        active_j(gpu.active_w / gpu.clocks.highest_hz),
        knee_hz(gpu.voltage.knee_hz),
        lowest(gpu.voltage.lowest),
        slope(gpu.voltage.highest_hz > gpu.voltage.knee_hz
                  ? (1 - gpu.voltage.lowest) / (gpu.voltage.highest_hz - gpu.voltage.knee_hz)
                  : 0) {}
};

/// Power against clock for one decision: what does not depend on the clock is worked out once.
class PowerCurve {
 public:
  ERGOMETER_INLINE PowerCurve(const KindCurve& kind, double voltage, double leakage_w,
                              const Load& load, const Response& response)
      : constant_w_(kind.constant_w),
        leakage_w_(leakage_w),
        active_j_(load.awake ? kind.active_j : 0),
        core_w_(load.core_w),
        steady_w_(load.memory_w + load.link_w),
        knee_hz_(kind.knee_hz),
        lowest_(kind.lowest + voltage),
        slope_(kind.slope),
        free_(1 - response.clocked_share),
        clocked_hz_(response.clocked_share * response.at_hz) {}

  ERGOMETER_INLINE double power_w(double clock_hz) const {
    const double above_hz = clock_hz - knee_hz_;
    const double v = lowest_ + slope_ * (above_hz > 0 ? above_hz : 0);
    const double v2 = v * v;
    return constant_w_ + leakage_w_ * v + active_j_ * v2 * clock_hz +
           (core_w_ * v2 + steady_w_) * pace(clock_hz);
  }
  /// How far above the clock that draws `cap_w` Newton's method finds this one: by power and its
  /// derivative, from above at the knee. Infinite, or below where power falls, if it finds none.
  ERGOMETER_INLINE double beyond_hz(double clock_hz, double cap_w) const {
    const double above_hz = clock_hz - knee_hz_;
    const double v = lowest_ + slope_ * (above_hz > 0 ? above_hz : 0);
    const double dv = clock_hz >= knee_hz_ ? slope_ : 0;
    const double inverse = 1 / (free_ * clock_hz + clocked_hz_);
    const double pace = clock_hz * inverse, work_w = core_w_ * (v * v) + steady_w_;
    const double watts =
        constant_w_ + leakage_w_ * v + active_j_ * (v * v) * clock_hz + work_w * pace;
    const double w_per_hz = leakage_w_ * dv + active_j_ * (v * v) +
                            work_w * (clocked_hz_ * inverse * inverse) +
                            2 * v * dv * (active_j_ * clock_hz + core_w_ * pace);
    return (watts - cap_w) / w_per_hz;
  }

 private:
  /// The same work at another pace: its power goes with the inverse of the time it takes. Of work
  /// that does not follow the clock, which is free, exactly 1.
  ERGOMETER_INLINE double pace(double clock_hz) const {
    return clock_hz / (free_ * clock_hz + clocked_hz_);
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
    const double step = curve.beyond_hz(clock, cap_w);
    if (!std::isfinite(step)) break;
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

// Loops over GPUs. Each does little: where a division is left out for some, there is no vector.

ERGOMETER_INLINE double clamped(double clock_hz, double lowest, double highest) {
  const double least = clock_hz > lowest ? clock_hz : lowest;
  return least < highest ? least : highest;
}

ERGOMETER_WIDTHS void clamp_each(double lowest, const double* __restrict highest,
                                 const double* __restrict from, double* __restrict to, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = clamped(from[i], lowest, highest[i]);
}

/// The clocks of the lattice below these, and the next ones.
ERGOMETER_WIDTHS void floor_each(const ClockLattice& lattice, const double* __restrict ceiling_hz,
                                 const double* __restrict from, double* __restrict to,
                                 double* __restrict next, size_t n) {
  const double lowest = lattice.lowest_hz, step = lattice.step_hz;
  for (size_t i = 0; i < n; ++i) {
    const double above = from[i] - lowest, highest = ceiling_hz[i];
    const auto steps =
        static_cast<int32_t>((above > 0 ? above : 0) / step + ClockLattice::kForgiven);
    const double below = lowest + step * static_cast<double>(steps);
    const double clock = from[i] >= highest ? highest : below, above_it = clock + step;
    to[i] = clock;
    next[i] = above_it < highest ? above_it : highest;
  }
}

/// A GPU's curve among many.
ERGOMETER_INLINE PowerCurve curve_of(const KindCurve& kind, const Governed& boards, size_t i) {
  return PowerCurve(kind, boards.voltage[i], boards.leakage_w[i],
                    {.core_w = boards.core_w[i], .memory_w = boards.steady_w[i]},
                    {.clocked_share = boards.clocked_share[i], .at_hz = boards.at_hz[i]});
}

ERGOMETER_WIDTHS void powers_each(const KindCurve& given, const Governed& boards,
                                  const double* __restrict clock_hz, double* __restrict watts) {
  const KindCurve kind = given;
  const Governed each = boards;
  for (size_t i = 0; i < each.count; ++i) watts[i] = curve_of(kind, each, i).power_w(clock_hz[i]);
}

/// Newton's step to where the cap is reached; returns how many GPUs it moved by more than a step of
/// the lattice. The next one is then still as far as this one was, squared, over the clock.
ERGOMETER_WIDTHS size_t step_each(const KindCurve& given, const Governed& boards,
                                  const ClockLattice& lattice, double held,
                                  double* __restrict clock_hz) {
  const KindCurve kind = given;
  const Governed each = boards;
  const ClockLattice clocks = lattice;
  size_t far = 0;
  for (size_t i = 0; i < each.count; ++i) {
    const double beyond_hz = curve_of(kind, each, i).beyond_hz(clock_hz[i], held * each.cap_w[i]);
    const double to_hz = clamped(clock_hz[i] - beyond_hz, clocks.lowest_hz, each.ceiling_hz[i]);
    const double moved_hz = to_hz - clock_hz[i];
    far += ((moved_hz > clocks.step_hz) | (moved_hz < -clocks.step_hz)) ? 1 : 0;
    clock_hz[i] = to_hz;
  }
  return far;
}

/// The clocks that fit, where they are the highest or the next one does not fit; else 0.
ERGOMETER_WIDTHS void keep_decided(double held, const double* __restrict highest,
                                   const double* __restrict cap_w, const double* __restrict watts,
                                   const double* __restrict next_w, double* __restrict clock_hz,
                                   size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double most_w = held * cap_w[i];
    const bool last = (next_w[i] > most_w) | (clock_hz[i] == highest[i]);
    clock_hz[i] = (last & (watts[i] <= most_w)) ? clock_hz[i] : 0;
  }
}

/// How far die or memory is below its limit, the nearer one, K; a limit that is not known is
/// `unknown_k` away.
double margin_below_limits(const GpuPower& gpu, double die_c, double memory_c, double unknown_k) {
  return std::min(gpu.target_c > 0 ? gpu.target_c - die_c : unknown_k,
                  gpu.memory_limit_c > 0 ? gpu.memory_limit_c - memory_c : unknown_k);
}

}  // namespace

void decide_each(const GpuPower& gpu, const Governed& boards, double* clock_hz) {
  constexpr int kNewtonSteps = 3;
  const ClockLattice& clocks = gpu.clocks;
  const size_t n = boards.count;
  std::array<double, Governed::kMost> sought, next, watts, next_w;
  ERGOMETER_CHECK(n <= sought.size() && clocks.step_hz > 0, "a few GPUs that have clocks");
  const KindCurve curve(gpu);
  clamp_each(clocks.lowest_hz, boards.ceiling_hz, boards.at_hz, sought.data(), n);
  for (int i = 0; i < kNewtonSteps; ++i)
    if (step_each(curve, boards, clocks, gpu.held, sought.data()) == 0) break;
  floor_each(clocks, boards.ceiling_hz, sought.data(), clock_hz, next.data(), n);
  powers_each(curve, boards, clock_hz, watts.data());
  powers_each(curve, boards, next.data(), next_w.data());
  keep_decided(gpu.held, boards.ceiling_hz, boards.cap_w, watts.data(), next_w.data(), clock_hz, n);
}

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
                                   const Response& response, double thermal_hz) {
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
  const Response known = response.at_hz > 0 ? response : Response{};
  const PowerCurve curve(KindCurve(gpu), silicon.voltage, leakage_w, load, known);
  const double ceiling_hz = decision.clock_hz;
  const double start_hz =
      known.at_hz > 0 && known.at_hz < ceiling_hz ? clocks.floor(known.at_hz) : ceiling_hz;
  const bool fits = curve.power_w(start_hz) <= cap_w;
  if (fits && start_hz == ceiling_hz) return decision;
  if (fits && curve.power_w(std::min(start_hz + clocks.step_hz, ceiling_hz)) > cap_w)
    return {start_hz, kSwPowerCap};
  const double found_hz = within_cap(clocks, curve, start_hz, ceiling_hz, cap_w);
  const bool limited = found_hz < ceiling_hz || curve.power_w(found_hz) > cap_w;
  return limited ? ClockDecision{found_hz, kSwPowerCap} : decision;
}

QuietBelow::QuietBelow(const GpuPower& gpu) : die_c(INFINITY), memory_c(INFINITY) {
  for (const double limit_c : {gpu.target_c, gpu.slowdown_c, gpu.shutdown_c})
    if (limit_c > 0) die_c = std::min(die_c, limit_c);
  if (gpu.memory_limit_c > 0) memory_c = gpu.memory_limit_c;
}

double GovernorPeriods::pass(double dt_s) {
  constexpr double kSurelyWithin = 1 - 1e-6;
  since_s += dt_s;
  if (since_s < kSurelyWithin * period_s) return 0;
  const double periods = std::floor(since_s / period_s + 1e-9);
  since_s = std::max(0.0, since_s - periods * period_s);
  return periods;
}

void ThermalGovernor::advance(const GpuPower& gpu, double periods, double die_c, double memory_c,
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

  const double margin_k = margin_below_limits(gpu, die_c, memory_c, hysteresis_c);
  // The limit is noticed at once, whenever the next step of the clock is due.
  if (margin_k <= 0 && ceiling_hz <= 0) ceiling_hz = clocks.floor(clock_hz);

  if (halved || periods < 1) return;

  if (margin_k <= 0) {
    const double from = ceiling_hz > 0 ? std::min(ceiling_hz, clock_hz) : clock_hz;
    ceiling_hz = clocks.floor(clocks.floor(from) - periods * clocks.step_hz);
  } else if (ceiling_hz > 0 && margin_k >= hysteresis_c) {
    ceiling_hz += periods * clocks.step_hz;
    if (ceiling_hz >= clocks.highest_hz) ceiling_hz = 0;
  }
}

uint32_t ThermalGovernor::reasons() const {
  if (halved || shut_down) return kHwSlowdown | kHwThermalSlowdown;
  return ceiling_hz > 0 ? kSwThermalSlowdown : 0u;
}

}  // namespace ergometer::physics
