#include "import/trace/graph_trace.h"

#include <algorithm>

#include "import/text/decimal.h"
#include "import/text/name_index.h"

namespace ergometer::importer {
namespace {

using NodeKind = run::WorkNode::Kind;

bool is_communication(NodeKind kind, std::string_view name) {
  return kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive ||
         name.find("nccl") != std::string_view::npos || name.find("rccl") != std::string_view::npos;
}

run::GpuClass class_of(NodeKind kind, std::string_view name) {
  if (is_communication(kind, name)) return run::GpuClass::kCommunication;
  const bool copies = kind == NodeKind::kMemoryLoad || kind == NodeKind::kMemoryStore ||
                      name.starts_with("Memcpy") || name.starts_with("Memset");
  return copies ? run::GpuClass::kMemory : run::GpuClass::kCompute;
}

uint32_t add_collective(const run::WorkGraph& graph, const run::WorkNode& node,
                        run::RankTrace& trace) {
  if (node.collective == run::WorkNode::kNone) return run::GpuEvent::kNone;
  run::Collective collective;
  collective.name = graph.names[node.collective];
  if (node.group != run::WorkNode::kNone) collective.group = graph.names[node.group];
  if (node.communication_bytes >= 0) {
    collective.dtype = "Byte";
    collective.in_elements = node.communication_bytes;
  }
  trace.collectives.push_back(std::move(collective));
  return static_cast<uint32_t>(trace.collectives.size() - 1);
}

}  // namespace

std::optional<run::RankTrace> trace_of(const run::WorkGraph& graph) {
  run::RankTrace trace;
  NameIndex names(trace.names);
  for (const run::WorkNode& node : graph.nodes) {
    if (node.start_ns < 0 || node.duration_ns < 0) continue;
    const std::string& name = graph.names[node.name];
    if (node.cpu) {
      trace.operators.push_back({.name = names.add(name),
                                 .thread = node.thread,
                                 .start_ns = node.start_ns,
                                 .duration_ns = node.duration_ns});
    } else if (node.kind != NodeKind::kMetadata) {
      const bool stream_fits = node.thread <= INT32_MAX;
      trace.events.push_back({.start_ns = node.start_ns,
                              .duration_ns = node.duration_ns,
                              .name = names.add(name),
                              .collective = add_collective(graph, node, trace),
                              .stream = stream_fits ? static_cast<int32_t>(node.thread) : -1,
                              .kind = class_of(node.kind, name)});
    }
  }
  if (trace.events.empty()) return std::nullopt;
  std::ranges::stable_sort(trace.operators,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  trace.rank = graph.rank;
  trace.file = graph.file;
  trace.truncated = graph.truncated;
  return trace;
}

}  // namespace ergometer::importer
