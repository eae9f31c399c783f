#include "engine/outcome/given_algorithms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "cost/given_collectives.h"
#include "engine/outcome/interval.h"
#include "spec/collective/given_algorithms.h"

namespace ergometer::engine {
namespace {

double exposed_of(spec::CollectiveTask task, const run::Breakdown& breakdown) {
  switch (task) {
    case spec::CollectiveTask::kAllReduce: return breakdown.exposed_all_reduce;
    case spec::CollectiveTask::kAllGather: return breakdown.exposed_all_gather;
    case spec::CollectiveTask::kReduceScatter: return breakdown.exposed_reduce_scatter;
    case spec::CollectiveTask::kAllToAll: break;
  }
  return breakdown.exposed_all_to_all;
}

}  // namespace

run::Interval given_algorithms_spread(double exposed_s, double step_s) {
  return {.low = 1 - exposed_s / 3 / step_s, .high = 1 + exposed_s / 2 / step_s};
}

Result<void> add_given_algorithms(const spec::Job& job, const plan::Plan& plan, run::Run& run) {
  ERGOMETER_ASSIGN(const std::vector<cost::GivenUse> uses, cost::given_uses(job, plan));
  if (uses.empty()) return {};
  std::vector<std::string> lines;
  std::array<bool, spec::kTaskWords.size()> runs{};
  for (const cost::GivenUse& use : uses) {
    if (use.operators.empty()) {
      lines.push_back(fmt::format("{} runs nothing: {}", use.algorithm->name, use.why_none));
      continue;
    }
    lines.push_back(fmt::format("{} runs {}", use.algorithm->name, fmt::join(use.operators, ", ")));
    runs[static_cast<size_t>(use.algorithm->task)] = true;
  }
  run.facts[std::string(spec::kGivenAlgorithms)] = fmt::format("{}", fmt::join(lines, "\n"));
  double exposed_s = 0;
  for (size_t task = 0; task < runs.size(); ++task)
    if (runs[task])
      exposed_s += exposed_of(static_cast<spec::CollectiveTask>(task), run.performance.breakdown_s);
  if (run.performance.step_time_s > 0)
    widen(given_algorithms_spread(exposed_s, run.performance.step_time_s),
          "no run with collectives given as files was ever seen", run.performance);
  return {};
}

}  // namespace ergometer::engine
