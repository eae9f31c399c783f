#include "analysis/trace/graph_summary.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "analysis/math/sum.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

using NodeKind = run::WorkNode::Kind;
using run::WorkNode;

void add_known(int64_t& sum, int64_t value) {
  if (value >= 0) add_time(sum, value);
}

/// Which node has an id: of several, the first.
class IdIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit IdIndex(const std::vector<WorkNode>& nodes) {
    entries_.reserve(nodes.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) entries_.push_back({nodes[i].id, i});
    if (!std::ranges::is_sorted(entries_)) std::ranges::sort(entries_);
  }
  uint32_t find(uint64_t id) const {
    const auto found =
        std::lower_bound(entries_.begin(), entries_.end(), std::pair{id, uint32_t{0}});
    return found == entries_.end() || found->first != id ? kNone : found->second;
  }
  int64_t duplicates() const {
    int64_t count = 0;
    for (size_t i = 1; i < entries_.size(); ++i)
      count += entries_[i].first == entries_[i - 1].first ? 1 : 0;
    return count;
  }

 private:
  std::vector<std::pair<uint64_t, uint32_t>> entries_;
};

/// Every node's dependencies as positions, one node's behind the other's.
struct Edges {
  std::vector<uint32_t> to;   ///< the node that is waited for
  std::vector<size_t> first;  ///< of a node, into `to`; one more at the end
  std::span<const uint32_t> of(size_t node) const {
    return {to.data() + first[node], first[node + 1] - first[node]};
  }
};

/// Which dependencies are meant.
struct Which {
  bool control = false, data = false;
};

std::span<const uint64_t> dependencies(const run::WorkGraph& graph, const WorkNode& node,
                                       Which which) {
  const size_t skipped = which.control ? 0 : node.control_dependencies;
  const size_t all = node.control_dependencies + (which.data ? size_t{node.data_dependencies} : 0);
  return {graph.dependencies.data() + node.first_dependency + skipped, all - skipped};
}

Edges resolve(const run::WorkGraph& graph, const IdIndex& index, Which which) {
  Edges edges;
  edges.to.reserve(graph.dependencies.size());
  for (const WorkNode& node : graph.nodes) {
    edges.first.push_back(edges.to.size());
    for (const uint64_t id : dependencies(graph, node, which))
      if (const uint32_t other = index.find(id); other != IdIndex::kNone) edges.to.push_back(other);
  }
  edges.first.push_back(edges.to.size());
  return edges;
}

void count_missing(const run::WorkGraph& graph, const IdIndex& index, Which order,
                   GraphSummary& summary) {
  const auto count = [&](const WorkNode& node, Which which) {
    for (const uint64_t id : dependencies(graph, node, which)) {
      if (index.find(id) != IdIndex::kNone) continue;
      if (which.data != order.data)
        ++summary.missing_other;
      else if (++summary.missing == 1)
        summary.missing_id = id;
    }
  };
  for (const WorkNode& node : graph.nodes) {
    count(node, {.control = true});
    count(node, {.data = true});
  }
}

/// The same edges from the node that is waited for.
Edges turned(const Edges& edges) {
  Edges back;
  back.first.assign(edges.first.size() + 1, 0);
  for (const uint32_t to : edges.to) ++back.first[to + 2];
  for (size_t i = 2; i < back.first.size(); ++i) back.first[i] += back.first[i - 1];
  back.to.resize(edges.to.size());
  for (uint32_t node = 0; node + 1 < edges.first.size(); ++node)
    for (const uint32_t to : edges.of(node)) back.to[back.first[to + 1]++] = node;
  back.first.pop_back();
  return back;
}

