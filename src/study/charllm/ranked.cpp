#include "study/charllm/ranked.h"

#include "cost/given_choice.h"
#include "engine/simulate.h"
#include "spec/settings/settings.h"

namespace ergometer::study::charllm {
namespace {

/// How often a role's program sends with each operator; receives count at their sender. The
/// gradient norm is left out: one number, which would make every GPU of every layout a sender.
std::vector<double> sends(const plan::Plan& plan, const plan::Role& role) {
  std::vector<double> times(plan.operators.size(), 0);
  for (size_t i = 0; i < role.program.size(); ++i) {
    const plan::Instruction& it = role.program[i];
    if ((it.kind == plan::InstructionKind::kCollective ||
         it.kind == plan::InstructionKind::kWorld || it.kind == plan::InstructionKind::kSend) &&
        it.op >= 0 &&
        plan.operators[static_cast<size_t>(it.op)].group != workload::GroupKind::kWorld)
      times[static_cast<size_t>(it.op)] += plan.times(role, i);
  }
  return times;
}

void add_traffic(const spec::Job& job, const plan::Plan& plan, Ranked& result) {
  const cost::PlanTraffic traffic(job, plan);
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const std::vector<double> times = sends(plan, plan.roles[role]);
    double intra = 0, nic = 0;
    for (size_t op = 0; op < times.size(); ++op) {
      if (times[op] <= 0) continue;
      const cost::Traffic sent = traffic.of(role, op);
      intra += sent.intra_bytes * times[op];
      nic += sent.nic_bytes * times[op];
    }
    result.intra_bytes.push_back(intra);
    result.nic_bytes.push_back(nic);
  }
}

}  // namespace

std::optional<Ranked> ranked(const run::StudyPoint* point, const std::vector<int64_t>& sampled) {
  if (point == nullptr) return std::nullopt;
  spec::Settings settings;
  for (const auto& [name, value] : point->settings)
    settings.set(name, value, spec::Origin{"the study", {}});
  const auto job = spec::resolve(settings);
  if (!job) return std::nullopt;
  auto simulation = engine::simulate_in_full(*job, {.sampled_ranks = sampled, .all_ranks = true});
  if (!simulation) return std::nullopt;
  Ranked result;
  result.step_s = simulation->run.performance.step_time_s;
  result.ranks = std::move(simulation->run.ranks);
  result.kernels = std::move(simulation->run.kernels);
  add_traffic(*job, simulation->plan, result);
  return result;
}

}  // namespace ergometer::study::charllm
