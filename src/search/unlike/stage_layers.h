#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// What a stage takes for one micro batch: for each layer, and besides for the embedding or the
/// head; in seconds.
struct StageTime {
  double layer_s = 0, ends_s = 0;
};

/// `layers` divided over stages so that the longest is as short as can be, at least one each and
/// none above its `most`. Empty: they do not fit.
std::vector<int64_t> divide_layers(int64_t layers, std::span<const StageTime> times,
                                   std::span<const int64_t> most);

/// Layers of every stage by the seconds that its slowest GPUs take for one, by the engine's prices,
/// and by what memory holds. Empty: they do not fit. For jobs of one chunk a stage.
Result<std::vector<int64_t>> layers_by_speed_and_memory(const spec::Job& job);

}  // namespace ergometer::search
