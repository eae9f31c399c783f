#include "analysis/energy/shape_power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/trace/timeline.h"

namespace ergometer::analysis {
namespace {

constexpr double kAlone = 0.95;  ///< share of a window
constexpr int64_t kFewestShapeWindows = 3;

}  // namespace

std::vector<ShapePower> power_by_shape(const run::RankTrace& trace, const Attribution& attribution,
                                       const std::vector<PowerWindow>& windows) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const uint32_t op = attribution.operators[i];
    const auto key = op == Attribution::kNone
                         ? std::pair(run::GpuEvent::kNone, run::GpuEvent::kNone)
                         : std::pair(trace.operators[op].name, trace.operators[op].shapes);
    labels.push_back(numbers.emplace(key, static_cast<uint32_t>(numbers.size())).first->second);
  }
  const Timeline timeline = label_time(trace.events, labels);
  std::map<uint32_t, std::vector<double>> readings;
  size_t from = 0;
  for (const PowerWindow& window : windows) {
    std::map<uint32_t, int64_t> alone;
    for_each_between(timeline, from, window.start_ns, window.end_ns, [&](uint32_t set, int64_t ns) {
      if (timeline.sets[set].size() == 1) alone[timeline.sets[set].front()] += ns;
    });
    for (const auto& [label, ns] : alone)
      if (static_cast<double>(ns) >= kAlone * static_cast<double>(window.end_ns - window.start_ns))
        readings[label].push_back(window.watts);
  }
  std::vector<ShapePower> rows;
  for (const auto& [key, label] : numbers) {
    const std::vector<double>& watts = readings[label];
    if (key.first == run::GpuEvent::kNone ||
        static_cast<int64_t>(watts.size()) < kFewestShapeWindows)
      continue;
    double sum = 0, squares = 0;
    for (const double w : watts) sum += w;
    const auto count = static_cast<double>(watts.size());
    for (const double w : watts) squares += (w - sum / count) * (w - sum / count);
    rows.push_back({trace.names[key.first],
                    key.second == run::GpuEvent::kNone ? "" : trace.names[key.second],
                    static_cast<int64_t>(watts.size()), sum / count,
                    std::sqrt(squares / (count - 1) / count)});
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &ShapePower::windows);
  return rows;
}

}  // namespace ergometer::analysis
