#pragma once

#include <cstddef>
#include <cstdint>

#include "physics/gpu_power.h"

namespace ergometer::engine::board_loops {

// What a tick does for every GPU alike: loops over arrays of one number a GPU, for vectors. What
// all GPUs of a role have in common stands in tables, the GPUs' rows of which are `role + 1`: the
// first is that of GPUs without a rank.

/// What sets a GPU apart from those that are decided together.
enum Special : uint8_t {
  kNoRank = 1,
  kBraked = 2,
  kHeldByHeat = 4,  ///< its thermal governor is not at rest
};

/// What governors go by: the load at relative voltage 1, the share of time that is clocked work at
/// the reference clock (0: work follows no clock), and the clocks of the whole window or, where
/// `rises` is not 0, of its last ticks.
struct Seeing {
  size_t count = 0;
  const int32_t* role = nullptr;
  double reference_hz = 0;
  const double *core_w = nullptr, *steady_w = nullptr, *clocked_s = nullptr, *rises = nullptr;
  const double *whole_hz = nullptr, *recent_hz = nullptr, *cap_w = nullptr, *trim_w = nullptr;
};
/// The same as `physics::Governed` has it.
struct SeenEach {
  double *cap_w = nullptr, *core_w = nullptr, *steady_w = nullptr;
  double *clocked_share = nullptr, *at_hz = nullptr;
};
void see(const Seeing& gpus, const SeenEach& seen);

/// What was decided for them together, and what of the clock a GPU reaches.
struct Deciding {
  size_t count = 0;
  const double *decided_hz = nullptr, *speed = nullptr, *ceiling_hz = nullptr;
  const uint8_t* special = nullptr;  ///< of `Special`
  double *clock_hz = nullptr, *reached_hz = nullptr;
  uint32_t* reasons = nullptr;
};
/// Takes it; returns for how many GPUs it does not count: the special ones, or a clock of 0.
size_t take_decided(double highest_hz, const Deciding& gpus);

/// The least of so many numbers.
double least_of(const double* values, size_t count);

/// GPUs at work: clocks, leakage at relative voltage 1, what silicon adds to the voltage, and loads
/// at relative voltage 1 by row.
struct Working {
  size_t count = 0;
  const int32_t* role = nullptr;
  const double *clock_hz = nullptr, *leakage_w = nullptr, *silicon = nullptr;
  const physics::Load* loads = nullptr;
};
/// Their power and relative voltage; returns how many draw more than `most_w` or have no rank.
size_t draw(const physics::GpuPower& kind, const Working& gpus, double most_w, double* watts,
            double* voltage);

/// Power by what it heats, the HBM's by row.
struct Splitting {
  size_t count = 0;
  const int32_t* role = nullptr;
  const double *watts = nullptr, *row_memory_w = nullptr;
  double *die_w = nullptr, *memory_w = nullptr;
};
void split(const Splitting& gpus);

/// Temperatures at the end of a tick, and power beyond what is held of the caps.
struct Limiting {
  size_t count = 0;
  const double *die_c = nullptr, *memory_c = nullptr;
  const uint8_t* special = nullptr;
  const double *watts = nullptr, *burnt_w = nullptr, *cap_w = nullptr;
  double* trim_w = nullptr;
};
/// How governors hold the mean: shares of the cap that it is held to, and between which its trim
/// stays; the part of what is beyond that a tick's trim takes.
struct Trimming {
  double held = 1, least = 0, most = 0, part = 0;
};
void trim(const Trimming& how, const Limiting& gpus);
/// How many heat holds, or are so hot that it may.
size_t count_hot(double quiet_die_c, double quiet_memory_c, const Limiting& gpus);

/// Means of clocks over the window and over its last ticks, as clocks come and go.
struct Remembering {
  size_t count = 0;
  /// The newest clocks; those that leave the last ticks; the oldest ones, which leave the window.
  const double *clock_hz = nullptr, *leaving_hz = nullptr, *oldest_hz = nullptr;
  double *whole_hz = nullptr, *recent_hz = nullptr;
  double whole_ticks = 1, recent_ticks = 1;
};
void remember(const Remembering& gpus);

/// The work of a tick at some clocks, seconds at the reference clock by row: what follows the
/// clock, and the rest.
struct Counted {
  size_t count = 0;
  const int32_t* role = nullptr;
  const double *clocked_s = nullptr, *rest_s = nullptr;
  const double* clock_hz = nullptr;
  double *clock_sum_s = nullptr, *slowed_s = nullptr;
};
/// Adds the tick: clocks times `dt_s`, and by how much longer work took.
void count(double dt_s, double base_hz, double highest_hz, const Counted& gpus);

}  // namespace ergometer::engine::board_loops
