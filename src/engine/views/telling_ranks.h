#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/power/fleet.h"
#include "engine/views/power_record.h"

namespace ergometer::engine {

/// Ranks whose telemetry stands for that of all, in order: of every pipeline stage and row of the
/// chassis the one of median mean temperature (of more than 64 such groups those of stages evenly
/// among all), and of the job the hottest, the slowest by its mean clock, and the median one.
/// `gpus`: one a GPU of the fleet.
std::vector<int64_t> telling_ranks(const spec::Job& job, const Fleet& fleet,
                                   std::span<const GpuRecord> gpus);

}  // namespace ergometer::engine
