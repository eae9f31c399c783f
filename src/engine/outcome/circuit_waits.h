#pragma once

#include "engine/time/timeline.h"

namespace ergometer::engine {

/// What all stages wait for circuits that are made beside the first one's compute stream, s a step:
/// what of their time its work does not hide until it sends, or joins them; at the reference clock.
/// Worked: circuits of 10 ms beside a first forward of 4 ms: 6 ms. Of that forward only its work
/// counts: what its GPU waits for its host meanwhile is taken for waiting for circuits too.
double circuit_waits_s(const EngineInput& input);

}  // namespace ergometer::engine
