#include "analysis/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::analysis {
namespace {

struct Cause {
  double run::Breakdown::* part;
  const char *name, *what, *advice, *check;
};

constexpr std::array kCauses = std::to_array<Cause>({
    {&run::Breakdown::exposed_all_reduce, "exposed_all_reduce",
     "All-reduces that nothing hides take {} of a step ({}), mean over ranks.",
     "a smaller tensor-parallel group, sequence parallelism, gradients reduced beside the backward "
     "(--overlap-grad-reduce).",
     "performance.breakdown_s.exposed_all_reduce"},
    {&run::Breakdown::exposed_all_gather, "exposed_all_gather",
     "All-gathers that nothing hides take {} of a step ({}), mean over ranks.",
     "a smaller tensor-parallel group, --tp-comm-overlap, weights gathered beside the forward "
     "(--overlap-param-gather).",
     "performance.breakdown_s.exposed_all_gather"},
    {&run::Breakdown::exposed_reduce_scatter, "exposed_reduce_scatter",
     "Reduce-scatters that nothing hides take {} of a step ({}), mean over ranks.",
     "a smaller tensor-parallel group, --tp-comm-overlap, gradients reduced beside the backward "
     "(--overlap-grad-reduce).",
     "performance.breakdown_s.exposed_reduce_scatter"},
    {&run::Breakdown::exposed_all_to_all, "exposed_all_to_all",
     "All-to-alls that nothing hides take {} of a step ({}), mean over ranks.",
     "an expert-parallel group inside the node, another dispatcher, two micro batches beside each "
     "other (--overlap-moe-expert-parallel-comm).",
     "performance.breakdown_s.exposed_all_to_all"},
    {&run::Breakdown::exposed_send_recv, "exposed_send_recv",
     "Messages between pipeline stages that nothing hides take {} of a step ({}), mean over ranks.",
     "--overlap-p2p, fewer stages, a larger micro batch.",
     "performance.breakdown_s.exposed_send_recv"},
    {&run::Breakdown::optimizer, "optimizer",
     "The optimizer takes {} of a step ({}), mean over ranks.",
     "states sharded over data parallelism (--zero 1), a larger global batch.",
     "performance.breakdown_s.optimizer"},
});

}  // namespace

std::vector<Finding> run_findings(const run::Run& run) {
  std::vector<Finding> findings;
  const double step_s = run.performance.step_time_s;
  for (const Cause& cause : kCauses) {
    const double cost_s = run.performance.breakdown_s.*cause.part;
    if (step_s <= 0 || cost_s < kWorthTelling * step_s) continue;
    Finding f;
    f.name = cause.name;
    f.cost_s = cost_s;
    f.fraction = cost_s / step_s;
    f.what = fmt::format(fmt::runtime(cause.what), base::format_seconds(cost_s),
                         base::format_percent(f.fraction));
    f.try_next = cause.advice;
    f.check = fmt::format("ergometer simulate MODEL --cluster CLUSTER --explain {}", cause.check);
    f.confidence = "predicted";
    findings.push_back(std::move(f));
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.cost_s > b.cost_s; });
  return findings;
}

}  // namespace ergometer::analysis
