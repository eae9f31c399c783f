#include "import/chakra/chakra.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/bytes/test_source.h"
#include "import/trace/graph_trace.h"

namespace ergometer::importer {
namespace {

using NodeKind = run::WorkNode::Kind;
constexpr uint32_t kNone = run::WorkNode::kNone;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}
std::string message(const std::string& content) { return varint(content.size()) + content; }

std::string metadata() { return message(bytes(1, "0.0.4")); }
std::string attribute(const std::string& name, const std::string& value) {
  return bytes(10, bytes(1, name) + value);
}

run::WorkGraph chakra_of(const std::string& text, const std::string& file = "job.3.et") {
  return base::value_of(read_text(read_chakra, text, file));
}
std::string chakra_error(const std::string& text) {
  return base::error_of(read_text(read_chakra, text, "g.et"));
}

TEST(Chakra, ReadsNodesWithTimesDependenciesAndAttributes) {
  const std::string node = number(1, 12) + bytes(2, "nccl:all_reduce") + number(3, 7) +
                           bytes(4, varint(300) + varint(5)) + number(5, 9) + number(5, 10) +
                           number(6, 1000) + number(7, 25) + attribute("is_cpu_op", number(27, 0)) +
                           attribute("comm_type", number(9, 0)) +
                           attribute("comm_size", number(13, 4096)) +
                           attribute("pg_name", bytes(29, "dp")) + attribute("tid", number(9, 20));
  const run::WorkGraph graph = chakra_of(metadata() + message(node));
  EXPECT_EQ(graph.format, "Chakra 0.0.4");
  ASSERT_EQ(graph.nodes.size(), 1u);
  const run::WorkNode& n = graph.nodes[0];
  EXPECT_EQ(n.id, 12u);
  EXPECT_EQ(graph.names[n.name], "nccl:all_reduce");
  EXPECT_EQ(n.kind, NodeKind::kCollective);
  EXPECT_EQ(n.start_ns, 1'000'000);
  EXPECT_EQ(n.duration_ns, 25'000);
  EXPECT_EQ(graph.dependencies, (std::vector<uint64_t>{300, 5, 9, 10}));
  EXPECT_EQ(n.control_dependencies, 2u);
  EXPECT_EQ(n.data_dependencies, 2u);
  EXPECT_FALSE(n.cpu);
  EXPECT_EQ(graph.names[n.collective], "all_reduce");
  EXPECT_EQ(graph.names[n.group], "dp");
  EXPECT_EQ(n.communication_bytes, 4096);
  EXPECT_EQ(n.thread, 20);
  EXPECT_EQ(n.operations, -1);
}

TEST(Chakra, ReadsAttributesOfEveryNumericType) {
  const std::string zigzag = number(17, 10);  // sint64: 5
  const std::string fixed = varint(21 << 3 | 1) + std::string("\7\0\0\0\0\0\0\0", 8);
  const std::string real = varint(3 << 3 | 1) + std::string("\0\0\0\0\0\0\x20\x40", 8);  // 8.0
  const run::WorkGraph graph = chakra_of(
      metadata() + message(number(1, 1) + number(3, 4) + attribute("num_ops", zigzag) +
                           attribute("tensor_size", fixed) + attribute("comm_size", real)));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].operations, 5);
  EXPECT_EQ(graph.nodes[0].tensor_bytes, 7);
  EXPECT_EQ(graph.nodes[0].communication_bytes, 8);
}

TEST(Chakra, InvolvedDimensionsNameTheGroup) {
  const std::string mask = bytes(28, bytes(1, std::string("\1\0\1", 3)));
  const run::WorkGraph graph =
      chakra_of(metadata() + message(number(1, 1) + attribute("involved_dim", mask)));
  ASSERT_NE(graph.nodes.at(0).group, kNone);
  EXPECT_EQ(graph.names[graph.nodes[0].group], "dimensions 0, 2");
}

