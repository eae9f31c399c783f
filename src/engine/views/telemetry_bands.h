#pragma once

#include <span>
#include <vector>

#include "engine/power/fleet.h"
#include "run/run.h"

namespace ergometer::engine {

/// How readings taken at one moment are distributed over all ranks: lowest, 5 %, median, 95 %,
/// highest, each a value that a rank shows (the smallest that so many of all ranks do not exceed).
/// `gpus`: whose readings they are; those without a rank are left out.
void add_bands(std::span<const run::Telemetry> readings, std::span<const size_t> gpus,
               const Fleet& fleet, std::vector<run::TelemetryBand>& bands);

/// By metric, then time.
void sort_bands(std::vector<run::TelemetryBand>& bands);

}  // namespace ergometer::engine
