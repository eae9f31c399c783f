#include "import/chakra/node_builder.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "import/text/decimal.h"
#include "import/text/rank_name.h"

namespace ergometer::importer {
namespace {

using NodeKind = run::WorkNode::Kind;

// Numbers of NodeType and CollectiveCommType: et_def.proto of mlcommons/chakra.
constexpr std::array<std::string_view, 8> kKinds = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr std::array<std::string_view, 10> kCollectives = {
    "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
    "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};

std::string collective_name(const ChakraAttribute& attribute) {
  if (!attribute.text.empty()) return base::lower(attribute.text);
  const int64_t number = attribute.number.value_or(-1);
  if (number < 0 || number >= static_cast<int64_t>(kCollectives.size())) return "unknown";
  return std::string(kCollectives[static_cast<size_t>(number)]);
}

/// "dimensions 0, 2" of a mask over the network's dimensions.
std::string dimensions(const std::vector<int64_t>& mask) {
  std::string text;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text.empty() ? text : "dimensions " + text;
}

void set_if_known(const std::optional<int64_t>& number, int64_t& value) {
  if (number && *number >= 0) value = *number;
}

}  // namespace

NodeKind chakra_kind(int64_t number) {
  return number > 0 && number < static_cast<int64_t>(kKinds.size()) ? static_cast<NodeKind>(number)
                                                                    : NodeKind::kUnknown;
}

NodeKind chakra_kind(std::string_view word) {
  const auto found = std::ranges::find(kKinds, word);
  return found == kKinds.end() ? NodeKind::kUnknown : chakra_kind(found - kKinds.begin());
}

void GraphBuilder::take(const ChakraAttribute& attribute, run::WorkNode& node) {
  const std::string_view name = attribute.name;
  if (name == "is_cpu_op") {
    node.cpu = attribute.number.value_or(0) != 0;
  } else if (name == "comm_type") {
    node.collective = names_.add(collective_name(attribute));
  } else if (name == "comm_size") {
    set_if_known(attribute.number, node.communication_bytes);
  } else if (name == "num_ops") {
    set_if_known(attribute.number, node.operations);
  } else if (name == "tensor_size") {
    set_if_known(attribute.number, node.tensor_bytes);
  } else if (name == "tid" || name == "stream") {
    set_if_known(attribute.number, node.thread);
  } else if (name == "runtime") {
    if (attribute.number && *attribute.number >= 0)
      take_time(static_cast<uint64_t>(*attribute.number), node.duration_ns);
  } else if (name == "pg_name") {
    if (!attribute.text.empty()) node.group = names_.add(attribute.text);
  } else if (name == "involved_dim" && node.group == run::WorkNode::kNone) {
    const std::string text = dimensions(attribute.list);
    if (!text.empty()) node.group = names_.add(text);
  }
}

void GraphBuilder::take_time(uint64_t microseconds, int64_t& nanoseconds) {
  constexpr uint64_t kNsPerUs = 1000;
  if (microseconds > static_cast<uint64_t>(kLargestTime) / kNsPerUs)
    ++bad_times_;
  else
    nanoseconds = static_cast<int64_t>(microseconds * kNsPerUs);
}

void GraphBuilder::add(const ChakraNode& from) {
  run::WorkNode node = from.node;
  node.name = names_.add(from.name);
  node.first_dependency = static_cast<uint32_t>(graph_.dependencies.size());
  node.control_dependencies = static_cast<uint32_t>(from.control.size());
  node.data_dependencies = static_cast<uint32_t>(from.data.size());
  auto& all = graph_.dependencies;
  all.insert(all.end(), from.control.begin(), from.control.end());
  all.insert(all.end(), from.data.begin(), from.data.end());
  graph_.nodes.push_back(node);
}

run::WorkGraph GraphBuilder::finish(const std::string& file) {
  graph_.file = file;
  graph_.rank = rank_in_name(file).value_or(-1);
  if (bad_times_ > 0)
    graph_.dropped.push_back({file, "a time that does not fit 64 bits of nanoseconds", bad_times_});
  if (graph_.truncated) graph_.dropped.push_back({file, "node cut off at the end of the file", 1});
  return std::move(graph_);
}

}  // namespace ergometer::importer
