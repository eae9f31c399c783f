#include "import/pytorch_et/execution_trace.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/bytes/test_source.h"
#include "import/pytorch_et/tensors.h"
#include "import/trace/link_operators.h"

namespace ergometer::importer {
namespace {

using NodeKind = run::WorkNode::Kind;

run::WorkGraph execution_trace_of(const std::string& nodes,
                                  const std::string& file = "et_rank_2.json") {
  return base::value_of(read_text(
      read_execution_trace, R"({"schema": "1.0.1", "pid": 1, "nodes": [)" + nodes + "]}", file));
}

// 512 x 1024 by 1024 x 256: 2 x 512 x 1024 x 256 operations.
constexpr const char* kFlat = R"json({
  "name": "aten::addmm", "id": 14, "rf_id": 5, "parent": 9, "seq_id": 661, "tid": 1, "fw_tid": 0,
  "inputs": [[7,8,0,256,4,"cuda:0"], [3,4,0,524288,4,"cuda:0"], [13,6,0,262144,4,"cuda:0"], 1, true],
  "input_shapes": [[256], [512,1024], [1024,256], [], []],
  "input_types": ["Tensor(float)", "Tensor(float)", "Tensor(c10::BFloat16)", "Int", "Bool"],
  "outputs": [[18,19,0,131072,4,"cuda:0"]], "output_shapes": [[512,256]], "output_types": []})json";

constexpr const char* kChakra = R"json({
  "id": 14, "name": "aten::addmm", "ctrl_deps": 9,
  "inputs": {
    "values": [[7,8,0,256,4,"cuda:0"], [3,4,0,524288,4,"cuda:0"], [13,6,0,262144,4,"cuda:0"], 1, true],
    "shapes": [[256], [512,1024], [1024,256], [], []],
    "types": ["Tensor(float)", "Tensor(float)", "Tensor(c10::BFloat16)", "Int", "Bool"],
    "strides": []},
  "outputs": {"values": [[18,19,0,131072,4,"cuda:0"]], "shapes": [[512,256]], "types": []},
  "attrs": [{"name": "rf_id", "type": "uint64", "value": 5},
            {"name": "seq_id", "type": "int64", "value": 661},
            {"name": "tid", "type": "uint64", "value": 1}]})json";

TEST(ExecutionTrace, ReadsBothFormsAlike) {
  for (const char* node : {kFlat, kChakra}) {
    const run::WorkGraph graph = execution_trace_of(node);
    EXPECT_EQ(graph.format, "PyTorch execution trace 1.0.1");
    EXPECT_EQ(graph.rank, 2);
    EXPECT_TRUE(graph.calls);
    ASSERT_EQ(graph.nodes.size(), 1u);
    const run::WorkNode& n = graph.nodes[0];
    EXPECT_EQ(n.id, 14u);
    EXPECT_EQ(graph.dependencies, std::vector<uint64_t>{9});
    EXPECT_EQ(n.operations, 2LL * 512 * 1024 * 256);
    EXPECT_EQ(n.tensor_bytes, 4 * (256 + 524288 + 262144 + 131072));
    EXPECT_EQ(graph.storages, 4);
    EXPECT_EQ(graph.storage_bytes, n.tensor_bytes);
    ASSERT_EQ(graph.operators.size(), 1u);
    const run::Operator& op = graph.operators[0];
    EXPECT_EQ(graph.names[op.shapes], "[[256], [512, 1024], [1024, 256], [], []]");
    EXPECT_EQ(graph.names[op.dtypes], R"(["float", "float", "c10::BFloat16", "Scalar", "Scalar"])");
    EXPECT_EQ(op.record_function_id, 5);
    EXPECT_EQ(op.sequence, 661);
    EXPECT_EQ(op.forward_thread, -1);
    EXPECT_EQ(op.thread, 1);
  }
}

TEST(ExecutionTrace, TheRootCallsItselfAndWaitsForNothing) {
  const run::WorkGraph graph = execution_trace_of(
      R"({"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "parent": 1})");
  EXPECT_TRUE(graph.dependencies.empty());
  EXPECT_EQ(graph.nodes.at(0).kind, NodeKind::kMetadata);
}