// Values by ONNX's numbers (3 i, 4 s, 8 ints, 20 type), attributes in field 12, nothing in front.
TEST(Chakra, ReadsTheEarlierSchema) {
  const auto old = [](const std::string& name, const std::string& value) {
    return bytes(12, bytes(1, name) + value + number(20, 2));
  };
  const std::string node = number(1, 1) + bytes(2, "c") + number(3, 7) +
                           old("comm_type", number(3, 7)) + old("comm_size", number(3, 1 << 20)) +
                           old("pg_name", bytes(4, "tp")) + old("num_ops", number(3, 0));
  ASSERT_TRUE(looks_like_chakra(message(node)));
  const run::WorkGraph graph = chakra_of(message(node));
  EXPECT_EQ(graph.format, "Chakra");
  const run::WorkNode& n = graph.nodes.at(0);
  EXPECT_EQ(graph.names[n.collective], "reduce_scatter");
  EXPECT_EQ(n.communication_bytes, 1 << 20);
  EXPECT_EQ(graph.names[n.group], "tp");
  EXPECT_EQ(n.operations, 0);
}

TEST(Chakra, UnknownFieldsArePassedOver) {
  const std::string group = varint(15 << 3 | 3) + number(1, 4) + varint(15 << 3 | 4);
  const run::WorkGraph graph =
      chakra_of(metadata() + message(number(1, 1) + group + number(99, 3) + bytes(98, "text") +
                                     bytes(8, bytes(1, "[[1, 2]]")) + bytes(2, "n")));
  EXPECT_EQ(graph.names[graph.nodes.at(0).name], "n");
}

TEST(Chakra, AFileCutOffGivesTheNodesBefore) {
  const std::string node = message(number(1, 1) + bytes(2, "a"));
  const std::string whole = metadata() + node + node;
  for (size_t cut = 1; cut < node.size(); ++cut) {
    const run::WorkGraph graph = chakra_of(whole.substr(0, whole.size() - cut));
    EXPECT_TRUE(graph.truncated);
    EXPECT_EQ(graph.nodes.size(), 1u);
    ASSERT_EQ(graph.dropped.size(), 1u);
  }
  EXPECT_FALSE(chakra_of(whole).truncated);
}

TEST(Chakra, WhatIsNoNodeIsAnError) {
  const std::string good = metadata() + message(number(1, 1));
  EXPECT_NE(chakra_error(good + message("\x0a\xff")).find("message 3, at byte 11, is no node"),
            std::string::npos)
      << chakra_error(good + message("\x0a\xff"));
  EXPECT_NE(chakra_error(good + varint(uint64_t{1} << 40)).find("longer than 64 MiB"),
            std::string::npos);
  EXPECT_NE(chakra_error(good + std::string(11, '\xff')), "");
  EXPECT_NE(chakra_error(metadata()).find("without nodes"), std::string::npos);
}

TEST(Chakra, TimesThatDoNotFitAreLeftOut) {
  const run::WorkGraph graph =
      chakra_of(metadata() + message(number(1, 1) + number(7, ~uint64_t{0})));
  EXPECT_EQ(graph.nodes.at(0).duration_ns, -1);
  ASSERT_EQ(graph.dropped.size(), 1u);
  EXPECT_EQ(graph.dropped[0].count, 1);
}

TEST(Chakra, IsKnownByItsFirstBytes) {
  EXPECT_TRUE(looks_like_chakra(metadata() + message(number(1, 1))));
  EXPECT_TRUE(looks_like_chakra(std::string(1, '\0') + message(number(1, 1) + number(3, 4))));
  EXPECT_FALSE(looks_like_chakra(""));
  EXPECT_FALSE(looks_like_chakra(std::string(512, '\0')));
  // '{' and a line break are 123 and a field of 32 bytes as well.
  EXPECT_FALSE(looks_like_chakra("{\n " + std::string(31, ' ') + "\"schema\": \"1.0.1\"" +
                                 std::string(200, ' ')));
  EXPECT_FALSE(looks_like_chakra("SQLite format 3\0 and more"));
}

