#include "import/trace/link_operators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "import/text/name_index.h"

namespace ergometer::importer {
namespace {

constexpr uint32_t kUnlinked = run::GpuEvent::kNone;

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

/// The operator of the graph for every one of the trace; kUnlinked where there is none.
using Match = std::vector<uint32_t>;

Match match_ids(const run::RankTrace& trace, const run::WorkGraph& graph) {
  Match found(trace.operators.size(), kUnlinked);
  for (const auto number : {&run::Operator::record_function_id, &run::Operator::sequence}) {
    const Index ours = index_of(trace.operators, trace.names, number);
    const Index theirs = index_of(graph.operators, graph.names, number);
    for (const auto& [key, position] : ours) {
      const auto same = theirs.find(key);
      if (!position || same == theirs.end() || !same->second) continue;
      if (found[*position] == kUnlinked) found[*position] = *same->second;
    }
  }
  return found;
}

/// Operators of every name, in the order in which they began.
std::map<std::string_view, std::vector<uint32_t>> by_name(
    const std::vector<run::Operator>& operators, const std::vector<std::string>& names) {
  std::vector<uint32_t> order(operators.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    const run::Operator &x = operators[a], &y = operators[b];
    return std::tie(x.start_ns, x.record_function_id) < std::tie(y.start_ns, y.record_function_id);
  });
  std::map<std::string_view, std::vector<uint32_t>> found;
  for (const uint32_t i : order) found[names[operators[i].name]].push_back(i);
  return found;
}

Match match_order(const run::RankTrace& trace, const run::WorkGraph& graph) {
  Match found(trace.operators.size(), kUnlinked);
  const auto theirs = by_name(graph.operators, graph.names);
  for (const auto& [name, ours] : by_name(trace.operators, trace.names)) {
    const auto same = theirs.find(name);
    if (same == theirs.end() || same->second.size() != ours.size()) continue;
    for (size_t i = 0; i < ours.size(); ++i) found[ours[i]] = same->second[i];
  }
  return found;
}

Match match(const run::RankTrace& trace, const run::WorkGraph& graph) {
  Match found = match_ids(trace, graph);
  const bool any =
      std::ranges::any_of(found, [](uint32_t position) { return position != kUnlinked; });
  return any ? found : match_order(trace, graph);
}

int64_t link(run::RankTrace& trace, const run::WorkGraph& graph) {
  const Match found = match(trace, graph);
  NameIndex names(trace.names);
  const auto take = [&](uint32_t& ours, uint32_t theirs) {
    if (ours == kUnlinked && theirs != kUnlinked) ours = names.add(graph.names[theirs]);
  };
  int64_t linked = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kUnlinked) continue;
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
