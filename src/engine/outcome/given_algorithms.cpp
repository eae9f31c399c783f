#include "engine/outcome/given_algorithms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/collection.h"
#include "cost/given_choice.h"
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

std::string use_line(const cost::GivenUse& use) {
  if (use.operators.empty())
    return fmt::format("{} runs nothing: {}", use.algorithm->name, use.why_none);
  std::string line = fmt::format("{} runs {}", use.algorithm->name, fmt::join(use.operators, ", "));
  if (const double sent = sent_over_least(*use.algorithm); std::abs(sent - 1) > 0.005)
    line += fmt::format("; it sends {:.3g} times as many bytes as it must", sent);
  return line;
}

}  // namespace

double sent_over_least(const spec::Algorithm& algorithm) {
  const double sent = base::sum(cost::sendings(algorithm), &cost::Sending::chunks);
  const int64_t passes = algorithm.task == spec::CollectiveTask::kAllReduce ? 2 : 1;
  const int64_t least = passes * (algorithm.size() - 1) * algorithm.chunks;
  return sent / static_cast<double>(least);
}

run::Interval given_algorithms_spread(double exposed_s, double step_s) {
  return {.low = 1 - exposed_s / 3 / step_s, .high = 1 + exposed_s / 2 / step_s};
}

void add_given_algorithms(const spec::Job& job, const plan::Plan& plan, run::Run& run) {
  const std::vector<cost::GivenUse> uses = cost::given_uses(job, plan);
  if (uses.empty()) return;
  std::vector<std::string> lines;
  std::array<bool, spec::kTaskWords.size()> runs{};
  for (const cost::GivenUse& use : uses) {
    lines.push_back(use_line(use));
    if (!use.operators.empty()) runs[static_cast<size_t>(use.algorithm->task)] = true;
  }
  run.facts[std::string(spec::kGivenAlgorithms)] = fmt::format("{}", fmt::join(lines, "\n"));
  double exposed_s = 0;
  for (size_t task = 0; task < runs.size(); ++task)
    if (runs[task])
      exposed_s += exposed_of(static_cast<spec::CollectiveTask>(task), run.performance.breakdown_s);
  if (run.performance.step_time_s > 0)
    widen(given_algorithms_spread(exposed_s, run.performance.step_time_s),
          "no run with collectives given as files was ever seen", run.performance);
}

}  // namespace ergometer::engine
