#include "analysis/idle.h"

#include <algorithm>
#include <vector>

namespace ergometer::analysis {
IdleCauses idle_causes(const run::RankTrace& trace) {
  std::vector<const run::GpuEvent*> events;
  for (const run::GpuEvent& event : trace.events) events.push_back(&event);
  const auto earlier = [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; };
  if (!std::is_sorted(events.begin(), events.end(), earlier))
    std::stable_sort(events.begin(), events.end(), earlier);
  IdleCauses causes;
  int64_t busy_until = events.empty() ? 0 : events.front()->start_ns;
  for (const run::GpuEvent* event : events) {
    const int64_t gap = event->start_ns - busy_until;
    if (gap > 0) {
      const run::Launch* launch = run::launch_of(trace, *event);
      if (launch == nullptr) {
        causes.unknown_ns += gap;
      } else {
        const int64_t late = std::clamp<int64_t>(launch->start_ns - busy_until, 0, gap);
        causes.launch_ns += late;
        causes.queued_ns += gap - late;
      }
    }
    busy_until = std::max(busy_until, event->end_ns());
  }
  return causes;
}

}  // namespace ergometer::analysis