TEST(ExecutionTrace, CollectivesAreWhatTheirParametersSay) {
  const auto call = [](const std::string& what, const std::string& more) {
    return R"({"id": 5, "name": "record_param_comms", "inputs": [[[1,2,0,100,4,"cuda:0"]],151,9,0,")" +
           what + R"(",[],[]])" + more + "}";
  };
  run::WorkGraph graph = execution_trace_of(call("allreduce", ""));
  EXPECT_EQ(graph.nodes.at(0).kind, NodeKind::kCollective);
  EXPECT_EQ(graph.names[graph.nodes[0].collective], "allreduce");
  EXPECT_EQ(graph.nodes[0].communication_bytes, 400);
  graph = execution_trace_of(call(
      "x",
      R"(,"attrs": [{"name":"collective_name","value":"send"},{"name":"pg_name","value":"7"}])"));
  EXPECT_EQ(graph.nodes.at(0).kind, NodeKind::kSend);
  EXPECT_EQ(graph.names[graph.nodes[0].group], "7");
  EXPECT_EQ(execution_trace_of(call("wait", "")).nodes.at(0).kind, NodeKind::kCompute);
}

TEST(ExecutionTrace, AFilesLastNumberIsTheRankWithoutAnother) {
  constexpr const char* kNode = R"({"id": 1, "name": "a"})";
  EXPECT_EQ(execution_trace_of(kNode, "dlrm_eg_3.json").rank, 3);
  EXPECT_EQ(execution_trace_of(kNode, "x/et-12.json.gz").rank, 12);
  EXPECT_EQ(execution_trace_of(kNode, "pt2_et.json").rank, -1);
  EXPECT_EQ(execution_trace_of(kNode, "v100.json").rank, -1);
}

TEST(ExecutionTrace, WrongFilesAreRefusedAndNodesWithoutIdCounted) {
  const auto error = [](const std::string& text) {
    return base::error_of(read_text(read_execution_trace, text, "e.json"));
  };
  EXPECT_NE(error(R"({"schema": "1.0.1", "nodes": []})").find("holds no node"), std::string::npos);
  EXPECT_NE(error("{\"schema\": \"1.0.1\",\n \"nodes\": [{\"id\": 1}").find("e.json:2: "),
            std::string::npos);
  EXPECT_NE(error(R"({"schema": "1.0.1", "nodes": [{"id": 1, "inputs": )" +
                  std::string(100000, '[') + std::string(100000, ']') + "}]}")
                .find("too deep"),
            std::string::npos);
  const run::WorkGraph graph = execution_trace_of(R"({"name": "a"}, 7, {"id": "x"}, {"id": 1})");
  EXPECT_EQ(graph.nodes.size(), 1u);
  ASSERT_EQ(graph.dropped.size(), 1u);
  EXPECT_EQ(graph.dropped[0].count, 3);
}

TraceValue list(std::vector<int64_t> numbers) {
  TraceValue value;
  for (const int64_t n : numbers)
    value.list.push_back({.kind = TraceValue::Kind::kNumber, .number = n, .text = {}, .list = {}});
  return value;
}

TEST(ExecutionTrace, OperationsOfMatrixProducts) {
  EXPECT_EQ(matrix_operations("aten::mm", {list({2, 3}), list({3, 5})}), 60);
  EXPECT_EQ(matrix_operations("aten::bmm", {list({4, 2, 3}), list({4, 3, 5})}), 240);
  EXPECT_EQ(matrix_operations("aten::baddbmm", {list({}), list({4, 2, 3}), list({4, 3, 5})}), 240);
  EXPECT_EQ(matrix_operations("aten::mm", {list({2, 3}), list({4, 5})}), -1);
  EXPECT_EQ(matrix_operations("aten::mm", {list({2, 3})}), -1);
  EXPECT_EQ(matrix_operations("aten::add", {list({2, 3}), list({3, 5})}), -1);
  EXPECT_EQ(matrix_operations("aten::mm", {list({1LL << 40, 1LL << 40}), list({1LL << 40, 9})}),
            -1);
}

/// A profiler's trace of one rank with operators that have no shapes.
run::RankTrace profiled() {
  run::RankTrace trace;
  trace.rank = 2;
  trace.names = {"aten::addmm", "aten::mm"};
  trace.operators = {{.name = 0, .record_function_id = 5, .sequence = 70},
                     {.name = 1, .record_function_id = 5},
                     {.name = 0, .record_function_id = 6}};
  return trace;
}

