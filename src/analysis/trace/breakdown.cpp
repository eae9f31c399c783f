#include "analysis/trace/breakdown.h"

#include <algorithm>
#include <array>

namespace ergometer::analysis {

Intervals compute_intervals(const run::RankTrace& trace) {
  std::vector<Interval> pieces;
  for (const run::GpuEvent& event : trace.events)
    if (event.kind == run::GpuClass::kCompute) pieces.push_back({event.start_ns, event.end_ns()});
  return unite(std::move(pieces));
}

RankBreakdown break_down(const run::RankTrace& trace) {
  RankBreakdown result;
  result.rank = trace.rank;
  result.file = trace.file;
  result.gpu_events = static_cast<int64_t>(trace.events.size());
  if (trace.events.empty()) return result;

  std::array<std::vector<Interval>, 3> pieces;
  int64_t first = trace.events.front().start_ns, last = trace.events.front().end_ns();
  for (const run::GpuEvent& event : trace.events) {
    pieces[static_cast<size_t>(event.kind)].push_back({event.start_ns, event.end_ns()});
    first = std::min(first, event.start_ns);
    last = std::max(last, event.end_ns());
  }
  const auto united = [&](run::GpuClass kind) {
    return unite(std::move(pieces[static_cast<size_t>(kind)]));
  };
  const Intervals compute = united(run::GpuClass::kCompute);
  const Intervals communication = united(run::GpuClass::kCommunication);
  const Intervals memory = united(run::GpuClass::kMemory);
  const Intervals work = unite(compute, communication);

  result.span_ns = last - first;
  result.busy_ns = length(unite(work, memory));
  result.idle_ns = result.span_ns - result.busy_ns;
  result.compute_ns = length(compute);
  result.communication_ns = length(communication);
  result.memory_ns = length(memory);
  result.overlap_ns = common_length(compute, communication);
  result.exposed_communication_ns = result.communication_ns - result.overlap_ns;
  result.exposed_memory_ns = result.memory_ns - common_length(memory, work);
  return result;
}

}  // namespace ergometer::analysis
