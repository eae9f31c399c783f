#pragma once

#include <cstddef>

#include "physics/gpu_power.h"

namespace ergometer::engine::board_loops {

// What a tick does for every GPU alike: loops over arrays of one number a GPU, for vectors.

/// GPUs at work: clocks, leakage at relative voltage 1, what silicon adds to the voltage, and loads
/// at relative voltage 1.
struct Working {
  size_t count = 0;
  const double *clock_hz = nullptr, *leakage_w = nullptr, *voltage = nullptr;
  const double *load_core_w = nullptr, *load_memory_w = nullptr, *load_link_w = nullptr;
};
/// What they draw, and of it the core's work, the clock tree and the memory's heat.
struct Drawn {
  double *watts = nullptr, *core_w = nullptr, *active_w = nullptr, *memory_w = nullptr;
};
void draw(const physics::GpuPower& kind, const Working& gpus, const Drawn& drawn);

/// The work of a tick at some clocks, seconds at the reference clock: what follows the clock, the
/// rest, and of both, by how much longer they took.
struct Counted {
  size_t count = 0;
  const double *clock_hz = nullptr, *clocked_s = nullptr, *rest_s = nullptr;
  double *clock_sum_s = nullptr, *work_s = nullptr, *slowed_s = nullptr;
};
/// Adds the tick to the sums; `clock_sum_s`: clocks times `dt_s`.
void count(double dt_s, double base_hz, double highest_hz, const Counted& gpus);

}  // namespace ergometer::engine::board_loops
