#include "report/measured/graph_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/first_rows.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using analysis::GraphSummary;
using base::JsonWriter;

constexpr size_t kGraphsShown = 32, kNamesShown = 10, kGraphCollectivesShown = 12,
                 kGraphNameWidth = 36;

std::string flops(int64_t operations) {
  return operations > 0 ? base::format_si(static_cast<double>(operations), "FLOP") : "-";
}

std::string bytes(int64_t count) {
  return count > 0 ? base::format_bytes(static_cast<double>(count)) : "-";
}

/// Of what lies in memory; `bytes` is of what travels.
std::string memory(int64_t count) {
  return count > 0 ? base::format_binary_bytes(static_cast<double>(count)) : "-";
}

std::string time(int64_t nanoseconds, int64_t timed) {
  return timed > 0 ? base::format_nanoseconds(nanoseconds) : "-";
}

bool is_timed(const GraphSummary& graph) {
  return std::ranges::any_of(graph.kinds, [](const auto& row) { return row.timed > 0; });
}

std::string graphs_table(const std::vector<GraphSummary>& graphs, const TextStyle& style) {
  base::Table table(">5 >11 >12 >12 >11 >11 <");
  table.row("Graph", "nodes", "control", "data", "longest", "in time", "from");
  for (const GraphSummary& g : first(graphs, kGraphsShown)) {
    const bool timed = is_timed(g);
    table.row(g.rank, base::format_count(g.nodes), base::format_count(g.control_dependencies),
              base::format_count(g.data_dependencies), base::format_count(g.critical_path_nodes),
              time(g.critical_path_ns, timed),
              shortened(g.format, kGraphNameWidth) + (g.truncated ? ", cut off" : ""));
  }
  return table_text(table, style) + more_line(graphs.size(), kGraphsShown) +
         (graphs.front().calls ? "  longest: nodes in the longest chain of calls\n"
                               : "  control, data: dependencies; longest: nodes in the longest "
                                 "chain of data ones\n");
}

std::string problems(const std::vector<GraphSummary>& graphs) {
  std::string out;
  const auto line = [&](const GraphSummary& g, const std::string& text) {
    out += "  " + wrap(fmt::format("{}: {}", g.file, text), 80, 4) + '\n';
  };
  for (const GraphSummary& g : graphs) {
    if (g.in_cycles > 0)
      line(g, fmt::format("{} nodes can never start: they wait for each other in a circle, or for "
                          "such as do; one circle: {}",
                          base::format_count(g.in_cycles), fmt::join(g.cycle, " -> ")));
    if (g.missing > 0)
      line(g, fmt::format("{} dependencies on nodes that are not there, the first on {}",
                          base::format_count(g.missing), g.missing_id));
    if (g.in_cycles_with_control > g.in_cycles)
      line(g, fmt::format("only by its data dependencies; with control dependencies too, {} nodes "
                          "would wait for each other in circles",
                          base::format_count(g.in_cycles_with_control)));
    if (g.missing_other > 0)
      line(g, fmt::format("{} control dependencies on nodes that are not there",
                          base::format_count(g.missing_other)));
    if (g.duplicate_ids > 0)
      line(g, fmt::format("{} nodes have the id of an earlier one",
                          base::format_count(g.duplicate_ids)));
  }
  return out.empty() ? out : "To know before it is carried out\n" + out;
}

std::string kinds_table(const GraphSummary& graph, const TextStyle& style) {
  base::Table table("<38 >9 >12 >11 >10");
  table.row(fmt::format("Nodes of graph {}", graph.rank), "count", "time", "FLOP", "tensors");
  for (const analysis::GraphKindRow& row : graph.kinds)
    table.row(fmt::format("  {}{}", analysis::to_word(row.kind), row.cpu ? " (CPU)" : ""),
              row.count, time(row.duration_ns, row.timed), flops(row.operations),
              memory(row.tensor_bytes));
  std::string out = table_text(table, style);
  if (graph.unused_gpu > 0 && !graph.calls)
    out += fmt::format("  {} of those off the CPU are waited for by none\n",
                       base::format_count(graph.unused_gpu));
  if (graph.storages >= 0)
    out += fmt::format("  tensors lie in {} pieces of memory, {} together\n",
                       base::format_count(graph.storages),
                       base::format_binary_bytes(static_cast<double>(graph.storage_bytes)));
  if (graph.linked >= 0)
    out += fmt::format("  {} operators of the rank's trace are found here\n",
                       base::format_count(graph.linked));
  return out;
}

