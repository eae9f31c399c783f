#pragma once

#include <string>
#include <vector>

#include "analysis/trace/graph_summary.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// Execution graphs for a terminal: a line each, what is wrong with them, and of the first what it
/// holds.
std::string graphs_text(const std::vector<analysis::GraphSummary>& graphs, const TextStyle& style);

/// The member "graphs" of a document.
void write_graphs(base::JsonWriter& json, const std::vector<analysis::GraphSummary>& graphs);

}  // namespace ergometer::report
