#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/simulate.h"
#include "run/run.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {

/// Kernels of a Run or report by default: a few megabytes of file.
inline constexpr size_t kMostKernels = 30'000;

/// The first rank of every pipeline stage: together they show the whole schedule.
std::vector<int64_t> first_of_every_stage(const spec::Job& job);

/// What a Run holds for reports beside its summary. `sampled_telemetry`: of sampled ranks alone.
void add_detail(const spec::Job& job, bool sampled_telemetry, engine::SimulateOptions& options);

/// The job as a Run with all that a report shows.
Result<run::Run> whole_run(const spec::Job& job);

}  // namespace ergometer::cli
