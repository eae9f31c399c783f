#include "analysis/trace/idle.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/math/intervals.h"

namespace ergometer::analysis {
namespace {

/// When each thread waited for the GPU.
class Waits {
 public:
  explicit Waits(const run::RankTrace& trace) {
    for (const run::Launch& wait : trace.waits) add(wait);
    // A copy whose call ends behind it has blocked.
    for (const run::GpuEvent& event : trace.events) {
      if (event.kind != run::GpuClass::kMemory) continue;
      const run::Launch* launch = run::launch_of(trace, event);
      if (launch != nullptr && launch->start_ns + launch->duration_ns >= event.end_ns())
        add(*launch);
    }
    for (auto& [thread, waits] : threads_) waits = unite(std::move(waits));
  }

  /// Whether the thread waited at `time_ns` and came back by `until_ns`.
  bool at(int64_t thread, int64_t time_ns, int64_t until_ns) const {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return false;
    const Intervals& waits = found->second;
    const auto behind =
        std::upper_bound(waits.begin(), waits.end(), time_ns,
                         [](int64_t time, const Interval& wait) { return time < wait.start_ns; });
    return behind != waits.begin() && std::prev(behind)->end_ns >= time_ns &&
           std::prev(behind)->end_ns <= until_ns;
  }

 private:
  void add(const run::Launch& call) {
    threads_[call.thread].push_back({call.start_ns, call.start_ns + call.duration_ns});
  }
  std::map<int64_t, Intervals> threads_;
};

}  // namespace

IdleCauses idle_causes(const run::RankTrace& trace) {
  std::vector<const run::GpuEvent*> events;
  for (const run::GpuEvent& event : trace.events) events.push_back(&event);
  const auto earlier = [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; };
  if (!std::ranges::is_sorted(events, earlier)) std::ranges::stable_sort(events, earlier);
  const Waits waits(trace);
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
        if (late > 0) {
          ++causes.late_events;
          causes.latency_ns += gap - late;
          if (waits.at(launch->thread, busy_until, launch->start_ns))
            causes.synchronized_ns += late;
        }
      }
    }
    busy_until = std::max(busy_until, event->end_ns());
  }
  return causes;
}

}  // namespace ergometer::analysis
