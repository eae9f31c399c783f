#pragma once

#include <optional>

#include "run/gpu_trace.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// What a graph recorded with times tells of its rank's GPU: an event for every node off the CPU
/// that has a start and a duration, an operator for every such on it. Nothing when there is no such
/// event.
std::optional<run::RankTrace> trace_of(const run::WorkGraph& graph);

}  // namespace ergometer::importer
