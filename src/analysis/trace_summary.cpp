#include "analysis/trace_summary.h"

#include "analysis/step_breakdown.h"

namespace ergometer::analysis {

TraceSummary summarize(const std::vector<run::RankTrace>& ranks) {
  TraceSummary summary;
  for (const run::RankTrace& trace : ranks)
    summary.ranks.push_back({.breakdown = break_down(trace),
                             .idle = idle_causes(trace),
                             .steps = step_times(trace),
                             .gpu = trace.gpu,
                             .truncated = trace.truncated});
  summary.kernels = kernel_table(ranks);
  summary.classes = class_table(summary.kernels);
  summary.collectives = collective_table(ranks);
  summary.arrivals = arrival_table(ranks);
  summary.performance = step_breakdown(ranks);
  summary.findings = find(summary);
  return summary;
}

}  // namespace ergometer::analysis
