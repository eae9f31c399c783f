#pragma once

#include <cstdlib>

#include "analysis/tell.h"
#include "import/import.h"

// What holds of every file that is read as a graph or a pipeline, whatever it is.

inline void check(const ergometer::analysis::GraphSummary& graph) {
  if (graph.in_cycles < 0 || graph.in_cycles > graph.nodes) std::abort();
  if (graph.critical_path_nodes > graph.nodes - graph.in_cycles) std::abort();
  if ((graph.in_cycles > 0) == graph.cycle.empty()) std::abort();
  int64_t nodes = 0;
  for (const auto& row : graph.kinds) nodes += row.count;
  if (nodes != graph.nodes) std::abort();
}

inline void check(const ergometer::analysis::PipelineReport& pipeline) {
  if (!(pipeline.bubble_fraction >= 0 && pipeline.bubble_fraction <= 1)) std::abort();
  for (const auto& row : pipeline.rows)
    if (row.warm_up_s < 0 || row.steady_s < 0 || row.drain_s < 0 || row.wait_s < 0) std::abort();
}

/// Refused with a message, or a summary that adds up.
inline void check_file(const std::string& path) {
  auto recorded = ergometer::importer::read_recorded({path}, {}, 1);
  if (!recorded) {
    if (recorded.error().message.empty()) std::abort();
    return;
  }
  for (const auto& dropped : recorded->traces.dropped)
    if (dropped.count <= 0 || dropped.reason.empty()) std::abort();
  for (const auto& graph : ergometer::analysis::summarize_graphs(recorded->traces.graphs))
    check(graph);
  const auto told = ergometer::analysis::tell(recorded->traces.ranks, {});
  if (told.job.pipeline) check(*told.job.pipeline);
}
