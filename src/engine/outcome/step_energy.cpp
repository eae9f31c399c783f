#include "engine/outcome/step_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/outcome/step_energy_rows.h"
#include "engine/power/activity.h"
#include "engine/time/compile.h"

namespace ergometer::engine {
namespace {

using Parts = std::array<double, kPartCount>;

Parts mean_parts_of(const Timeline& timeline, int64_t first, int64_t ranks) {
  Parts mean{};
  for (int64_t rank = first; rank < first + ranks; ++rank)
    for (size_t part = 0; part < kPartCount; ++part)
      mean[part] += timeline.ranks[static_cast<size_t>(rank)].parts_s[part];
  for (double& part : mean) part /= static_cast<double>(ranks);
  return mean;
}

std::vector<RoleEnergy> drawn_by_role(const StepEnergyInput& from) {
  std::vector<RoleEnergy> roles(from.input.plan.roles.size());
  const double step_s = from.power.duration_s / from.power.steps;
  for (size_t gpu = 0; gpu < from.gpus.size(); ++gpu) {
    if (from.fleet.role[gpu] < 0) continue;
    const GpuRecord& mean = from.gpus[gpu];
    const double weight = from.fleet.weight_of(gpu);
    RoleEnergy& role = roles[from.fleet.stage_of(gpu)];
    role.ranks += weight;
    role.core_j += weight * step_s * mean.core_w;
    role.memory_j += weight * step_s * mean.hbm_w;
    role.link_j += weight * step_s * mean.links_w;
    role.standing_j += weight * step_s * (mean.mean_w - mean.core_w - mean.hbm_w - mean.links_w);
  }
  return roles;
}

/// What an operator takes out of a rank of a role, mean over its kinds.
class RoleEnergies {
 public:
  RoleEnergies(const StepEnergyInput& from, size_t role) : from_(from), role_(role) {
    for (size_t gpu = 0; gpu < from.gpus.size(); ++gpu) {
      if (from.fleet.role[gpu] < 0 || from.fleet.stage_of(gpu) != role) continue;
      ranks_[from.fleet.kind_of(gpu)] += from.fleet.weight_of(gpu);
      all_ += from.fleet.weight_of(gpu);
    }
  }
  physics::Energy of(size_t op) const {
    physics::Energy mean;
    for (const auto& [kind, ranks] : ranks_)
      mean += (ranks / all_) * from_.energies[kind].even[role_][op];
    return mean;
  }

 private:
  const StepEnergyInput& from_;
  size_t role_;
  std::map<size_t, double> ranks_;
  double all_ = 0;
};

/// One role's program, instruction by instruction.
class Uses {
 public:
  Uses(const StepEnergyInput& from, const EnergyNames& names, size_t role)
      : operators(from.input.plan.operators.size()),
        places(names.places.size()),
        names_(names),
        priced_(from.input, role) {}

  void add(const StepEnergyInput& from, const Activities& times, size_t role) {
    const plan::Role& source = from.input.plan.roles[role];
    const std::vector<plan::Instruction>& program = source.program;
    const RoleEnergies energies(from, role);
    double free_s = 0;  // of the compute stream
    for (size_t i = 0; i < program.size(); ++i) {
      const plan::Instruction& it = program[i];
      const bool computes = it.stream == workload::Stream::kCompute;
      const double begin_s = launches(it.kind) ? times.begin_s[i] : free_s;
      const double length_s = times.end_s[i] - begin_s;
      if (it.op >= 0) {
        const size_t part = static_cast<size_t>(part_of(from, it));
        WorkUse use;
        if (draws(it)) use.energy = energies.of(static_cast<size_t>(it.op));
        if (launches(it.kind)) use.running_s[part] = length_s;
        if (computes) use.charged_s[part] = charged_s(it, i, length_s);
        take(it, part, use, from.input.plan.times(source, i));
      }
      if (computes) free_s = times.end_s[i];
    }
  }

  WorkUse all;
  std::vector<WorkUse> operators, places;

