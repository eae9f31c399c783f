#pragma once

#include <vector>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// Bytes that cross the links inside the scale-up domains and the NICs in one step, each counted
/// once at its sender; rates per GPU inside, per NIC outside, one direction. The peak is the
/// highest mean rate of any single operator. Of a network without a tree of switches also a row a
/// dimension, of its fullest link.
std::vector<run::Link> link_use(const EngineInput& input, double step_s);

}  // namespace ergometer::engine
