#include "import/link_operators.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "import/name_index.h"

namespace ergometer::importer {
namespace {

constexpr uint32_t kNone = run::GpuEvent::kNone;

/// Operators by name and number; nothing stands for several of one name and number.
using Index = std::map<std::pair<std::string_view, int64_t>, std::optional<uint32_t>>;

Index index_of(const std::vector<run::Operator>& operators, const std::vector<std::string>& names,
               int64_t run::Operator::* number) {
  Index index;
  for (uint32_t i = 0; i < operators.size(); ++i) {
    if (operators[i].*number < 0) continue;
    const auto [entry, is_new] =
        index.try_emplace({names[operators[i].name], operators[i].*number}, i);
    if (!is_new) entry->second.reset();
  }
  return index;
}

/// The operator of the graph for every one of the trace; kNone where there is none.
std::vector<uint32_t> match(const run::RankTrace& trace, const run::WorkGraph& graph) {
  std::vector<uint32_t> found(trace.operators.size(), kNone);
  for (const auto number : {&run::Operator::record_function_id, &run::Operator::sequence}) {
    const Index ours = index_of(trace.operators, trace.names, number);
    const Index theirs = index_of(graph.operators, graph.names, number);
    for (const auto& [key, position] : ours) {
      const auto same = theirs.find(key);
      if (!position || same == theirs.end() || !same->second) continue;
      if (found[*position] == kNone) found[*position] = *same->second;
    }
  }
  return found;
}

int64_t link(run::RankTrace& trace, const run::WorkGraph& graph) {
  const std::vector<uint32_t> found = match(trace, graph);
  NameIndex names(trace.names);
  const auto take = [&](uint32_t& ours, uint32_t theirs) {
    if (ours == kNone && theirs != kNone) ours = names.add(graph.names[theirs]);
  };
  int64_t linked = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kNone) continue;
    const run::Operator& same = graph.operators[found[i]];
    take(trace.operators[i].shapes, same.shapes);
    take(trace.operators[i].dtypes, same.dtypes);
    ++linked;
  }
  return linked;
}

}  // namespace

void link_operators(std::vector<run::RankTrace>& ranks, std::vector<run::WorkGraph>& graphs) {
  for (run::WorkGraph& graph : graphs) {
    if (graph.operators.empty()) continue;
    for (run::RankTrace& trace : ranks) {
      if (trace.rank != graph.rank || trace.operators.empty()) continue;
      graph.linked = std::max<int64_t>(graph.linked, 0) + link(trace, graph);
    }
  }
}

}  // namespace ergometer::importer
