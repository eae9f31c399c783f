#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::search {

/// The ways to put the ranks of a job on the kinds of its nodes, as rank maps, of which no two give
/// the replicas' stages the same kinds; the first is empty, ranks in order. Kinds come in every
/// order, up to four of them; on these either stages lie one after the other, each with all of its
/// replicas, or replicas, each with all of its stages.
std::vector<std::vector<int64_t>> placements_of(const spec::Job& job);

}  // namespace ergometer::search
