#include "run/file/graph_tables.h"

#include <algorithm>
#include <array>

#include "run/file/table_rows.h"

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

void insert_nodes(Database& db, int64_t graph, const WorkGraph& from) {
  Statement node(db, "INSERT INTO graph_nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement dependency(db, "INSERT INTO graph_dependencies VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const WorkNode& n : from.nodes) {
    node.run(graph, position, static_cast<int64_t>(n.id), int64_t{n.name},
             kNodeKinds[static_cast<size_t>(n.kind)], int64_t{n.cpu}, known(n.thread),
             known(n.start_ns), known(n.duration_ns), known(n.operations), known(n.tensor_bytes),
             name_or_null(n.collective), name_or_null(n.group), known(n.communication_bytes));
    for (uint32_t i = 0; i < n.control_dependencies + n.data_dependencies; ++i)
      dependency.run(graph, position,
                     static_cast<int64_t>(from.dependencies[n.first_dependency + i]),
                     int64_t{i >= n.control_dependencies});
    ++position;
  }
}

void insert_operators(Database& db, int64_t graph, const WorkGraph& from) {
  Statement insert(db, "INSERT INTO graph_operators VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const Operator& o : from.operators)
    insert.run(graph, position++, name_or_null(o.shapes), name_or_null(o.dtypes),
               known(o.record_function_id), known(o.sequence), known(o.forward_thread));
}

/// The index of a name in column `column`; false when there is no such name.
bool take_name(const Statement& row, int column, const WorkGraph& graph, uint32_t& name) {
  if (row.is_null(column)) return true;
  const int64_t index = row.integer(column);
  if (index < 0 || index >= static_cast<int64_t>(graph.names.size())) return false;
  name = static_cast<uint32_t>(index);
  return true;
}

void select_graph_files(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM graphs ORDER BY graph");
  while (select.step()) {
    WorkGraph graph;
    graph.rank = select.integer(1);
    graph.file = select.text(2);
    graph.format = select.text(3);
    graph.calls = select.integer(4) != 0;
    graph.storages = known(select, 5);
    graph.storage_bytes = known(select, 6);
    graph.linked = known(select, 7);
    graph.truncated = select.integer(8) != 0;
    run.graphs.push_back(std::move(graph));
  }
}

bool select_names(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM graph_names ORDER BY graph, position");
  while (select.step()) {
    WorkGraph* graph = owner_of(select, run.graphs);
    if (graph == nullptr) return false;
    graph->names.push_back(select.text(2));
  }
  return true;
}

bool select_nodes(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM graph_nodes ORDER BY graph, position");
  while (select.step()) {
    WorkGraph* graph = owner_of(select, run.graphs);
    const auto kind = std::ranges::find(kNodeKinds, select.text(4));
    if (graph == nullptr || kind == kNodeKinds.end() || select.is_null(3)) return false;
    WorkNode node;
    node.id = static_cast<uint64_t>(select.integer(2));
    node.kind = static_cast<WorkNode::Kind>(kind - kNodeKinds.begin());
    node.cpu = select.integer(5) != 0;
    node.thread = known(select, 6);
    node.start_ns = known(select, 7);
    node.duration_ns = known(select, 8);
    node.operations = known(select, 9);
    node.tensor_bytes = known(select, 10);
    node.communication_bytes = known(select, 13);
    if (!take_name(select, 3, *graph, node.name) ||
        !take_name(select, 11, *graph, node.collective) ||
        !take_name(select, 12, *graph, node.group))
      return false;
    graph->nodes.push_back(node);
  }
  return true;
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

bool select_graph_operators(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM graph_operators ORDER BY graph, node");
  while (select.step()) {
    WorkGraph* graph = owner_of(select, run.graphs);
    if (graph == nullptr || graph->operators.size() >= graph->nodes.size()) return false;
    const WorkNode& node = graph->nodes[graph->operators.size()];
    Operator op{.name = node.name,
                .record_function_id = known(select, 4),
                .sequence = known(select, 5),
                .forward_thread = known(select, 6),
                .thread = node.thread};
    if (!take_name(select, 2, *graph, op.shapes) || !take_name(select, 3, *graph, op.dtypes))
      return false;
    graph->operators.push_back(op);
  }
  return std::ranges::all_of(run.graphs, [](const WorkGraph& graph) {
    return graph.operators.empty() || graph.operators.size() == graph.nodes.size();
  });
}

}  // namespace

void create_graph_tables(Database& db) { db.execute(kGraphSchema); }

void insert_graphs(Database& db, const Run& run) {
  Statement file(db, "INSERT INTO graphs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement name(db, "INSERT INTO graph_names VALUES (?, ?, ?)");
  for (size_t i = 0; i < run.graphs.size(); ++i) {
    const WorkGraph& g = run.graphs[i];
    const auto graph = static_cast<int64_t>(i);
    file.run(graph, g.rank, g.file, g.format, int64_t{g.calls}, known(g.storages),
             known(g.storage_bytes), known(g.linked), int64_t{g.truncated});
    int64_t position = 0;
    for (const std::string& text : g.names) name.run(graph, position++, text);
    insert_nodes(db, graph, g);
    insert_operators(db, graph, g);
  }
}

bool select_graphs(Database& db, Run& run) {
  if (!db.has_table("graphs")) return true;
  for (const char* table : {"graph_names", "graph_nodes", "graph_dependencies", "graph_operators"})
    if (!db.has_table(table)) return false;
  select_graph_files(db, run);
  return select_names(db, run) && select_nodes(db, run) && select_dependencies(db, run) &&
         select_graph_operators(db, run);
}

}  // namespace ergometer::run
