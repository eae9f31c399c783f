#pragma once

#include <vector>

#include "run/gpu_trace.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// Gives the operators of a profiler's traces, where they lack them, the shapes and types that an
/// execution trace of the same rank noted. The same operator is the one of that name with the same
/// record function id (`rf_id`), else with the same sequence number, where both files have only one
/// such. Files of which no operator is the same by its ids are of different steps: then, of names
/// that both have equally often, the first is the first and so on. Counts in `WorkGraph::linked`.
void link_operators(std::vector<run::RankTrace>& ranks, std::vector<run::WorkGraph>& graphs);

}  // namespace ergometer::importer