TEST(Chakra, NodesWithTimesMakeATrace) {
  const auto node = [](uint64_t id, const std::string& name, uint64_t start, bool cpu) {
    return message(number(1, id) + bytes(2, name) + number(3, 4) + number(6, start) +
                   number(7, 10) + attribute("is_cpu_op", number(27, cpu ? 1 : 0)) +
                   attribute("tid", number(9, 7)));
  };
  const std::string collective = message(
      number(1, 4) + bytes(2, "ncclDevKernel") + number(3, 7) + number(6, 90) + number(7, 5) +
      attribute("comm_type", number(9, 2)) + attribute("comm_size", number(9, 64)));
  const auto trace =
      trace_of(chakra_of(metadata() + node(1, "aten::mm", 50, true) + node(2, "gemm", 60, false) +
                         node(3, "Memcpy DtoD", 70, false) + collective));
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->events.size(), 3u);
  EXPECT_EQ(trace->events[0].kind, run::GpuClass::kCompute);
  EXPECT_EQ(trace->events[0].start_ns, 60'000);
  EXPECT_EQ(trace->events[0].stream, 7);
  EXPECT_EQ(trace->events[1].kind, run::GpuClass::kMemory);
  EXPECT_EQ(trace->events[2].kind, run::GpuClass::kCommunication);
  EXPECT_EQ(trace->collectives.at(trace->events[2].collective).name, "all_gather");
  EXPECT_EQ(trace->collectives[0].in_elements, 64);
  ASSERT_EQ(trace->operators.size(), 1u);
  EXPECT_EQ(trace->names[trace->operators[0].name], "aten::mm");
  // Durations alone are no timeline.
  EXPECT_FALSE(trace_of(chakra_of(metadata() + message(number(1, 1) + number(7, 10)))));
}

TEST(ChakraJson, ReadsBothWaysOfWritingKeys) {
  const auto graph = read_text(read_chakra_json, R"({"workload_name": "w", "workload_graph": [
    {"Id": 216, "Name": "a \"b\"", "NodeType": 4, "ctrlDeps": [3], "data_deps": [1, 2],
     "runtime": 318, "is_cpu_op": true},
    {"id": "7", "name": "c", "type": "COMM_COLL_NODE", "ctrl_deps": [], "dataDeps": ["216"],
     "comm_type": "ALL_GATHER", "comm_size": 64, "involved_dim": [false, true], "is_cpu_op": 0}]})",
                               "g.1.json");
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].id, 216u);
  EXPECT_EQ(graph->names[graph->nodes[0].name], "a \"b\"");
  EXPECT_EQ(graph->nodes[0].duration_ns, 318'000);
  EXPECT_TRUE(graph->nodes[0].cpu);
  EXPECT_EQ(graph->nodes[1].id, 7u);
  EXPECT_EQ(graph->nodes[1].kind, NodeKind::kCollective);
  EXPECT_EQ(graph->names[graph->nodes[1].collective], "all_gather");
  EXPECT_EQ(graph->names[graph->nodes[1].group], "dimensions 1");
  EXPECT_EQ(graph->nodes[1].communication_bytes, 64);
  EXPECT_FALSE(graph->nodes[1].cpu);
  EXPECT_EQ(graph->dependencies, (std::vector<uint64_t>{3, 1, 2, 216}));
}

TEST(ChakraJson, WrongValuesAreCountedAndWrongFilesRefused) {
  const auto error = [](const std::string& text) {
    return base::error_of(read_text(read_chakra_json, text, "g.json"));
  };
  EXPECT_NE(error(R"({"workload_graph": []})").find("holds no node"), std::string::npos);
  EXPECT_NE(error("{\"workload_graph\": [\n{\"Id\": 1").find("g.json:2: is no valid JSON"),
            std::string::npos)
      << error("{\"workload_graph\": [\n{\"Id\": 1");
  EXPECT_NE(error(R"({"workload_graph": 4})"), "");
  const auto graph = read_text(
      read_chakra_json,
      R"({"workload_graph": [{"Id": 1.5}, 4, {"Id": -1}, {"Id": 1, "data_deps": {"a": 1}}]})",
      "g.json");
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes.size(), 1u);
  ASSERT_EQ(graph->dropped.size(), 1u);
  EXPECT_EQ(graph->dropped[0].count, 3);
}

}  // namespace
}  // namespace ergometer::importer
