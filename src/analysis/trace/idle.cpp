#include "analysis/trace/idle.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/math/intervals.h"
#include "analysis/trace/cpu_activity.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

/// When each thread waited for the GPU.
class Waits {
 public:
  explicit Waits(const run::RankTrace& trace) {
    for (const run::Launch& wait : trace.waits)
      if (waits_for_gpu(trace, wait)) add(wait);
    // A copy whose call ends behind it has blocked.
    for (const run::GpuEvent& event : trace.events) {
      if (event.kind != run::GpuClass::kMemory) continue;
      const run::Launch* launch = run::launch_of(trace, event);
      if (launch != nullptr && launch->start_ns + launch->duration_ns >= event.end_ns())
        add(*launch);
    }
    for (auto& [thread, waits] : threads_) waits = unite(std::move(waits));
  }

  /// When the thread came back that waited at `time_ns`; `time_ns` where it did not wait.
  int64_t over(int64_t thread, int64_t time_ns) const {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return time_ns;
    const Intervals& waits = found->second;
    const auto behind =
        std::upper_bound(waits.begin(), waits.end(), time_ns,
                         [](int64_t time, const Interval& wait) { return time < wait.start_ns; });
    return behind == waits.begin() ? time_ns : std::max(time_ns, std::prev(behind)->end_ns);
  }

 private:
  void add(const run::Launch& call) {
    threads_[call.thread].push_back({call.start_ns, call.start_ns + call.duration_ns});
  }
  std::map<int64_t, Intervals> threads_;
};

/// Parts what is late, of every thread, by what it did.
void part_late(const run::RankTrace& trace, const std::map<int64_t, Intervals>& late,
               IdleCauses& causes) {
  CpuActivity activity = cpu_activity(trace, late);
  causes.launching_ns = activity.launching_ns;
  causes.loading_ns = activity.loading_ns;
  causes.elsewhere_ns =
      causes.launch_ns - causes.synchronized_ns - causes.launching_ns - causes.loading_ns;
  for (const auto& [name, ns] : activity.named_ns)
    causes.elsewhere.emplace_back(trace.names[name], ns);
  std::ranges::stable_sort(causes.elsewhere, std::ranges::greater{},
                           &std::pair<std::string, int64_t>::second);
}

}  // namespace

bool waits_for_gpu(const run::RankTrace& trace, const run::Launch& wait) {
  return wait.name == run::GpuEvent::kNone ||
         trace.names[wait.name].find("Synchronize") != std::string::npos;
}

IdleCauses idle_causes(const run::RankTrace& trace) {
  std::vector<const run::GpuEvent*> events = base::pointers_to(trace.events);
  const auto earlier = [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; };
  if (!std::ranges::is_sorted(events, earlier)) std::ranges::stable_sort(events, earlier);
  const Waits waits(trace);
  IdleCauses causes;
  std::map<int64_t, Intervals> at_work;  // when threads were late and did not wait
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
        if (launch->duration_ns > kLongestLaunchNs)
          causes.long_launch_ns += std::clamp<int64_t>(
              launch->start_ns + launch->duration_ns - busy_until - late, 0, gap - late);
        if (late > 0) {
          ++causes.late_events;
          causes.latency_ns += gap - late;
          const int64_t called = busy_until + late;
          const int64_t over = std::min(called, waits.over(launch->thread, busy_until));
          causes.synchronized_ns += over - busy_until;
          if (over < called) at_work[launch->thread].push_back({over, called});
        }
      }
    }
    busy_until = std::max(busy_until, event->end_ns());
  }
  part_late(trace, at_work, causes);
  return causes;
}

}  // namespace ergometer::analysis
