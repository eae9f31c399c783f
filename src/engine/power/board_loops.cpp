#include "engine/power/board_loops.h"

#include "base/widths.h"
#include "engine/power/governed_step.h"

namespace ergometer::engine::board_loops {

namespace {

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

ERGOMETER_WIDTHS void set_power(const physics::GpuPower& given, const Working& gpus,
                                const double* __restrict v, double* __restrict watts,
                                double* __restrict active_w, double* __restrict memory_w) {
  const physics::GpuPower kind = given;
  const Working in = gpus;
  for (size_t i = 0; i < in.count; ++i) {
    const physics::Load load{
        .core_w = in.load_core_w[i], .memory_w = in.load_memory_w[i], .link_w = in.load_link_w[i]};
    watts[i] = kind.power_at(v[i], in.clock_hz[i], in.leakage_w[i], load);
    active_w[i] = kind.active_w * v[i] * v[i] * in.clock_hz[i] / kind.clocks.highest_hz;
    memory_w[i] = kind.memory_heat_w(load);
  }
}

ERGOMETER_WIDTHS void set_core(size_t n, const double* __restrict load_core_w,
                               double* __restrict v_then_w) {
  for (size_t i = 0; i < n; ++i) v_then_w[i] = load_core_w[i] * v_then_w[i] * v_then_w[i];
}

ERGOMETER_WIDTHS void add_times(size_t n, double dt_s, double base_hz, double highest_hz,
                                const double* __restrict clock_hz,
                                const double* __restrict clocked_s, const double* __restrict rest_s,
                                double* __restrict clock_sum_s, double* __restrict work_s,
                                double* __restrict slowed_s) {
  for (size_t i = 0; i < n; ++i) {
    clock_sum_s[i] += clock_hz[i] * dt_s;
    work_s[i] += clocked_s[i];
    // The clock that slows the clocked work as much as this one slows all of it.
    slowed_s[i] += clocked_s[i] * base_hz / clock_hz[i] +
                   rest_s[i] * (slowdown(0, base_hz, clock_hz[i], highest_hz) - 1);
  }
}

}  // namespace

void draw(const physics::GpuPower& kind, const Working& gpus, const Drawn& drawn) {
  double* const v = drawn.core_w;  // until the core's power takes its place
  set_lines(kind.voltage, gpus.count, gpus.clock_hz, v);
  set_voltages(kind.voltage, gpus.count, gpus.clock_hz, gpus.voltage, v);
  set_power(kind, gpus, v, drawn.watts, drawn.active_w, drawn.memory_w);
  set_core(gpus.count, gpus.load_core_w, v);
}

void count(double dt_s, double base_hz, double highest_hz, const Counted& gpus) {
  add_times(gpus.count, dt_s, base_hz, highest_hz, gpus.clock_hz, gpus.clocked_s, gpus.rest_s,
            gpus.clock_sum_s, gpus.work_s, gpus.slowed_s);
}

}  // namespace ergometer::engine::board_loops
