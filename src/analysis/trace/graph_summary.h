#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/work_graph.h"

namespace ergometer::analysis {

/// Nodes of one kind, on the CPU or off it.
struct GraphKindRow {
  run::WorkNode::Kind kind = run::WorkNode::Kind::kUnknown;
  bool cpu = false;
  int64_t count = 0;
  int64_t timed = 0, duration_ns = 0;        ///< those that say how long they take, and their sum
  int64_t operations = 0, tensor_bytes = 0;  ///< sums over those that say; the bytes of a caller
                                             ///< are those of what it called
};
std::string_view to_word(run::WorkNode::Kind kind);

/// Collectives of one name in one group; a node on the CPU that only launches one is none.
struct GraphCollectiveRow {
  std::string name, group;
  int64_t count = 0;
  int64_t known = 0, bytes = 0;  ///< those that say their bytes, and the sum
  int64_t timed = 0, duration_ns = 0;
};

struct GraphNameRow {
  std::string name;
  int64_t count = 0, operations = 0, tensor_bytes = 0;
};

/// What an execution graph holds, and whether it can be carried out.
///
/// The order is what data dependencies say, as in Chakra's own feeder: in graphs converted from
/// PyTorch, control dependencies are callers, and a caller waits for what it called. In a graph
/// without data dependencies, control dependencies are the order.
struct GraphSummary {
  int64_t rank = -1;
  std::string file, format;
  bool calls = false, truncated = false;
  int64_t nodes = 0, control_dependencies = 0, data_dependencies = 0;
  std::vector<GraphKindRow> kinds;              ///< in order of kind, off the CPU first
  std::vector<GraphCollectiveRow> collectives;  ///< those with the most bytes first
  std::vector<GraphNameRow> names;            ///< those with the most operations, then nodes, first
  int64_t operations = 0;                     ///< floating-point, of nodes that say
  int64_t storages = -1, storage_bytes = -1;  ///< as `WorkGraph`
  int64_t linked = -1;                        ///< the same

  int64_t duplicate_ids = 0;  ///< nodes whose id an earlier one has; dependencies mean the earlier
  int64_t missing = 0;        ///< dependencies of the order on ids that no node has
  uint64_t missing_id = 0;    ///< the first of them
  int64_t missing_other = 0;  ///< the same of dependencies that are not of the order
  int64_t roots = 0;          ///< nodes that wait for nothing
  int64_t unused_gpu = 0;     ///< nodes off the CPU that nothing waits for
  int64_t in_cycles = 0;      ///< nodes that can never start: in a cycle or behind one
  std::vector<uint64_t> cycle;         ///< ids of one cycle, each waiting for the next; at most 8
  int64_t in_cycles_with_control = 0;  ///< the same, were control dependencies of the order as well
  /// Longest chain of the order: in nodes and, of all chains the longest in time, by durations.
  /// Of a graph with cycles, over the nodes that can start.
  int64_t critical_path_nodes = 0, critical_path_ns = 0;
};

/// Takes time and memory in proportion to the graph.
GraphSummary summarize_graph(const run::WorkGraph& graph);
std::vector<GraphSummary> summarize_graphs(const std::vector<run::WorkGraph>& graphs);

}  // namespace ergometer::analysis
