#include "analysis/work/attribution.h"

namespace ergometer::analysis {

Attribution::Attribution(const run::RankTrace& trace) : tree(trace.operators) {
  launches.reserve(trace.events.size());
  operators.reserve(trace.events.size());
  for (const run::GpuEvent& event : trace.events) {
    const run::Launch* launch = run::launch_of(trace, event);
    launches.push_back(launch);
    operators.push_back(launch == nullptr ? kNone : tree.of(*launch));
  }
}

}  // namespace ergometer::analysis