/// One cycle among the nodes that could not start: each of them waits for another such.
std::vector<uint64_t> find_cycle(const run::WorkGraph& graph, const Edges& edges,
                                 const std::vector<uint32_t>& waiting) {
  constexpr size_t kMostShown = 8;
  const auto stuck = std::ranges::find_if(waiting, [](uint32_t n) { return n > 0; });
  if (stuck == waiting.end()) return {};
  const auto next = [&](uint32_t node) {
    const auto of = edges.of(node);
    return *std::ranges::find_if(of, [&](uint32_t to) { return waiting[to] > 0; });
  };
  // As many steps as there are nodes end within a cycle.
  auto at = static_cast<uint32_t>(stuck - waiting.begin());
  for (size_t i = 0; i < graph.nodes.size(); ++i) at = next(at);
  std::vector<uint64_t> ids;
  uint32_t node = at;
  do {
    ids.push_back(graph.nodes[node].id);
    node = next(node);
  } while (node != at && ids.size() < kMostShown);
  return ids;
}

/// How nodes start, one after those it waits for, and the longest way to any.
struct GraphWalk {
  int64_t roots = 0, stuck = 0, nodes = 0, time_ns = 0;
  std::vector<uint64_t> cycle;
};

GraphWalk follow(const run::WorkGraph& graph, const Edges& edges, const Edges& users) {
  const size_t count = graph.nodes.size();
  std::vector<uint32_t> waiting(count), ready;
  std::vector<int64_t> length(count, 1), time_ns(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    waiting[i] = static_cast<uint32_t>(edges.of(i).size());
    time_ns[i] = std::max<int64_t>(graph.nodes[i].duration_ns, 0);
    if (waiting[i] == 0) ready.push_back(i);
  }
  GraphWalk walk{.roots = static_cast<int64_t>(ready.size()), .cycle = {}};
  for (size_t done = 0; done < ready.size(); ++done) {
    const uint32_t node = ready[done];
    walk.nodes = std::max(walk.nodes, length[node]);
    walk.time_ns = std::max(walk.time_ns, time_ns[node]);
    for (const uint32_t user : users.of(node)) {
      length[user] = std::max(length[user], length[node] + 1);
      int64_t end_ns = std::max<int64_t>(graph.nodes[user].duration_ns, 0);
      add_time(end_ns, time_ns[node]);
      time_ns[user] = std::max(time_ns[user], end_ns);
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  walk.stuck = static_cast<int64_t>(count - ready.size());
  walk.cycle = find_cycle(graph, edges, waiting);
  return walk;
}

int64_t unused_gpu(const run::WorkGraph& graph, const Edges& users) {
  int64_t unused = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const WorkNode& node = graph.nodes[i];
    if (!node.cpu && node.kind != NodeKind::kMetadata && users.of(i).empty()) ++unused;
  }
  return unused;
}

/// What the order of the graph comes to.
void take_order(const run::WorkGraph& graph, const IdIndex& index, GraphSummary& summary) {
  const bool by_data = summary.data_dependencies > 0;
  const Which order{.control = !by_data, .data = by_data};
  const Edges edges = resolve(graph, index, order), users = turned(edges);
  const GraphWalk walk = follow(graph, edges, users);
  summary.roots = walk.roots;
  summary.in_cycles = walk.stuck;
  summary.cycle = walk.cycle;
  summary.critical_path_nodes = walk.nodes;
  summary.critical_path_ns = walk.time_ns;
  summary.unused_gpu = unused_gpu(graph, users);
  summary.in_cycles_with_control = walk.stuck;
  count_missing(graph, index, order, summary);
  if (!by_data || summary.control_dependencies == 0) return;
  const Edges both = resolve(graph, index, {.control = true, .data = true});
  summary.in_cycles_with_control = follow(graph, both, turned(both)).stuck;
}

/// Nodes that others name as their callers; none in a graph whose dependencies are an order.
std::vector<bool> callers(const run::WorkGraph& graph, const IdIndex& index) {
  std::vector<bool> are(graph.nodes.size(), false);
  if (!graph.calls) return are;
  for (const uint32_t caller : resolve(graph, index, {.control = true}).to) are[caller] = true;
  return are;
}

std::vector<GraphKindRow> kind_rows(const run::WorkGraph& graph, const IdIndex& index) {
  const std::vector<bool> is_caller = callers(graph, index);
  std::map<std::pair<NodeKind, bool>, GraphKindRow> rows;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const WorkNode& node = graph.nodes[i];
    GraphKindRow& row = rows[{node.kind, node.cpu}];
    row.kind = node.kind;
    row.cpu = node.cpu;
    ++row.count;
    row.timed += node.duration_ns >= 0 ? 1 : 0;
    add_known(row.duration_ns, node.duration_ns);
    add_known(row.operations, node.operations);
    if (!is_caller[i]) add_known(row.tensor_bytes, node.tensor_bytes);
  }
  return base::values_of(std::move(rows));
}

