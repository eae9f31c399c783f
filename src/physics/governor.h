#pragma once

#include <cstdint>

#include "physics/gpu_power.h"

namespace ergometer::physics {

/// NVML's clock event reasons (nvmlClocksEventReasons), by their bits.
enum EventReason : uint32_t {
  kGpuIdle = 0x1,
  kApplicationsClocksSetting = 0x2,  ///< a locked clock
  kSwPowerCap = 0x4,
  kHwSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSwThermalSlowdown = 0x20,
  kHwThermalSlowdown = 0x40,
  kHwPowerBrake = 0x80,
};
/// The reasons that count as throttling: power and temperature, not the user's own settings.
inline constexpr uint32_t kThrottleReasons =
    kSwPowerCap | kHwSlowdown | kSwThermalSlowdown | kHwThermalSlowdown | kHwPowerBrake;

/// What one GPU is told: by its user, by the facility, by a fault.
struct ClockLimits {
  double cap_w = 0;    ///< power limit in force
  double lock_hz = 0;  ///< locked clock; 0: none
  bool brake = false;  ///< external power brake: lowest clock

  /// The highest clock that a lock leaves.
  double ceiling_hz(const ClockLattice& clocks) const {
    return lock_hz > 0 ? clocks.floor(lock_hz) : clocks.highest_hz;
  }
  bool operator==(const ClockLimits&) const = default;
};

struct ClockDecision {
  double clock_hz = 0;
  uint32_t reasons = 0;  ///< EventReason bits; 0: runs at its highest clock
};

/// How work answers the clock: while the window lasts `dt`, `clocked_share` of it is compute whose
/// speed follows the clock, so at clock f the same work takes
/// `dt (1 - clocked_share + clocked_share * at_hz / f)`. 0: the window's length does not depend on
/// this GPU (it waits for slower ones).
struct Response {
  double clocked_share = 0;
  double at_hz = 0;  ///< the clock at which the load was found
};

/// The load at clock `clock_hz`, given what it is at `response.at_hz`: the same work over more or
/// less time.
Load load_at(const Load& load, const Response& response, double clock_hz);

/// The highest lattice clock, at most `limits` and `thermal_hz` allow, whose power over the
/// governor's window stays within what boards hold of the cap; the lowest clock when none does.
/// `thermal_hz`: the ceiling of the thermal governor, 0: none. Reasons name what holds the clock
/// where it is. A cap of 0 is the GPU's default. Under 30 ns.
ClockDecision decide_clock(const GpuPower& gpu, const Silicon& silicon, const ClockLimits& limits,
                           double die_c, const Load& load, const Response& response,
                           double thermal_hz);
/// The same of a GPU that leaks `leakage_w` at relative voltage 1: at one temperature for several
/// decisions.
ClockDecision decide_clock_leaking(const GpuPower& gpu, const Silicon& silicon,
                                   const ClockLimits& limits, double leakage_w, const Load& load,
                                   const Response& response, double thermal_hz);

/// Governors of up to `kMost` GPUs of one kind, one number a GPU: what `decide_clock_leaking` is
/// told of each.
struct Governed {
  static constexpr size_t kMost = 256;
  size_t count = 0;
  const double *leakage_w = nullptr, *voltage = nullptr;  ///< the latter as `Silicon` has it
  const double* cap_w = nullptr;                          ///< in force
  const double *core_w = nullptr, *steady_w = nullptr;    ///< the load; steady: memory and links
  /// The response; clocks above 0, where it is also begun to look.
  const double *clocked_share = nullptr, *at_hz = nullptr;
  const double* ceiling_hz = nullptr;  ///< clocks of the lattice: `ClockLimits::ceiling_hz`
};
/// What `decide_clock_leaking` finds for GPUs that are awake and that neither brakes nor heat hold.
/// 0: not found, as one that even the lowest clock takes beyond its cap; it has to be looked at
/// alone.
void decide_each(const GpuPower& gpu, const Governed& boards, double* clock_hz);

/// The periods in which governors act, as time passes.
struct GovernorPeriods {
  double period_s = 0.1;
  double since_s = 0;  ///< since the last one ended, below one period
  /// The whole periods that end in `dt_s`.
  double pass(double dt_s);
};

/// The thermal governor's ceiling: one lattice step down a period while die or HBM is at its limit,
/// one up while it is `hysteresis_c` below; at the slowdown temperature the clock is halved until
/// 5 C below it.
struct ThermalGovernor {
  double hysteresis_c = 2;
  double ceiling_hz = 0;  ///< 0: not limiting
  bool halved = false;
  bool shut_down = false;
  /// The slowdown ends this far below its temperature.
  static constexpr double kHalvedHysteresisC = 5;
  /// Whether it has nothing to do at temperatures below all limits.
  bool is_at_rest() const { return ceiling_hz <= 0 && !halved && !shut_down; }
  /// Advances by a stretch of time in which so many periods end, with temperatures held;
  /// `clock_hz` is the clock in force.
  void advance(const GpuPower& gpu, double periods, double die_c, double memory_c, double clock_hz);
  /// A software ceiling, or the hardware's halving; the ceiling may lie above the clock that the
  /// power cap allows.
  uint32_t reasons() const;
};
/// Of a die and of its memory: the temperatures below which nothing limits. 0 in the parameters: no
/// limit.
struct QuietBelow {
  double die_c = 0, memory_c = 0;
  explicit QuietBelow(const GpuPower& gpu);
};

}  // namespace ergometer::physics
