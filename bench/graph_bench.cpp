// How fast a Chakra graph of a million nodes is read, and how fast its summary is made.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "analysis/trace/graph_summary.h"
#include "import/bytes/byte_source.h"
#include "import/chakra/chakra.h"
#include "text_source.h"

namespace {

using namespace ergometer;

constexpr uint64_t kNodes = 1'000'000;

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

/// Nodes with five attributes, each waiting for the one before and for one further back.
const std::string& graph_text() {
  static const std::string text = [] {
    std::string all = message(bytes(1, "0.0.4"));
    const auto attribute = [](const std::string& name, const std::string& value) {
      return bytes(10, bytes(1, name) + value);
    };
    for (uint64_t id = 1; id <= kNodes; ++id) {
      std::string node = number(1, id) + bytes(2, fmt::format("COMP_NODE_layer{}", id % 500)) +
                         number(3, id % 10 == 0 ? 7 : 4);
      if (id > 100) node += bytes(5, varint(id - 1) + varint(id - 97));
      node += number(7, 30 + id % 100) + attribute("is_cpu_op", number(27, 0)) +
              attribute("num_ops", number(9, 1'000'000 + id)) +
              attribute("tensor_size", number(13, 4096)) +
              attribute("comm_type", number(9, id % 8)) +
              attribute("comm_size", number(13, 1 << 20));
      all += message(node);
    }
    return all;
  }();
  return text;
}

void BM_ReadChakra(benchmark::State& state) {
  graph_text();
  for (auto _ : state) {
    TextSource source(graph_text());
    const auto graph = importer::read_chakra(source, "graph.0.et");
    if (!graph || graph->nodes.size() != kNodes) state.SkipWithError("the graph was not read");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kNodes));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(graph_text().size()));
}
BENCHMARK(BM_ReadChakra)->Unit(benchmark::kMillisecond);

void BM_SummarizeGraph(benchmark::State& state) {
  TextSource source(graph_text());
  const auto graph = importer::read_chakra(source, "graph.0.et");
  for (auto _ : state) benchmark::DoNotOptimize(analysis::summarize_graph(*graph).critical_path_ns);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kNodes));
}
BENCHMARK(BM_SummarizeGraph)->Unit(benchmark::kMillisecond);

}  // namespace
