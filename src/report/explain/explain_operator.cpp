#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "plan/step_end.h"
#include "report/explain/explain.h"
#include "report/explain/explain_price.h"
#include "spec/job/matrix_peak.h"

// The operators of a job by name: which take most of the step, and what one of them costs in each
// pass.

namespace ergometer::report {
namespace {

using workload::Operator;

/// Whose circuits are waited for.
std::string_view phase_of(const Operator& op) {
  if (op.name != plan::kReconfiguration || op.module == workload::Module::kOptimizer) return "";
  return op.module == workload::Module::kPipeline ? " of the passes" : " of the step's end";
}

std::string pass_word(workload::Pass pass) {
  switch (pass) {
    case workload::Pass::kForward: return "forward";
    case workload::Pass::kRecompute: return "recomputation";
    case workload::Pass::kBackward: return "backward, input gradient";
    case workload::Pass::kWeight: return "backward, weight gradient";
    case workload::Pass::kOptimizer: return "optimizer";
  }
  return {};
}

Explanation explain_one(const spec::Job& job, const Operator& op, const plan::GroupPlacement& where,
                        const cost::CostModel& model, bool with_parameters) {
  Explanation node = explain_price(job, op, where, model, with_parameters);
  node.name = fmt::format("{}{}, {}", op.name, phase_of(op), pass_word(op.pass));
  return node;
}

/// Two operators alike in everything that is shown are told once; a wait shows what it is for.
std::string signature(const Operator& op) {
  const int waits_for = op.host_wait_s > 0 ? static_cast<int>(op.module) : 0;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", op.name, static_cast<int>(op.pass), waits_for,
                     op.m, op.n, op.k, op.groups, op.flops, op.bytes, op.comm_bytes);
}

struct Total {
  std::string name;
  double seconds = 0;
  int64_t count = 0;
};

/// By operator name and pass, in the order of the program.
std::vector<Total> compute_totals(const plan::Plan& plan, const cost::CostTable& costs) {
  std::vector<Total> totals;
  std::map<std::string, size_t> index;
  for (const plan::Instruction& it : plan.roles.front().program) {
    if (it.kind != plan::InstructionKind::kCompute) continue;
    const Operator& op = plan.operators[static_cast<size_t>(it.op)];
    if (op.pass == workload::Pass::kOptimizer) continue;
    const std::string name = fmt::format("op:{}, {}", op.name, pass_word(op.pass));
    const auto [found, is_new] = index.try_emplace(name, totals.size());
    if (is_new) totals.push_back({name, 0, 0});
    totals[found->second].seconds += costs.prices.front()[static_cast<size_t>(it.op)].seconds();
    totals[found->second].count += 1;
  }
  return totals;
}

}  // namespace

Result<std::vector<Explanation>> heaviest_operators(const spec::Job& job) {
  constexpr size_t kShown = 12;
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  std::vector<Total> totals = compute_totals(plan, cost::price_plan(model, plan, job));
  std::ranges::stable_sort(totals, std::ranges::greater{}, &Total::seconds);
  if (totals.size() > kShown) totals.resize(kShown);
  std::vector<Explanation> nodes;
  for (const Total& total : totals) {
    nodes.push_back(number_node(total.name, total.seconds, "s"));
    nodes.back().formula =
        fmt::format("{} x {} each", total.count,
                    base::format_seconds(total.seconds / static_cast<double>(total.count)));
  }
  return nodes;
}

Result<Explanation> explain_operator(const spec::Job& job, const std::string& name) {
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  const bool boosts =
      spec::multiplies_at_boost(job.cluster.node.gpu, job.training, job.training.precision);
  Explanation root;
  root.name = "op:" + name;
  root.text = boosts ? "seconds on one rank: matrix products at the GPU's boost clock, all else at "
                       "its sustained clock"
                     : "seconds on one rank at the GPU's sustained clock";
  std::set<std::string> told, names;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < plan.operators.size(); ++i) {
    const Operator& op = plan.operators[i];
    names.insert(op.name);
    if (op.name == name && told.insert(signature(op)).second) chosen.push_back(i);
  }
  std::ranges::stable_sort(
      chosen, [&](size_t a, size_t b) { return plan.operators[a].pass < plan.operators[b].pass; });
  for (const size_t i : chosen)
    root.inputs.push_back(
        explain_one(job, plan.operators[i], plan.placements.front()[i], model,
                    root.inputs.empty() || plan.operators[i].name == plan::kReconfiguration));
  if (!root.inputs.empty()) return root;
  return input_error("--explain op:{}: this job has no such operator; it has {}{}", name,
                     fmt::join(names, ", "), base::did_you_mean(name, names));
}

}  // namespace ergometer::report
