#pragma once

#include <string>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// The one thing that limits the job, as a sentence: of everything a step could do without (bubble,
/// exposed communication, recomputation, memory-bound kernels, waiting for the host, the optimizer,
/// and the distance of the matrix kernels from the best rate the GPU sustains), what takes longest,
/// with its share of the step. `input`: as the step was played, at its clocks.
std::string limiter(const EngineInput& input, const Timeline& timeline,
                    const run::Performance& performance);

}  // namespace ergometer::engine
