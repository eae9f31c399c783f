#include "engine/power/board_loops.h"

#include <cmath>

#include "base/widths.h"
#include "engine/power/governed_step.h"
#include "physics/governor.h"

namespace ergometer::engine::board_loops {

namespace {

ERGOMETER_INLINE double lower(double a, double b) { return b < a ? b : a; }

ERGOMETER_WIDTHS void see_each(const Seeing& given, double* __restrict cap_w,
                               double* __restrict core_w, double* __restrict steady_w,
                               double* __restrict share, double* __restrict at_hz) {
  const Seeing in = given;
  const bool follows = in.reference_hz > 0;
  for (size_t i = 0; i < in.count; ++i) {
    const int32_t row = in.role[i] + 1;
    at_hz[i] = in.rises[row] != 0 ? in.recent_hz[i] : in.whole_hz[i];
    share[i] = lower(1, (follows ? in.reference_hz / at_hz[i] : 1) * in.clocked_s[row]);
    core_w[i] = in.core_w[row];
    steady_w[i] = in.steady_w[row];
    cap_w[i] = in.cap_w[i] - in.trim_w[i];
  }
}

ERGOMETER_WIDTHS size_t take_each(double highest_hz, const Deciding& given,
                                  double* __restrict clock_hz, double* __restrict reached_hz,
                                  uint32_t* __restrict reasons) {
  const Deciding in = given;
  size_t others = 0;
  for (size_t i = 0; i < in.count; ++i) {
    const double decided_hz = in.decided_hz[i];
    clock_hz[i] = decided_hz;
    reached_hz[i] = decided_hz * in.speed[i];
    const uint32_t at_ceiling =
        in.ceiling_hz[i] < highest_hz ? uint32_t{physics::kApplicationsClocksSetting} : 0;
    reasons[i] = decided_hz < in.ceiling_hz[i] ? uint32_t{physics::kSwPowerCap} : at_ceiling;
    others += ((in.special[i] != 0) | (decided_hz <= 0)) ? 1 : 0;
  }
  return others;
}

/// Side by side: a minimum that waits for the one before it is no vector's.
ERGOMETER_WIDTHS double least_each(const double* values, size_t count) {
  constexpr size_t kLanes = 8;
  double least[kLanes];
  for (double& value : least) value = INFINITY;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) least[l] = lower(least[l], values[i + l]);
  for (; i < count; ++i) least[0] = lower(least[0], values[i]);
  for (const double value : least) least[0] = lower(least[0], value);
  return least[0];
}

// A division that may be left out is no vector's: the line first, then where it holds.
ERGOMETER_WIDTHS void set_lines(const physics::VoltageCurve& given, size_t n,
                                const double* __restrict clock_hz, double* __restrict line) {
  const physics::VoltageCurve curve = given;
  for (size_t i = 0; i < n; ++i) line[i] = curve.line_at(clock_hz[i]);
}

ERGOMETER_WIDTHS void set_voltages(const physics::VoltageCurve& given, size_t n,
                                   const double* __restrict clock_hz,
                                   const double* __restrict of_silicon, double* __restrict v) {
  const physics::VoltageCurve curve = given;
  for (size_t i = 0; i < n; ++i) v[i] = curve.of_line(v[i], clock_hz[i]) + of_silicon[i];
}

ERGOMETER_WIDTHS size_t set_power(const physics::GpuPower& given, const Working& gpus,
                                  double most_w, const double* __restrict v,
                                  double* __restrict watts) {
  const physics::GpuPower kind = given;
  const Working in = gpus;
  size_t others = 0;
  for (size_t i = 0; i < in.count; ++i) {
    const physics::Load& load = in.loads[in.role[i] + 1];
    watts[i] =
        kind.power_at(v[i], in.clock_hz[i], in.leakage_w[i],
                      {.core_w = load.core_w, .memory_w = load.memory_w, .link_w = load.link_w});
    others += ((in.role[i] < 0) | (watts[i] > most_w)) ? 1 : 0;
  }
  return others;
}

ERGOMETER_WIDTHS void split_each(const Splitting& given, double* __restrict die_w,
                                 double* __restrict memory_w) {
  const Splitting in = given;
  for (size_t i = 0; i < in.count; ++i) {
    memory_w[i] = in.row_memory_w[in.role[i] + 1];
    die_w[i] = in.watts[i] - memory_w[i];
  }
}

ERGOMETER_WIDTHS void trim_each(const Trimming& given_how, const Limiting& given,
                                double* __restrict trim_w) {
  const Trimming how = given_how;
  const Limiting in = given;
  for (size_t i = 0; i < in.count; ++i) {
    const double beyond_w = in.watts[i] - in.burnt_w[i] - how.held * in.cap_w[i];
    const double wanted_w = trim_w[i] + beyond_w * how.part, least_w = how.least * in.cap_w[i];
    trim_w[i] = lower(how.most * in.cap_w[i], wanted_w < least_w ? least_w : wanted_w);
  }
}

ERGOMETER_WIDTHS size_t hot_ones(double die_c, double memory_c, const Limiting& given) {
  const Limiting in = given;
  size_t hot = 0;
  for (size_t i = 0; i < in.count; ++i)
    hot += ((in.die_c[i] >= die_c) | (in.memory_c[i] >= memory_c) |
            ((in.special[i] & kHeldByHeat) != 0))
               ? 1
               : 0;
  return hot;
}

ERGOMETER_WIDTHS void remember_each(const Remembering& given, double* __restrict whole_hz,
                                    double* __restrict recent_hz) {
  const Remembering in = given;
  for (size_t i = 0; i < in.count; ++i) {
    whole_hz[i] += (in.clock_hz[i] - in.oldest_hz[i]) / in.whole_ticks;
    recent_hz[i] += (in.clock_hz[i] - in.leaving_hz[i]) / in.recent_ticks;
  }
}

ERGOMETER_WIDTHS void add_times(double dt_s, double base_hz, double highest_hz,
                                const Counted& given, double* __restrict clock_sum_s,
                                double* __restrict slowed_s) {
  const Counted in = given;
  for (size_t i = 0; i < in.count; ++i) {
    const int32_t row = in.role[i] + 1;
    clock_sum_s[i] += in.clock_hz[i] * dt_s;
    // The clock that slows the clocked work as much as this one slows all of it.
    slowed_s[i] += in.clocked_s[row] * base_hz / in.clock_hz[i] +
                   in.rest_s[row] * (slowdown(0, base_hz, in.clock_hz[i], highest_hz) - 1);
  }
}

}  // namespace

