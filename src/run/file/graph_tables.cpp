#include "run/file/graph_tables.h"

#include <algorithm>
#include <array>

#include "run/file/row_table.h"

namespace ergometer::run {
namespace {

constexpr const char* kGraphSchema = R"sql(
CREATE TABLE graphs (
  graph INTEGER PRIMARY KEY, rank INTEGER NOT NULL, name TEXT NOT NULL, format TEXT NOT NULL, calls INTEGER NOT NULL,
  storages INTEGER, storage_bytes INTEGER, linked INTEGER, truncated INTEGER NOT NULL);
CREATE TABLE graph_names (
  graph INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (graph, position)) WITHOUT ROWID;
CREATE TABLE graph_nodes (
  graph INTEGER NOT NULL, position INTEGER NOT NULL, id INTEGER NOT NULL, name INTEGER NOT NULL, kind TEXT NOT NULL,
  cpu INTEGER NOT NULL, thread INTEGER, start_ns INTEGER, duration_ns INTEGER, operations INTEGER,
  tensor_bytes INTEGER, collective INTEGER, group_name INTEGER, communication_bytes INTEGER,
  PRIMARY KEY (graph, position)) WITHOUT ROWID;
CREATE TABLE graph_dependencies (
  graph INTEGER NOT NULL, node INTEGER NOT NULL, on_id INTEGER NOT NULL, data INTEGER NOT NULL);
CREATE TABLE graph_operators (
  graph INTEGER NOT NULL, node INTEGER NOT NULL, shapes INTEGER, dtypes INTEGER, record_function_id INTEGER,
  sequence INTEGER, forward_thread INTEGER, PRIMARY KEY (graph, node)) WITHOUT ROWID;
)sql";

/// In the order of WorkNode::Kind.
constexpr std::array<std::string_view, 8> kNodeKinds = {"unknown",      "metadata",  "memory_load",
                                                        "memory_store", "compute",   "send",
                                                        "receive",      "collective"};

constexpr auto node_kind_name = [](WorkNode::Kind kind) {
  return kNodeKinds[static_cast<size_t>(kind)];
};

constexpr RowTable kGraphTable("graphs", "graph", &WorkGraph::rank, &WorkGraph::file,
                               &WorkGraph::format, &WorkGraph::calls, OrNull(&WorkGraph::storages),
                               OrNull(&WorkGraph::storage_bytes), OrNull(&WorkGraph::linked),
                               &WorkGraph::truncated);
constexpr RowTable kGraphNameTable("graph_names", "graph, position", Whole<std::string>());
constexpr RowTable kNodeTable("graph_nodes", "graph, position", &WorkNode::id,
                              OrNull(&WorkNode::name),
                              Word(&WorkNode::kind, node_kind_name, WorkNode::Kind::kCollective),
                              &WorkNode::cpu, OrNull(&WorkNode::thread),
                              OrNull(&WorkNode::start_ns), OrNull(&WorkNode::duration_ns),
                              OrNull(&WorkNode::operations), OrNull(&WorkNode::tensor_bytes),
                              OrNull(&WorkNode::collective), OrNull(&WorkNode::group),
                              OrNull(&WorkNode::communication_bytes));
constexpr RowTable kNodeOperatorTable("graph_operators", "graph, node", OrNull(&Operator::shapes),
                                      OrNull(&Operator::dtypes),
                                      OrNull(&Operator::record_function_id),
                                      OrNull(&Operator::sequence),
                                      OrNull(&Operator::forward_thread));

void insert_dependencies(Database& db, int64_t graph, const WorkGraph& from) {
  Statement dependency(db, "INSERT INTO graph_dependencies VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const WorkNode& n : from.nodes) {
    for (uint32_t i = 0; i < n.control_dependencies + n.data_dependencies; ++i)
      dependency.run(graph, position,
                     static_cast<int64_t>(from.dependencies[n.first_dependency + i]),
                     int64_t{i >= n.control_dependencies});
    ++position;
  }
}

bool has_names(const WorkGraph& graph, std::initializer_list<uint32_t> names) {
  return std::ranges::all_of(
      names, [&](uint32_t name) { return name == WorkNode::kNone || name < graph.names.size(); });
}

bool select_nodes(Database& db, Run& run) {
  return kNodeTable.select_each(db, run.graphs, &WorkGraph::nodes) &&
         std::ranges::all_of(run.graphs, [](const WorkGraph& graph) {
           return std::ranges::all_of(graph.nodes, [&](const WorkNode& node) {
             return node.name != WorkNode::kNone &&
                    has_names(graph, {node.name, node.collective, node.group});
           });
         });
}

bool select_dependencies(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM graph_dependencies ORDER BY graph, node, data, rowid");
  while (select.step()) {
    WorkGraph* graph = owner_of(select, run.graphs);
    const int64_t position = select.integer(1);
    if (graph == nullptr || position < 0 || position >= static_cast<int64_t>(graph->nodes.size()))
      return false;
    WorkNode& node = graph->nodes[static_cast<size_t>(position)];
    if (node.control_dependencies + node.data_dependencies == 0)
      node.first_dependency = static_cast<uint32_t>(graph->dependencies.size());
    ++(select.integer(3) != 0 ? node.data_dependencies : node.control_dependencies);
    graph->dependencies.push_back(static_cast<uint64_t>(select.integer(2)));
  }
  return true;
}

/// An operator is its node's beside what its own row says.
bool complete_operators(WorkGraph& graph) {
  if (graph.operators.empty()) return true;
  if (graph.operators.size() != graph.nodes.size()) return false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.operators[i].name = graph.nodes[i].name;
    graph.operators[i].thread = graph.nodes[i].thread;
  }
  return std::ranges::all_of(graph.operators, [&](const Operator& op) {
    return has_names(graph, {op.shapes, op.dtypes});
  });
}

}  // namespace

void create_graph_tables(Database& db) { db.execute(kGraphSchema); }

void insert_graphs(Database& db, const Run& run) {
  kGraphTable.insert(db, run.graphs);
  kGraphNameTable.insert_each(db, run.graphs, &WorkGraph::names);
  kNodeTable.insert_each(db, run.graphs, &WorkGraph::nodes);
  for (size_t i = 0; i < run.graphs.size(); ++i)
    insert_dependencies(db, static_cast<int64_t>(i), run.graphs[i]);
  kNodeOperatorTable.insert_each(db, run.graphs, &WorkGraph::operators);
}

bool select_graphs(Database& db, Run& run) {
  if (!db.has_table("graphs")) return true;
  for (const char* table : {"graph_names", "graph_nodes", "graph_dependencies", "graph_operators"})
    if (!db.has_table(table)) return false;
  return kGraphTable.select(db, run.graphs) &&
         kGraphNameTable.select_each(db, run.graphs, &WorkGraph::names) && select_nodes(db, run) &&
         select_dependencies(db, run) &&
         kNodeOperatorTable.select_each(db, run.graphs, &WorkGraph::operators) &&
         std::ranges::all_of(run.graphs, complete_operators);
}

}  // namespace ergometer::run
