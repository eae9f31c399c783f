#include "engine/outcome/link_load.h"

#include "engine/time/compile.h"

namespace ergometer::engine {
namespace {

/// How often a role's program runs the operators of some instructions, on a rank in the mean.
template <class Counts>
std::vector<double> counted(const EngineInput& input, size_t number, const Counts& counts) {
  const plan::Plan& plan = input.plan;
  const plan::Role& role = plan.roles[number];
  const PricedOperators operators(input, number);
  const auto share_of_ranks = [&](size_t index) {
    if (input.job.parallelism.group_micro_batches.empty()) return 1.0;
    int64_t ranks = 0;
    for (int64_t rank = 0; rank < plan.ranks_per_role; ++rank)
      ranks += operators.is_left_out(index, rank) ? 0 : 1;
    return static_cast<double>(ranks) / static_cast<double>(plan.ranks_per_role);
  };
  std::vector<double> times(plan.operators.size(), 0);
  for (size_t i = 0; i < role.program.size(); ++i) {
    const plan::Instruction& it = role.program[i];
    if (it.op >= 0 && counts(it))
      times[static_cast<size_t>(it.op)] += share_of_ranks(i) * plan.times(role, i);
  }
  return times;
}

}  // namespace

std::vector<double> executions(const EngineInput& input, size_t role) {
  return counted(input, role, [](const plan::Instruction& it) {
    return it.kind == plan::InstructionKind::kCollective ||
           it.kind == plan::InstructionKind::kWorld || it.kind == plan::InstructionKind::kSend;
  });
}

std::vector<double> copies_of(const EngineInput& input, size_t role) {
  return counted(input, role, [&](const plan::Instruction& it) {
    const workload::Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
    return it.kind == plan::InstructionKind::kCompute && op.to_host_bytes + op.from_host_bytes > 0;
  });
}

run::Link link(const char* kind, const LinkLoad& use, double ranks_per_role, double links,
               double ranks_per_link, double line_bytes_per_s, double step_s) {
  constexpr double kGiga = 1e9;
  run::Link row;
  row.kind = kind;
  row.bytes_per_step = use.bytes * ranks_per_role;
  const double mean = step_s > 0 ? row.bytes_per_step / links / step_s : 0;
  row.mean_gb_per_s = mean / kGiga;
  // Operations side by side may send more than any of them alone.
  double peak = std::max(use.peak_bytes_per_s * ranks_per_link, mean);
  // Where a card's ranks are of several stages they do not all send at once.
  if (line_bytes_per_s > 0) peak = std::min(peak, std::max(line_bytes_per_s, mean));
  row.peak_gb_per_s = peak / kGiga;
  row.utilization = line_bytes_per_s > 0 ? mean / line_bytes_per_s : 0;
  return row;
}

}  // namespace ergometer::engine
