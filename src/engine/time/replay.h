#pragma once

#include <cstdint>
#include <vector>

#include "engine/time/timeline.h"

namespace ergometer::engine {

/// The spans of one rank, from its unmerged program and from the ends of the instructions that
/// depend on other ranks (collectives and receives, in issue order), which the sweep wrote down for
/// it.
std::vector<Span> replay(const EngineInput& input, size_t role, int64_t rank, double inverse_clock,
                         const std::vector<double>& ends_s);

}  // namespace ergometer::engine
