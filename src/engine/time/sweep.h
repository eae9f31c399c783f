#pragma once

#include <span>

#include "engine/time/layout.h"
#include "engine/time/timeline.h"

namespace ergometer::engine {

/// The sweep, with the order in which roles are tried given, a permutation: it must not change the
/// result, and tests hold it to that.
Timeline sweep_ranks(const EngineInput& input, const RankLayout& layout,
                     std::span<const size_t> order = {});

}  // namespace ergometer::engine
