#pragma once

#include <cstdint>
#include <vector>

#include "physics/gpu_power.h"

namespace ergometer::physics {

/// How far GPUs of a kind differ, standard deviations: assumed, so that clocks under one cap at one
/// temperature spread by 1 to 2 % (docs/models/clocks.md), unless a recording told
/// (docs/guide/twin.md).
struct SiliconSpread {
  double leakage = 0.15;   ///< of its logarithm
  double voltage = 0.015;  ///< of the relative voltage
  double thermal_resistance = 0.08;
  double sensor_gain = 0.025;
};

/// What the GPU's parameters say of it ("spread.leakage", ...), else as assumed.
SiliconSpread silicon_spread(const spec::Gpu& gpu);

/// The silicon of GPUs `0 .. gpus-1` for a seed: every draw depends on seed and GPU number alone,
/// so a larger cluster holds the smaller one. Normal draws are cut at three deviations. Seed 0:
/// all nominal.
std::vector<Silicon> draw_silicon(uint64_t seed, int64_t gpus, const SiliconSpread& spread = {});

}  // namespace ergometer::physics
