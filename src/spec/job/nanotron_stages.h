#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// How nanotron divides a model over pipeline stages, for `Parallelism::stage_layers`: blocks in
/// order (embedding, layers, head) go to a stage until its share of the compute cost is used up.
/// The first stages get more layers, the last few or none, for the head counts as the layers it
/// costs. Releases before its pipeline fix moved on only when the share was exceeded, later ones
/// when it is reached.
std::vector<int64_t> nanotron_stage_layers(const Job& job, bool before_fix);

}  // namespace ergometer::spec
