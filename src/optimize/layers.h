#pragma once

#include <string>
#include <vector>

#include "optimize/candidate.h"

namespace ergometer::optimize {

/// What a candidate is called whose layers are divided as the job's.
std::string layers_name(const spec::Job& job);

/// The division of `played` with one layer moved from a stage that works long to one that works
/// short, the likeliest moves first; on the `first` call also the equal split and those that give
/// every other stage one layer more, as the study's thermal-aware splits do.
std::vector<Candidate> propose_layers(const Played& played, bool first);

/// As little recomputation as memory allows: the same number of layers on every stage, as one
/// Megatron-LM argument says it, and a number for each stage. Nothing when the job does not
/// recompute in full.
std::vector<Candidate> propose_recomputation(const spec::Job& job);

/// The job with the fewest layers recomputed on each stage that leave `kMemoryMargin` free.
constexpr double kMemoryMargin = 0.08;

}  // namespace ergometer::optimize