TEST(LinkOperators, ByRecordFunctionAndName) {
  std::vector<run::RankTrace> ranks = {profiled()};
  std::vector<run::WorkGraph> graphs = {execution_trace_of(kFlat)};
  link_operators(ranks, graphs);
  EXPECT_EQ(graphs[0].linked, 1);
  const run::RankTrace& trace = ranks[0];
  ASSERT_NE(trace.operators[0].shapes, run::GpuEvent::kNone);
  EXPECT_EQ(trace.names[trace.operators[0].shapes], "[[256], [512, 1024], [1024, 256], [], []]");
  EXPECT_EQ(trace.operators[1].shapes, run::GpuEvent::kNone);  // of another name
  EXPECT_EQ(trace.operators[2].shapes, run::GpuEvent::kNone);
}

TEST(LinkOperators, BySequenceWhereItIsUnique) {
  std::vector<run::RankTrace> ranks = {profiled()};
  for (run::Operator& op : ranks[0].operators) op.record_function_id = -1;
  ranks[0].operators[0].sequence = 661;
  ranks[0].operators[2].sequence = 661;  // two of one name: neither is meant
  std::vector<run::WorkGraph> graphs = {execution_trace_of(kFlat)};
  link_operators(ranks, graphs);
  EXPECT_EQ(graphs[0].linked, 0);
  ranks[0].operators[2].sequence = 662;
  graphs[0].linked = -1;
  link_operators(ranks, graphs);
  EXPECT_EQ(graphs[0].linked, 1);
  EXPECT_NE(ranks[0].operators[0].shapes, run::GpuEvent::kNone);
}

// The profiler saw another step: no id is the same. Of both names there are as many in both files.
TEST(LinkOperators, ByOrderWhereNoIdIsTheSame) {
  const auto node = [](int id, const std::string& name, int columns) {
    return R"({"id": )" + std::to_string(id) + R"(, "name": ")" + name + R"(", "rf_id": )" +
           std::to_string(id) + R"(, "seq_id": -1, "input_shapes": [[)" + std::to_string(columns) +
           R"json(]], "input_types": ["Tensor(float)"]})json";
  };
  run::RankTrace trace;
  trace.rank = 2;
  trace.names = {"aten::mm", "aten::add", "aten::t"};
  trace.operators = {{.name = 0, .record_function_id = 90, .start_ns = 10},
                     {.name = 1, .start_ns = 20},
                     {.name = 0, .record_function_id = 91, .start_ns = 30},
                     {.name = 2, .start_ns = 40}};
  std::vector<run::RankTrace> ranks = {trace};
  // In the file, callers stand behind what they call: `rf_id` tells the order.
  std::vector<run::WorkGraph> graphs = {execution_trace_of(
      node(4, "aten::mm", 40) + "," + node(1, "aten::mm", 10) + "," + node(2, "aten::add", 20) +
      "," + node(5, "aten::t", 5) + "," + node(6, "aten::t", 6))};
  link_operators(ranks, graphs);
  EXPECT_EQ(graphs[0].linked, 3);
  const auto shapes = [&](size_t i) {
    const uint32_t name = ranks[0].operators[i].shapes;
    return name == run::GpuEvent::kNone ? "" : ranks[0].names[name];
  };
  EXPECT_EQ(shapes(0), "[[10]]");
  EXPECT_EQ(shapes(1), "[[20]]");
  EXPECT_EQ(shapes(2), "[[40]]");
  EXPECT_EQ(shapes(3), "");  // two there, one here
}

TEST(LinkOperators, KeepsWhatTheProfilerNotedAndOtherRanksApart) {
  std::vector<run::RankTrace> ranks = {profiled(), profiled()};
  ranks[1].rank = 3;
  ranks[0].names.push_back("[[9]]");
  ranks[0].operators[0].shapes = 2;
  std::vector<run::WorkGraph> graphs = {execution_trace_of(kFlat)};
  link_operators(ranks, graphs);
  EXPECT_EQ(ranks[0].operators[0].shapes, 2u);
  EXPECT_NE(ranks[0].operators[0].dtypes, run::GpuEvent::kNone);
  EXPECT_EQ(ranks[1].operators[0].shapes, run::GpuEvent::kNone);
  graphs[0].rank = 9;
  graphs[0].linked = -1;
  link_operators(ranks, graphs);
  EXPECT_EQ(graphs[0].linked, -1);
}

}  // namespace
}  // namespace ergometer::importer