std::vector<GraphCollectiveRow> collective_rows(const run::WorkGraph& graph) {
  std::map<std::pair<std::string_view, std::string_view>, GraphCollectiveRow> rows;
  const auto text = [&](uint32_t name) {
    return name == WorkNode::kNone ? std::string_view() : graph.names[name];
  };
  for (const WorkNode& node : graph.nodes) {
    if (node.collective == WorkNode::kNone) continue;
    GraphCollectiveRow& row = rows[{text(node.collective), text(node.group)}];
    ++row.count;
    row.known += node.communication_bytes >= 0 ? 1 : 0;
    add_known(row.bytes, node.communication_bytes);
    row.timed += node.duration_ns >= 0 ? 1 : 0;
    add_known(row.duration_ns, node.duration_ns);
  }
  std::vector<GraphCollectiveRow> sorted;
  for (auto& [key, row] : rows) {
    row.name = key.first;
    row.group = key.second;
    sorted.push_back(std::move(row));
  }
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sorted;
}

std::vector<GraphNameRow> name_rows(const run::WorkGraph& graph) {
  std::vector<GraphNameRow> rows(graph.names.size());
  for (const WorkNode& node : graph.nodes) {
    if (node.kind == NodeKind::kMetadata) continue;
    GraphNameRow& row = rows[node.name];
    ++row.count;
    add_known(row.operations, node.operations);
    add_known(row.tensor_bytes, node.tensor_bytes);
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i].name = graph.names[i];
  std::erase_if(rows, [](const GraphNameRow& row) { return row.count == 0; });
  std::ranges::sort(rows, [](const GraphNameRow& a, const GraphNameRow& b) {
    return std::tie(b.operations, b.count, a.name) < std::tie(a.operations, a.count, b.name);
  });
  return rows;
}

}  // namespace

std::string_view to_word(NodeKind kind) {
  switch (kind) {
    case NodeKind::kUnknown: return "unknown";
    case NodeKind::kMetadata: return "metadata";
    case NodeKind::kMemoryLoad: return "memory_load";
    case NodeKind::kMemoryStore: return "memory_store";
    case NodeKind::kCompute: return "compute";
    case NodeKind::kSend: return "send";
    case NodeKind::kReceive: return "receive";
    case NodeKind::kCollective: return "collective";
  }
  return "";
}

GraphSummary summarize_graph(const run::WorkGraph& graph) {
  GraphSummary summary;
  summary.rank = graph.rank;
  summary.file = graph.file;
  summary.format = graph.format;
  summary.calls = graph.calls;
  summary.truncated = graph.truncated;
  summary.nodes = static_cast<int64_t>(graph.nodes.size());
  for (const WorkNode& node : graph.nodes) {
    summary.control_dependencies += node.control_dependencies;
    summary.data_dependencies += node.data_dependencies;
    add_known(summary.operations, node.operations);
  }
  const IdIndex index(graph.nodes);
  summary.duplicate_ids = index.duplicates();
  summary.kinds = kind_rows(graph, index);
  summary.collectives = collective_rows(graph);
  summary.names = name_rows(graph);
  summary.storages = graph.storages;
  summary.storage_bytes = graph.storage_bytes;
  summary.linked = graph.linked;
  take_order(graph, index, summary);
  return summary;
}

std::vector<GraphSummary> summarize_graphs(const std::vector<run::WorkGraph>& graphs) {
  return base::mapped(graphs, [&](const run::WorkGraph& graph) { return summarize_graph(graph); });
}

}  // namespace ergometer::analysis
