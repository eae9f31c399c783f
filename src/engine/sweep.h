#pragma once

#include <span>

#include "engine/layout.h"
#include "engine/timeline.h"

namespace ergometer::engine {

/// The sweep over ranks laid out otherwise than the job's: with `RankLayout::representative()` one
/// rank stands for each role, and ranks, clocks and samples are numbered by role. `order` is the
/// order in which roles are tried, a permutation; it must not change the result.
Timeline sweep_ranks(const EngineInput& input, const RankLayout& layout,
                     std::span<const size_t> order = {});

}  // namespace ergometer::engine
