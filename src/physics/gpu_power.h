#pragma once

#include <span>

#include "base/result.h"
#include "base/widths.h"
#include "physics/energy.h"
#include "spec/job/cluster.h"

namespace ergometer::physics {

/// Core voltage against core clock, relative to the voltage at the highest clock: constant up to
/// the knee, then a straight line up to 1.
struct VoltageCurve {
  double lowest = 1;  ///< relative voltage at and below the knee, in (0, 1]
  double knee_hz = 0;
  double highest_hz = 0;
  ERGOMETER_INLINE double line_at(double clock_hz) const {
    return lowest + (1 - lowest) * (clock_hz - knee_hz) / (highest_hz - knee_hz);
  }
  /// `line` is `line_at` of the clock.
  ERGOMETER_INLINE double of_line(double line, double clock_hz) const {
    const double below_top = clock_hz >= highest_hz ? 1 : line;
    return clock_hz <= knee_hz ? lowest : below_top;
  }
  double at(double clock_hz) const { return of_line(line_at(clock_hz), clock_hz); }
};

/// The clocks a GPU can run at: `lowest + n * step`, up to `highest`.
struct ClockLattice {
  double lowest_hz = 0, highest_hz = 0, step_hz = 0;
  /// Of a step, for a clock that went through MHz and back.
  static constexpr double kForgiven = 1e-6;
  /// The highest lattice clock not above `clock_hz`, at least the lowest.
  double floor(double clock_hz) const;
};

/// What makes one GPU differ from the next of its kind; 1 or 0: nominal. Drawn by
/// `physics/silicon.h`.
struct Silicon {
  double leakage = 1;             ///< factor on leakage
  double voltage = 0;             ///< added to the relative voltage
  double thermal_resistance = 1;  ///< factor on the resistance between die and spreader
  double sensor_gain = 1;         ///< what the power sensor shows of the true power

  bool operator==(const Silicon&) const = default;
};

/// Work over a stretch of time, as power at relative voltage 1.
struct Load {
  double core_w = 0;    ///< scales with voltage squared
  double memory_w = 0;  ///< HBM and its interface
  double link_w = 0;
  bool awake = true;  ///< kernels resident: the clock tree runs
};

/// Work whose joules are spread evenly over `seconds`.
inline Load load_of(const Energy& energy, double seconds) {
  return {.core_w = energy.core_j() / seconds,
          .memory_w = energy.memory_j / seconds,
          .link_w = energy.link_j / seconds,
          .awake = true};
}

/// Power of one GPU (a die of a two-die module by itself):
///
///   P = constant + leakage l v exp(k (T - T0)) + active v^2 f / f_top + core v^2 + memory + link
///
/// with v the relative voltage at clock f. Form: constant plus energy per bit and per FLOP (LBNL,
/// SC'25, doi 10.1145/3712285.3759815) with voltage and leakage (docs/models/power.md).
struct GpuPower {
  ClockLattice clocks;
  VoltageCurve voltage;
  double constant_w = 0;         ///< HBM refresh, interfaces, regulators
  double constant_memory_w = 0;  ///< the part of it that heats the HBM
  double leakage_w = 0;          ///< at v = 1 and leakage_c
  double leakage_c = 60;         ///< T0
  double leakage_per_k = 0;      ///< k
  double active_w = 0;           ///< clock tree and issue at the highest clock while awake
  double cap_w = 0, lowest_cap_w = 0, highest_cap_w = 0;  ///< default power limit and its range
  double held = 1;  ///< share of the limit in force that boards at it draw, in the mean
  /// What they draw for less than `held_over_s`, over the limit; at least `held`.
  double burst = 1;
  double held_over_s = 1;
  double idle_w = 0;  ///< reading with a context and no work, for reports
  /// The power that the driver reports: time between updates, and over which times its instant and
  /// its averaged reading are means. A period of 0: not known.
  double reading_period_s = 0, reading_instant_s = 0, reading_average_s = 0;
  double excursion = 1.5;  ///< fast limiter: power never exceeds this times the default cap
  /// Temperatures at which the driver begins to slow down, halves clocks, and turns off, C; the
  /// memory's limit, 0: unknown.
  double target_c = 0, slowdown_c = 0, shutdown_c = 0, memory_limit_c = 0;

  /// By how much less than its limit a board holds itself to in bursts, as a share of its limit: 0
  /// or less.
  double burst_trim() const { return 1 - burst / held; }
  double relative_voltage(double clock_hz, const Silicon& silicon) const {
    return voltage.at(clock_hz) + silicon.voltage;
  }
  /// Leakage at v = 1. It grows no further beyond the temperature at which the chip turns itself
  /// off (150 C where none is known, assumed): with it, a chip that cannot be cooled gets hot, not
  /// infinite.
  double leakage_at(double die_c, const Silicon& silicon) const;
  /// The same of many GPUs, one number each; `at_t0_w`: `leakage_w` times the silicon's factor.
  void leakages_at(std::span<const double> die_c, std::span<const double> at_t0_w,
                   std::span<double> leaking_w) const;
  double power_w(double clock_hz, double die_c, const Load& load, const Silicon& silicon) const {
    return power_leaking(clock_hz, leakage_at(die_c, silicon), load, silicon);
  }
  /// The same of a GPU that leaks `at_full_w` at v = 1.
  double power_leaking(double clock_hz, double at_full_w, const Load& load,
                       const Silicon& silicon) const {
    return power_at(relative_voltage(clock_hz, silicon), clock_hz, at_full_w, load);
  }
  /// And at a relative voltage.
  ERGOMETER_INLINE double power_at(double v, double clock_hz, double at_full_w,
                                   const Load& load) const {
    const double active = load.awake ? active_w * clock_hz / clocks.highest_hz : 0;
    return constant_w + at_full_w * v + (active + load.core_w) * (v * v) + load.memory_w +
           load.link_w;
  }
  /// The part of `power_w` that the HBM turns into heat.
  ERGOMETER_INLINE double memory_heat_w(const Load& load) const {
    return constant_memory_w + load.memory_w;
  }
};

/// Joules per unit of work, at the voltage of the highest clock.
struct EnergyPerWork {
  double tensor_fp32 = 0, tensor_fp16 = 0, tensor_fp8 = 0, tensor_fp4 = 0;  ///< J/FLOP
  double vector = 0;                                                        ///< J/FLOP
  double cache = 0, memory = 0, link = 0;                                   ///< J/B
  /// Share of tensor, cache and memory energy that depends on the operands' values.
  double data_share = 0;
};

/// From the catalog's parameters ("power.*", clocks, limits); a missing one is an input error that
/// names the GPU and the parameter.
Result<GpuPower> gpu_power(const spec::Gpu& gpu);
Result<EnergyPerWork> energy_per_work(const spec::Gpu& gpu);

}  // namespace ergometer::physics
