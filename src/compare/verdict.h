#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "run/run.h"

namespace ergometer::compare {

/// The breakdown's parts of both sides, in the contract's order and under its names.
std::vector<Quantity> parts_of(const run::Breakdown& a, const run::Breakdown& b);

/// "memory_bandwidth 4.8 TB/s -> 3.35 TB/s, ... and 3 more".
std::string in_words(const std::vector<Difference>& differences);

/// The cause with the largest share of the step time's difference first; equals keep their order.
void rank_causes(Comparison& comparison);

/// How much longer B takes, and whether both predictions' intervals allow that it does not; then
/// what one would do about it: the cause that costs the slower side most, and what would be the
/// next to change.
std::string verdict_of(const Comparison& comparison);

}  // namespace ergometer::compare