std::string collectives_table(const GraphSummary& graph, const TextStyle& style) {
  if (graph.collectives.empty()) return "";
  base::Table table("<38 >9 >12 >11");
  table.row("Collectives (group)", "count", "time", "bytes");
  for (const analysis::GraphCollectiveRow& row : first(graph.collectives, kGraphCollectivesShown)) {
    const std::string group = row.group.empty() ? "" : fmt::format(" ({})", row.group);
    table.row("  " + shortened(row.name + group, kGraphNameWidth), row.count,
              time(row.duration_ns, row.timed), row.known > 0 ? bytes(row.bytes) : "-");
  }
  return table_text(table, style) + more_line(graph.collectives.size(), kGraphCollectivesShown);
}

std::string names_table(const GraphSummary& graph, const TextStyle& style) {
  if (graph.operations <= 0) return "";
  base::Table table("<38 >9 >23 >10");
  table.row("by name", "count", "FLOP", "tensors");
  for (const analysis::GraphNameRow& row : first(graph.names, kNamesShown)) {
    table.row("  " + shortened(row.name, kGraphNameWidth), row.count, flops(row.operations),
              memory(row.tensor_bytes));
  }
  return table_text(table, style) + more_line(graph.names.size(), kNamesShown);
}

void write_kinds(JsonWriter& json, const GraphSummary& graph) {
  json.rows("kinds", graph.kinds, [&](const analysis::GraphKindRow& row) {
    json.member("kind", analysis::to_word(row.kind)).member("cpu", row.cpu);
    json.member("count", row.count).member("timed", row.timed);
    json.member("duration_ns", row.duration_ns).member("operations", row.operations);
    json.member("tensor_bytes", row.tensor_bytes);
  });
}

void write_collectives(JsonWriter& json, const GraphSummary& graph) {
  json.rows("collectives", graph.collectives, [&](const analysis::GraphCollectiveRow& row) {
    json.member("name", row.name).member("group", row.group).member("count", row.count);
    json.member("known", row.known).member("bytes", row.bytes).member("timed", row.timed);
    json.member("duration_ns", row.duration_ns);
  });
}

void write_names(JsonWriter& json, const GraphSummary& graph) {
  json.rows("names", graph.names, [&](const analysis::GraphNameRow& row) {
    json.member("name", row.name);
    json.member("count", row.count).member("operations", row.operations);
    json.member("tensor_bytes", row.tensor_bytes);
  });
}

void write_graph(JsonWriter& json, const GraphSummary& g) {
  json.member("rank", g.rank).member("file", g.file).member("format", g.format);
  json.member("truncated", g.truncated).member("nodes", g.nodes);
  json.member("control_dependencies_are_calls", g.calls);
  json.member("control_dependencies", g.control_dependencies);
  json.member("data_dependencies", g.data_dependencies);
  json.member("roots", g.roots).member("critical_path_nodes", g.critical_path_nodes);
  json.member("critical_path_ns", g.critical_path_ns).member("operations", g.operations);
  json.member("missing_dependencies", g.missing);
  json.member("missing_other_dependencies", g.missing_other);
  json.member("nodes_in_cycles_with_control", g.in_cycles_with_control);
  json.member("duplicate_ids", g.duplicate_ids);
  json.member("unused_gpu_nodes", g.unused_gpu).member("nodes_in_cycles", g.in_cycles);
  json.list("cycle", g.cycle, base::kOneLine);
  if (g.storages >= 0) json.member("storages", g.storages).member("storage_bytes", g.storage_bytes);
  if (g.linked >= 0) json.member("linked_operators", g.linked);
  write_kinds(json, g);
  write_collectives(json, g);
  write_names(json, g);
}

}  // namespace

std::string graphs_text(const std::vector<GraphSummary>& graphs, const TextStyle& style) {
  if (graphs.empty()) return "";
  return sections({graphs_table(graphs, style), problems(graphs),
                   kinds_table(graphs.front(), style), collectives_table(graphs.front(), style),
                   names_table(graphs.front(), style)});
}

void write_graphs(JsonWriter& json, const std::vector<GraphSummary>& graphs) {
  json.objects("graphs", graphs, write_graph);
}

}  // namespace ergometer::report
