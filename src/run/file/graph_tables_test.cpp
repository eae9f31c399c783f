#include "run/file/graph_tables.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace ergometer::run {
namespace {

WorkGraph small_graph() {
  WorkGraph graph;
  graph.rank = 2;
  graph.file = "a.2.et";
  graph.format = "Chakra 1.0.1";
  graph.storages = 3;
  graph.storage_bytes = 96;
  graph.names = {"aten::mm", "nccl", "all_reduce", "dp", "[[2, 3], [3, 4]]"};
  graph.nodes = {{.id = 7,
                  .duration_ns = 5000,
                  .operations = 48,
                  .thread = 1,
                  .name = 0,
                  .kind = WorkNode::Kind::kCompute,
                  .cpu = true},
                 {.id = ~uint64_t{0},
                  .start_ns = 9000,
                  .communication_bytes = 64,
                  .name = 1,
                  .collective = 2,
                  .group = 3,
                  .control_dependencies = 1,
                  .data_dependencies = 2,
                  .kind = WorkNode::Kind::kCollective}};
  graph.dependencies = {7, 7, 99};
  graph.operators = {{.name = 0, .shapes = 4, .record_function_id = 11, .sequence = 5, .thread = 1},
                     {.name = 1}};
  return graph;
}

class GraphTables : public testing::Test {
 protected:
  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("ergometer-graph-tables-" + std::to_string(getpid())))
                          .string();
  void TearDown() override { std::filesystem::remove(path_); }

  /// Written, changed by `sql`, and read again.
  Result<run::Run> changed(const run::Run& run, const char* sql) {
    EXPECT_TRUE(write_run(run, path_));
    {
      Database db(path_, Database::Access::kCreate);
      db.execute(sql);
      EXPECT_TRUE(db.ok()) << db.problem();
    }
    return read_run(path_);
  }
};

Run run_with_graphs() {
  Run run;
  run.source = "imported";
  run.graphs = {WorkGraph{}, small_graph()};
  RankTrace trace;
  trace.rank = 1;
  trace.stage = 1;
  trace.stages = 4;
  trace.tasks = {{.kind = PipelineTask::Kind::kForward,
                  .step = 3,
                  .micro_batch = 0,
                  .chunk = 1,
                  .start_ns = -5,
                  .duration_ns = 6},
                 {.kind = PipelineTask::Kind::kBackwardWeight, .start_ns = 4, .duration_ns = 0}};
  run.traces = {RankTrace{}, trace};
  return run;
}

TEST_F(GraphTables, GiveBackGraphs) {
  ASSERT_TRUE(write_run(run_with_graphs(), path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->graphs.size(), 2u);
  const WorkGraph a = small_graph(), &b = back->graphs[1];
  EXPECT_EQ(b.rank, 2);
  EXPECT_EQ(b.file, a.file);
  EXPECT_EQ(b.format, a.format);
  EXPECT_EQ(b.storages, 3);
  EXPECT_EQ(b.storage_bytes, 96);
  EXPECT_EQ(b.linked, -1);
  EXPECT_EQ(b.names, a.names);
  EXPECT_EQ(b.dependencies, a.dependencies);
  ASSERT_EQ(b.nodes.size(), 2u);
  EXPECT_EQ(b.nodes[0].duration_ns, 5000);
  EXPECT_EQ(b.nodes[0].start_ns, -1);
  EXPECT_EQ(b.nodes[0].operations, 48);
  EXPECT_TRUE(b.nodes[0].cpu);
  EXPECT_EQ(b.nodes[0].collective, WorkNode::kNone);
  EXPECT_EQ(b.nodes[1].id, ~uint64_t{0});
  EXPECT_EQ(b.nodes[1].kind, WorkNode::Kind::kCollective);
  EXPECT_EQ(b.nodes[1].collective, 2u);
  EXPECT_EQ(b.nodes[1].group, 3u);
  EXPECT_EQ(b.nodes[1].communication_bytes, 64);
  EXPECT_EQ(b.nodes[1].control_dependencies, 1u);
  EXPECT_EQ(b.nodes[1].data_dependencies, 2u);
  ASSERT_EQ(b.operators.size(), 2u);
  EXPECT_EQ(b.operators[0].shapes, 4u);
  EXPECT_EQ(b.operators[0].record_function_id, 11);
  EXPECT_EQ(b.operators[0].sequence, 5);
  EXPECT_EQ(b.operators[1].shapes, GpuEvent::kNone);
}

TEST_F(GraphTables, GiveBackTasksAndStages) {
  ASSERT_TRUE(write_run(run_with_graphs(), path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->traces[0].tasks.empty());
  EXPECT_EQ(back->traces[0].stage, -1);
  const RankTrace& trace = back->traces[1];
  EXPECT_EQ(trace.stage, 1);
  EXPECT_EQ(trace.stages, 4);
  ASSERT_EQ(trace.tasks.size(), 2u);
  EXPECT_EQ(trace.tasks[0].kind, PipelineTask::Kind::kForward);
  EXPECT_EQ(trace.tasks[0].step, 3);
  EXPECT_EQ(trace.tasks[0].chunk, 1);
  EXPECT_EQ(trace.tasks[0].start_ns, -5);
  EXPECT_EQ(trace.tasks[0].duration_ns, 6);
  EXPECT_EQ(trace.tasks[1].kind, PipelineTask::Kind::kBackwardWeight);
  EXPECT_EQ(trace.tasks[1].micro_batch, -1);
}

TEST_F(GraphTables, WhatRefersToNothingIsDamage) {
  for (const char* sql :
       {"UPDATE graph_nodes SET name = 5", "UPDATE graph_nodes SET graph = 4",
        "UPDATE graph_nodes SET collective = -2", "UPDATE graph_nodes SET kind = 'what'",
        "UPDATE graph_dependencies SET node = 2", "UPDATE graph_operators SET shapes = 9",
        "DELETE FROM graph_operators WHERE node = 1", "UPDATE trace_tasks SET file = 2",
        "UPDATE trace_tasks SET kind = ''", "UPDATE trace_tasks SET duration_ns = -1",
        "UPDATE trace_tasks SET start_ns = 9223372036854775807",
        "UPDATE trace_stages SET stages = 9223372036854775807", "DROP TABLE graph_names"}) {
    const auto back = changed(run_with_graphs(), sql);
    ASSERT_FALSE(back) << sql;
    EXPECT_NE(back.error().message.find("the Run is damaged"), std::string::npos) << sql;
  }
}

}  // namespace
}  // namespace ergometer::run