 private:
  Part part_of(const StepEnergyInput& from, const plan::Instruction& it) const {
    const workload::Operator& op = from.input.plan.operators[static_cast<size_t>(it.op)];
    if (op.kind == workload::OperatorKind::kCollective) return priced_.of(it).part;
    return op.pass == workload::Pass::kOptimizer ? Part::kOptimizer : Part::kCompute;
  }
  /// As the engine charges it: waiting for other stages is idle time.
  double charged_s(const plan::Instruction& it, size_t index, double length_s) const {
    if (it.kind == plan::InstructionKind::kCompute) return length_s;
    switch (priced_.of(it).charge) {
      case Charge::kNone: return 0;
      case Charge::kWhole: return length_s;
      case Charge::kDuration: return std::min(length_s, priced_.duration(index).at(1));
    }
    return 0;
  }
  void take(const plan::Instruction& it, size_t part, const WorkUse& use, double times) {
    for (WorkUse* sum :
         {&all, &operators[static_cast<size_t>(it.op)], &places[names_.place_of(it)]}) {
      sum->charged_s[part] += times * use.charged_s[part];
      sum->running_s[part] += times * use.running_s[part];
      sum->energy += times * use.energy;
    }
  }

  const EnergyNames& names_;
  PricedOperators priced_;
};

double share(double of, double all) { return all > 0 ? of / all : 0; }

}  // namespace

EnergyDivision::EnergyDivision(const RoleEnergy& drawn, const WorkUse& all, const Parts& parts_s,
                               double step_s)
    : drawn_(drawn), step_s_(step_s), idle_s_(step_s) {
  per_core_j_ = share(drawn.core_j, all.energy.core_j());
  per_memory_j_ = share(drawn.memory_j, all.energy.memory_j);
  per_link_j_ = share(drawn.link_j, all.energy.link_j);
  for (size_t part = 0; part < kPartCount; ++part) {
    // Ranks that differ wait where a lone one of their role does not: then it is the collectives of
    // that kind that they wait for.
    per_charged_s_[part] = share(parts_s[part], all.charged_s[part]);
    if (all.charged_s[part] <= 0) per_running_s_[part] = share(parts_s[part], all.running_s[part]);
    if (all.charged_s[part] > 0 || all.running_s[part] > 0) idle_s_ -= parts_s[part];
  }
}

EnergyUse EnergyDivision::standing(double seconds) const {
  return {.standing_j = drawn_.standing_j * share(seconds, step_s_),
          .seconds = drawn_.ranks * seconds};
}

EnergyUse EnergyDivision::of(const WorkUse& part) const {
  double seconds = 0;
  for (size_t i = 0; i < kPartCount; ++i)
    seconds += per_charged_s_[i] * part.charged_s[i] + per_running_s_[i] * part.running_s[i];
  EnergyUse use = standing(seconds);
  use.work_j = per_core_j_ * part.energy.core_j() + per_memory_j_ * part.energy.memory_j +
               per_link_j_ * part.energy.link_j;
  return use;
}

std::vector<run::EnergyRow> step_energy(const StepEnergyInput& from) {
  const plan::Plan& plan = from.input.plan;
  const StepTimes times = reference_times(from.input);
  const std::vector<RoleEnergy> drawn = drawn_by_role(from);
  const EnergyNames names = energy_names(plan, from.workload);
  EnergyTotals totals{.operators = std::vector<EnergyUse>(plan.operators.size()),
                      .places = std::vector<EnergyUse>(names.places.size()),
                      .roles = std::vector<EnergyUse>(plan.roles.size()),
                      .stacks = {},
                      .idle = {}};
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    Uses uses(from, names, role);
    uses.add(from, times.roles[role], role);
    const int64_t first = static_cast<int64_t>(role) * plan.ranks_per_role;
    const EnergyDivision division(drawn[role], uses.all,
                                  mean_parts_of(from.timeline, first, plan.ranks_per_role),
                                  from.timeline.step_s);
    std::map<std::string, EnergyUse> stacks;
    for (size_t i = 0; i < uses.operators.size(); ++i) {
      const EnergyUse use = division.of(uses.operators[i]);
      totals.operators[i] += use;
      if (use.joules() > 0) stacks[names.stack(role, i)] += use;
    }
    totals.stacks.insert(totals.stacks.end(), stacks.begin(), stacks.end());
    totals.stacks.emplace_back(fmt::format("stage {};idle", role), division.idle());
    for (size_t i = 0; i < uses.places.size(); ++i) totals.places[i] += division.of(uses.places[i]);
    totals.roles[role] += division.of(uses.all);
    totals.roles[role] += division.idle();
    totals.idle += division.idle();
  }
  return energy_rows(totals, names, from.power, static_cast<double>(from.fleet.ranks));
}

}  // namespace ergometer::engine