void see(const Seeing& gpus, const SeenEach& seen) {
  see_each(gpus, seen.cap_w, seen.core_w, seen.steady_w, seen.clocked_share, seen.at_hz);
}

size_t take_decided(double highest_hz, const Deciding& gpus) {
  return take_each(highest_hz, gpus, gpus.clock_hz, gpus.reached_hz, gpus.reasons);
}

double least_of(const double* values, size_t count) { return least_each(values, count); }

size_t draw(const physics::GpuPower& kind, const Working& gpus, double most_w, double* watts,
            double* voltage) {
  set_lines(kind.voltage, gpus.count, gpus.clock_hz, voltage);
  set_voltages(kind.voltage, gpus.count, gpus.clock_hz, gpus.silicon, voltage);
  return set_power(kind, gpus, most_w, voltage, watts);
}

void split(const Splitting& gpus) { split_each(gpus, gpus.die_w, gpus.memory_w); }

void trim(const Trimming& how, const Limiting& gpus) { trim_each(how, gpus, gpus.trim_w); }

size_t count_hot(double quiet_die_c, double quiet_memory_c, const Limiting& gpus) {
  return hot_ones(quiet_die_c, quiet_memory_c, gpus);
}

void remember(const Remembering& gpus) { remember_each(gpus, gpus.whole_hz, gpus.recent_hz); }

void count(double dt_s, double base_hz, double highest_hz, const Counted& gpus) {
  add_times(dt_s, base_hz, highest_hz, gpus, gpus.clock_sum_s, gpus.slowed_s);
}

}  // namespace ergometer::engine::board_loops
