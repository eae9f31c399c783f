#include "engine/untaxed.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/collection.h"
#include "cost/degraded.h"
#include "engine/handed_over.h"

namespace ergometer::engine {
namespace {

using plan::InstructionKind;

void remove_latency(spec::Node& node) {
  base::ParameterSet& parameters = node.gpu.parameters;
  base::Parameter latency = *parameters.find("kernel.latency");
  latency.value = 0;
  parameters.set("kernel.latency", latency);
}

spec::Job without_latency(spec::Job job) {
  remove_latency(job.cluster.node);
  for (spec::NodeGroup& group : job.cluster.groups) remove_latency(group.node);
  return job;
}

/// Prices of kernels that need no launch, on a host that needs no time.
Result<cost::CostTable> launch_free_costs(const spec::Job& job, const Simulation& from,
                                          std::span<const cost::CostModel> models) {
  cost::CostTable costs = cost::price_plan(models, from.plan, job);
  ERGOMETER_TRY(cost::degrade_links(job, from.plan, costs));
  static_cast<cost::HostCosts&>(costs) = {};
  costs.reference_clock_hz = from.played_at.costs.reference_clock_hz;
  return costs;
}

/// An operator's time with what it reads and writes of its neighbours kept on the chip, as a share
/// of its time.
class OnChip {
 public:
  OnChip(const plan::Plan& plan, size_t role, const cost::CostModel& model)
      : plan_(plan), role_(role), model_(model) {}

  double share(int32_t op, const HandedOver& handed) {
    const double bytes = handed.read_bytes + handed.written_bytes;
    if (bytes <= 0) return 1;
    const auto [found, is_new] = shares_.try_emplace({op, bytes}, 1.0);
    if (is_new) found->second = price(static_cast<size_t>(op), bytes);
    return found->second;
  }

 private:
  double price(size_t number, double bytes) const {
    workload::Operator op = plan_.operators[number];
    if (op.bytes <= 0) return 1;
    const plan::GroupPlacement& where = plan_.placements[role_][number];
    const double whole_s = model_.price(op, where).seconds();
    // Of no bytes at all the price would be that of bytes not told.
    op.bytes = std::max(op.bytes - bytes, 1.0);
    return whole_s > 0 ? std::min(1.0, model_.price(op, where).seconds() / whole_s) : 1;
  }

  const plan::Plan& plan_;
  size_t role_;
  const cost::CostModel& model_;
  std::map<std::pair<int32_t, double>, double> shares_;
};

Stretch on_chip(const Simulation& from, std::span<const cost::CostModel> models) {
  Stretch stretch = from.stretch;
  stretch.resize(from.plan.roles.size());
  for (size_t role = 0; role < stretch.size(); ++role) {
    const std::vector<plan::Instruction>& program = from.plan.roles[role].program;
    const std::vector<size_t>& slowest = from.played_at.costs.slowest_group;
    OnChip kept(from.plan, role, models[slowest.empty() ? 0 : slowest[role]]);
    const std::vector<HandedOver> handed = handed_over(from.plan, role);
    stretch[role].resize(program.size(), 1.0f);
    for (size_t i = 0; i < program.size(); ++i)
      stretch[role][i] = static_cast<float>(static_cast<double>(stretch[role][i]) *
                                            kept.share(program[i].op, handed[i]));
  }
  return stretch;
}

/// Exactly the end of all ranks where that is one.
double mean_end_s(const Timeline& timeline) {
  const double first_s = timeline.ranks.front().end_s;
  double later_s = 0;
  for (const RankTimes& rank : timeline.ranks) later_s += rank.end_s - first_s;
  return first_s + later_s / static_cast<double>(timeline.ranks.size());
}

}  // namespace

Result<Untaxed> Untaxed::make(const spec::Job& job, Simulation& simulation) {
  Untaxed untaxed(job, simulation);
  ERGOMETER_ASSIGN(untaxed.models_, cost::models_of_groups(job));
  ERGOMETER_ASSIGN(untaxed.launch_free_models_, cost::models_of_groups(without_latency(job)));
  ERGOMETER_ASSIGN(untaxed.launch_free_,
                   launch_free_costs(job, simulation, untaxed.launch_free_models_));
  return untaxed;
}

Timeline Untaxed::play(const Without& without) {
  Stretch& kept = on_chip_[without.launches ? 1 : 0];
  if (without.round_trips && kept.empty())
    kept = on_chip(simulation_, without.launches ? launch_free_models_ : models_);
  Timeline timeline = sweep({.job = job_,
                             .plan = simulation_.plan,
                             .costs = without.launches ? launch_free_ : simulation_.played_at.costs,
                             .clocks_hz = simulation_.played_at.clocks_hz,
                             .sampled_ranks = {},
                             .stretch = without.round_trips ? kept : simulation_.stretch,
                             .host_stalls = {},
                             .waits_left_out = without.waits});
  if (timeline.steady) return timeline;
  unfold(job_, simulation_);
  on_chip_ = {};
  return play(without);
}

double Untaxed::step_s(const Without& without) {
  const Timeline timeline = play(without);
  return without.waits.collectives ? mean_end_s(timeline) : timeline.step_s;
}

double Untaxed::last_behind_mean_s(const Without& without) {
  const Timeline timeline = play(without);
  return timeline.step_s - mean_end_s(timeline);
}

Untaxed::Pairs Untaxed::pairs() const {
  const plan::Plan& plan = simulation_.plan;
  const auto roles = static_cast<double>(plan.roles.size());
  Pairs pairs;
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const std::vector<HandedOver> handed = handed_over(plan, role);
    for (size_t i = 0; i < handed.size(); ++i) {
      if (handed[i].read_bytes <= 0) continue;
      const double times = plan.times(plan.roles[role], i) / roles;
      pairs.count += times;
      pairs.bytes += 2 * handed[i].read_bytes * times;
    }
  }
  return pairs;
}

std::vector<std::string> Untaxed::sites() const {
  std::vector<std::string> names;
  for (const plan::Role& role : simulation_.plan.roles)
    for (const plan::Instruction& it : role.program) {
      if (it.kind != InstructionKind::kCollective && it.kind != InstructionKind::kWorld) continue;
      const std::string& name = simulation_.plan.operators[static_cast<size_t>(it.op)].name;
      if (!base::contains(names, name)) names.push_back(name);
    }
  return names;
}

}  // namespace ergometer::engine
