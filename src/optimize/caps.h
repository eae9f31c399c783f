#pragma once

#include <vector>

#include "optimize/candidate.h"

namespace ergometer::optimize {

/// Power caps that differ by GPU. Where the user capped the GPUs or the cluster, watts move from
/// GPUs that wait to those that are waited for, their sum as it is. Without such a cap, and for
/// less energy, power or heat, lower caps: for all, and for GPUs that wait only.
std::vector<Candidate> propose_caps(const Played& played, Objective objective);

/// A cap or a lock of one GPU instead of what the job said of it before.
void set_override(spec::Job& job, int64_t gpu, spec::OverrideKind kind, double value);

}  // namespace ergometer::optimize
