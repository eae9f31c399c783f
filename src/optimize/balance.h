#pragma once

#include <string_view>
#include <vector>

#include "optimize/optimize.h"

namespace ergometer::optimize {

std::string_view to_word(Align align);
std::vector<Align> all_aligns();

/// What aligning is for: energy for `Align::kSlowest`, else time.
Objective objective_of(Align align);

/// How long every rank waits in a step for the slowest of those that do the same work, its stage's,
/// in seconds: what they compute more than it does.
std::vector<double> lead_times(const std::vector<run::Rank>& ranks);

/// Moves watts between GPUs until they no longer wait for each other: caps go up or down in
/// proportion to how far a rank's work is from the one it is aligned with, round after round, as an
/// operator would who reads lead times off a running job. Every draw of silicon is balanced anew.
/// An input error: the job has no power
/// data, or a cap of the cluster forbids to raise caps.
Result<Optimized> balance(const spec::Job& job, Align align, const Options& options);

}  // namespace ergometer::optimize
