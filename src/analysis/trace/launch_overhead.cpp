#include "analysis/trace/launch_overhead.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/math/sum.h"

namespace ergometer::analysis {
namespace {

/// Nearest rank; 0 of nothing.
int64_t at_fraction(std::vector<int64_t>& values, double fraction) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::lround(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

bool is_graph(const run::RankTrace& trace, const run::Launch& launch) {
  return launch.name != run::GpuEvent::kNone &&
         trace.names[launch.name].find("GraphLaunch") != std::string::npos;
}

void add_calls(const run::RankTrace& trace, LaunchOverhead& overhead) {
  std::vector<int64_t> durations;
  for (const run::Launch& launch : trace.launches) {
    const bool graph = is_graph(trace, launch);
    ++(graph ? overhead.graph_calls : overhead.calls);
    add_time(graph ? overhead.graph_call_ns : overhead.call_ns, launch.duration_ns);
    if (!graph) durations.push_back(launch.duration_ns);
  }
  overhead.median_call_ns = at_fraction(durations, 0.5);
}

}  // namespace

LaunchOverhead launch_overhead(const run::RankTrace& trace) {
  LaunchOverhead overhead;
  add_calls(trace, overhead);
  std::vector<int64_t> delays;
  for (const run::GpuEvent& event : trace.events) {
    const run::Launch* launch = run::launch_of(trace, event);
    if (launch == nullptr) continue;
    if (is_graph(trace, *launch)) {
      ++overhead.graph_events;
      continue;
    }
    delays.push_back(event.start_ns - launch->start_ns);
    if (event.kind != run::GpuClass::kMemory && event.duration_ns < overhead.median_call_ns) {
      ++overhead.short_kernels;
      add_time(overhead.short_ns, event.duration_ns);
    }
  }
  overhead.events = static_cast<int64_t>(delays.size());
  overhead.median_delay_ns = at_fraction(delays, 0.5);
  overhead.p95_delay_ns = at_fraction(delays, 0.95);
  return overhead;
}

}  // namespace ergometer::analysis
