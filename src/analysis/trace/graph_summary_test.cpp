#include "analysis/trace/graph_summary.h"

#include <gtest/gtest.h>

namespace ergometer::analysis {
namespace {

using NodeKind = run::WorkNode::Kind;

/// A graph, node by node.
struct Graph {
  run::WorkGraph graph;
  Graph& add(uint64_t id, NodeKind kind, std::vector<uint64_t> data = {},
             std::vector<uint64_t> control = {}) {
    run::WorkNode node{.id = id, .kind = kind};
    node.name = static_cast<uint32_t>(graph.names.size());
    graph.names.push_back("n" + std::to_string(id));
    node.first_dependency = static_cast<uint32_t>(graph.dependencies.size());
    node.control_dependencies = static_cast<uint32_t>(control.size());
    node.data_dependencies = static_cast<uint32_t>(data.size());
    graph.dependencies.insert(graph.dependencies.end(), control.begin(), control.end());
    graph.dependencies.insert(graph.dependencies.end(), data.begin(), data.end());
    graph.nodes.push_back(node);
    return *this;
  }
  run::WorkNode& last() { return graph.nodes.back(); }
};

//  1 (5 us) -> 2 (1 us) -> 3 (1 us) -> 5      in nodes: 1 2 3 5, four
//  1 --------> 4 (9 us) ------------> 5       in time: 1 4 5, 14 us
// The caller of 1 is 5, which is no order.
TEST(GraphSummary, LongestChainInNodesAndInTime) {
  Graph g;
  g.add(1, NodeKind::kCompute, {}, {5}).last().duration_ns = 5000;
  g.add(2, NodeKind::kCompute, {1}).last().duration_ns = 1000;
  g.add(3, NodeKind::kCompute, {2}).last().duration_ns = 1000;
  g.add(4, NodeKind::kCompute, {1}, {6}).last().duration_ns = 9000;
  g.add(5, NodeKind::kCollective, {3, 4});
  const GraphSummary s = summarize_graph(g.graph);
  EXPECT_EQ(s.nodes, 5);
  EXPECT_EQ(s.control_dependencies, 2);
  EXPECT_EQ(s.data_dependencies, 5);
  EXPECT_EQ(s.critical_path_nodes, 4);
  EXPECT_EQ(s.critical_path_ns, 14000);
  EXPECT_EQ(s.roots, 1);
  EXPECT_EQ(s.unused_gpu, 1);  // 5
  EXPECT_EQ(s.in_cycles, 0);
  EXPECT_TRUE(s.cycle.empty());
  EXPECT_EQ(s.in_cycles_with_control, 5);  // 1 would wait for 5
  EXPECT_EQ(s.missing, 0);
  EXPECT_EQ(s.missing_other, 1);  // 6
}

TEST(GraphSummary, WithoutDataDependenciesControlIsTheOrder) {
  Graph g;
  g.add(1, NodeKind::kCompute)
      .add(2, NodeKind::kCompute, {}, {1})
      .add(3, NodeKind::kCompute, {}, {2, 9});
  const GraphSummary s = summarize_graph(g.graph);
  EXPECT_EQ(s.critical_path_nodes, 3);
  EXPECT_EQ(s.missing, 1);
  EXPECT_EQ(s.missing_id, 9u);
}

TEST(GraphSummary, BytesOfCallersAreThoseOfWhatTheyCalled) {
  Graph g;
  g.add(1, NodeKind::kCompute).last().tensor_bytes = 100;
  g.add(2, NodeKind::kCompute, {}, {1}).last().tensor_bytes = 60;
  EXPECT_EQ(summarize_graph(g.graph).kinds.at(0).tensor_bytes, 160);
  g.graph.calls = true;
  EXPECT_EQ(summarize_graph(g.graph).kinds.at(0).tensor_bytes, 60);
}

TEST(GraphSummary, OrderOfTheFileDoesNotMatter) {
  Graph g;
  g.add(9, NodeKind::kCompute, {3}).add(3, NodeKind::kCompute, {7}).add(7, NodeKind::kCompute);
  EXPECT_EQ(summarize_graph(g.graph).critical_path_nodes, 3);
}

// 1 -> 2 -> 3 -> 2: 2 and 3 never start, nor does 4 behind them.
TEST(GraphSummary, FindsACycleAndWhatWaitsForIt) {
  Graph g;
  g.add(1, NodeKind::kCompute).add(2, NodeKind::kCompute, {1, 3}).add(3, NodeKind::kCompute, {2});
  g.add(4, NodeKind::kCompute, {3});
  const GraphSummary s = summarize_graph(g.graph);
  EXPECT_EQ(s.in_cycles, 3);
  ASSERT_EQ(s.cycle.size(), 2u);
  EXPECT_EQ(s.cycle[0] + s.cycle[1], 5u);
  EXPECT_EQ(s.critical_path_nodes, 1);
}

TEST(GraphSummary, ANodeThatWaitsForItselfIsACycle) {
  Graph g;
  g.add(6, NodeKind::kCompute, {6});
  EXPECT_EQ(summarize_graph(g.graph).cycle, std::vector<uint64_t>{6});
}

TEST(GraphSummary, CountsWhatIsMissingAndTwiceThere) {
  Graph g;
  g.add(1, NodeKind::kCompute, {77}).add(1, NodeKind::kCompute, {78, 1});
  const GraphSummary s = summarize_graph(g.graph);
  EXPECT_EQ(s.duplicate_ids, 1);
  EXPECT_EQ(s.missing, 2);
  EXPECT_EQ(s.missing_id, 77u);
  EXPECT_EQ(s.critical_path_nodes, 2);  // the second waits for the first
}

TEST(GraphSummary, AddsUpByKindAndCollective) {
  Graph g;
  g.graph.names = {"all_reduce", "dp", "all_gather"};
  for (uint64_t id = 1; id <= 3; ++id) {
    g.add(id, NodeKind::kCollective);
    g.last().collective = id == 3 ? 2 : 0;
    g.last().group = id == 3 ? run::WorkNode::kNone : 1;
    g.last().communication_bytes = id == 3 ? 1000 : 100;
  }
  g.add(4, NodeKind::kCollective).last().cpu = true;
  g.add(5, NodeKind::kCompute).last().operations = 40;
  const GraphSummary s = summarize_graph(g.graph);
  ASSERT_EQ(s.collectives.size(), 2u);
  EXPECT_EQ(s.collectives[0].name, "all_gather");
  EXPECT_EQ(s.collectives[0].bytes, 1000);
  EXPECT_EQ(s.collectives[1].group, "dp");
  EXPECT_EQ(s.collectives[1].count, 2);
  EXPECT_EQ(s.collectives[1].bytes, 200);
  ASSERT_EQ(s.kinds.size(), 3u);
  EXPECT_EQ(s.kinds[0].kind, NodeKind::kCompute);
  EXPECT_EQ(s.kinds[1].count, 3);
  EXPECT_TRUE(s.kinds[2].cpu);
  EXPECT_EQ(s.operations, 40);
}

TEST(GraphSummary, OfNothingIsZero) {
  const GraphSummary s = summarize_graph(run::WorkGraph{});
  EXPECT_EQ(s.nodes, 0);
  EXPECT_EQ(s.critical_path_nodes, 0);
}

}  // namespace
}  // namespace ergometer::analysis
