#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/text/name_index.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// What a node's attribute holds; a whole number, a text or a list, whichever its type is.
struct ChakraAttribute {
  std::string_view name, text;
  std::optional<int64_t> number;
  std::vector<int64_t> list;
};

/// One node on its way from a file to a graph.
struct ChakraNode {
  run::WorkNode node;
  std::string name;
  std::vector<uint64_t> control, data;
};

/// Puts a Chakra graph together, node by node.
class GraphBuilder {
 public:
  GraphBuilder() : names_(graph_.names) {}

  /// Takes the attributes that say something here: is_cpu_op, comm_type, comm_size, pg_name,
  /// involved_dim, num_ops, tensor_size, tid, stream, runtime.
  void take(const ChakraAttribute& attribute, run::WorkNode& node);
  /// Whole microseconds of the file; a time beyond kLargestTime is left out and counted.
  void take_time(uint64_t microseconds, int64_t& nanoseconds);
  void add(const ChakraNode& node);

  run::WorkGraph& graph() { return graph_; }
  run::WorkGraph finish(const std::string& file);

 private:
  run::WorkGraph graph_;
  NameIndex names_;
  int64_t bad_times_ = 0;
};

/// "COMP_NODE" and the like; kUnknown for other words.
run::WorkNode::Kind chakra_kind(std::string_view word);
/// The number that the schema gives a kind; kUnknown for others.
run::WorkNode::Kind chakra_kind(int64_t number);

}  // namespace ergometer::importer
