#pragma once

#include <vector>

#include "optimize/candidate.h"

namespace ergometer::optimize {

/// The ranks of `played` on other GPUs. Blocks of tensor-parallel ranks change places: those that
/// work hardest with those in cooler or better places, inside a node first; whole nodes where the
/// user made nodes differ; on the `first` call also every stage in one row of slots across two
/// nodes, as far as the layout has such blocks.
std::vector<Candidate> propose_placement(const Played& played, bool first);

}  // namespace ergometer::optimize
