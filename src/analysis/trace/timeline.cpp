#include "analysis/trace/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ergometer::analysis {
namespace {

/// An event's label comes or goes.
struct LabelEdge {
  int64_t time_ns;
  uint32_t label;
  int change;
};

std::vector<LabelEdge> edges_of(const std::vector<run::GpuEvent>& events,
                                const std::vector<uint32_t>& labels) {
  std::vector<LabelEdge> edges;
  for (size_t i = 0; i < events.size(); ++i) {
    edges.push_back({events[i].start_ns, labels[i], 1});
    edges.push_back({events[i].end_ns(), labels[i], -1});
  }
  std::ranges::sort(edges, [](const LabelEdge& a, const LabelEdge& b) {
    return std::tie(a.time_ns, a.label, a.change) < std::tie(b.time_ns, b.label, b.change);
  });
  return edges;
}

}  // namespace

Timeline label_time(const std::vector<run::GpuEvent>& events, const std::vector<uint32_t>& labels) {
  Timeline timeline;
  timeline.sets.emplace_back();
  std::map<std::vector<uint32_t>, uint32_t> numbers = {{{}, 0}};
  std::map<uint32_t, int64_t> active;
  const std::vector<LabelEdge> edges = edges_of(events, labels);
  for (size_t i = 0; i < edges.size(); ++i) {
    const LabelEdge& edge = edges[i];
    if ((active[edge.label] += edge.change) == 0) active.erase(edge.label);
    if (i + 1 == edges.size() || edges[i + 1].time_ns == edge.time_ns) continue;
    std::vector<uint32_t> set;
    for (const auto& [label, count] : active) set.push_back(label);
    const auto [number, is_new] = numbers.emplace(set, static_cast<uint32_t>(timeline.sets.size()));
    if (is_new) timeline.sets.push_back(std::move(set));
    timeline.stretches.push_back({edge.time_ns, edges[i + 1].time_ns, number->second});
  }
  return timeline;
}

void for_each_between(const Timeline& timeline, size_t& from, int64_t start_ns, int64_t end_ns,
                      const std::function<void(uint32_t, int64_t)>& use) {
  const auto& stretches = timeline.stretches;
  while (from < stretches.size() && stretches[from].end_ns <= start_ns) ++from;
  for (size_t i = from; i < stretches.size() && stretches[i].start_ns < end_ns; ++i) {
    const int64_t common =
        std::min(stretches[i].end_ns, end_ns) - std::max(stretches[i].start_ns, start_ns);
    if (common > 0) use(stretches[i].set, common);
  }
}

}  // namespace ergometer::analysis
