#include "engine/power/activity.h"

#include <algorithm>
#include <cmath>

#include "engine/power/period_work.h"
#include "engine/time/compile.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

std::vector<std::vector<double>> durations(const EngineInput& input) {
  std::vector<std::vector<double>> result;
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const PricedOperators operators(input, role);
    std::vector<double>& row = result.emplace_back(input.plan.roles[role].program.size());
    for (size_t i = 0; i < row.size(); ++i) row[i] = operators.duration(i).at(1);
  }
  return result;
}

double last_end_s(const std::vector<Activities>& times) {
  double end_s = 0;
  for (const Activities& role : times)
    for (const double t : role.end_s) end_s = std::max(end_s, t);
  return end_s;
}

/// Adds work that lasts from `begin_s` to `end_s`, evenly, to the slices it touches.
void spread(RoleActivity& role, double slice_s, double begin_s, double end_s,
            const physics::Energy& energy, double clocked_s) {
  const auto last = static_cast<double>(role.slices.size() - 1);
  const auto first_slice = static_cast<size_t>(std::clamp(begin_s / slice_s, 0.0, last));
  const auto last_slice = static_cast<size_t>(std::clamp(end_s / slice_s, 0.0, last));
  if (first_slice == last_slice) {
    role.slices[first_slice] += energy;
    role.clocked_s[first_slice] += clocked_s;
    return;
  }
  for (size_t i = first_slice; i <= last_slice; ++i) {
    const double from_s = i == first_slice ? begin_s : slice_s * static_cast<double>(i);
    const double to_s = i == last_slice ? end_s : slice_s * static_cast<double>(i + 1);
    const double share = (to_s - from_s) / (end_s - begin_s);
    role.slices[i] += share * energy;
    role.clocked_s[i] += share * clocked_s;
  }
}

int pieces(double length_s, double piece_s, int most) {
  return static_cast<int>(
      std::clamp(std::ceil(length_s / piece_s), 1.0, static_cast<double>(most)));
}

/// The periods that a folded plan leaves out, each like the last one it has.
void add_left_out(const PeriodWork& period, int64_t periods, double period_s, double slice_s,
                  RoleActivity& role) {
  for (size_t slice = 0; slice < role.slices.size(); ++slice) {
    const double from_s = slice_s * static_cast<double>(slice);
    const SliceWork work = period.between(from_s, from_s + slice_s, 1, periods, period_s);
    role.slices[slice] += work.energy;
    role.clocked_s[slice] += work.clocked_s;
  }
}

/// The ranks of a role that are looked at as one.
struct Alike {
  size_t role = 0, kind = 0;
  int32_t load_class = 0;
  int64_t rank = 0;  ///< one of them, by its index in the role; below 0: the role has none
};

int64_t a_rank_of(const spec::Job& job, size_t role, size_t kind) {
  if (!spec::is_mixed(job.cluster)) return 0;
  const RankGroups groups(job, static_cast<int64_t>(role));
  for (int64_t rank = 0; rank < job.stage_ranks(); ++rank)
    if (groups.of(rank) == kind) return rank;
  return -1;
}

/// What ranks that have so much to do work in an instruction that begins at `begin_s` and ends at
/// `end_s` on the one that the step waits for: a rank with less to do ends sooner, and waits; one
/// of a role on unlike nodes has times of its own, and waits in the collectives.
struct RankWork {
  double begin_s = 0, end_s = 0, clocked_s = 0;
  physics::Energy energy;
};
RankWork work_of(const PricedOperators& operators, const Energies& energies, const Alike& ranks,
                 size_t index, const plan::Instruction& it, double load, double begin_s,
                 double end_s) {
  const auto op = static_cast<size_t>(it.op);
  RankWork work{begin_s, end_s, operators.duration(index).clocked_s, energies.even[ranks.role][op]};
  if (operators.mixed() && it.kind != plan::InstructionKind::kCompute)
    work.begin_s = std::max(begin_s, end_s - operators.duration(index).at(1));
  const bool loaded = !energies.per_load.empty();
  if (it.kind != plan::InstructionKind::kCompute || !(loaded || operators.mixed())) return work;
  const ClockedTime own = operators.at_load(index, load, ranks.rank);
  work.end_s = std::min(end_s, begin_s + own.at(1));
  work.clocked_s = own.clocked_s;
  if (loaded) work.energy += (load - 1) * energies.per_load[ranks.role][op];
  return work;
}

RoleActivity activity_of(const EngineInput& input, const Alike& ranks, const LoadClasses& classes,
                         const StepTimes& times, const Energies& energies, int slices) {
  RoleActivity result;
  result.slices.resize(static_cast<size_t>(slices));
  result.clocked_s.resize(static_cast<size_t>(slices));
  if (ranks.rank < 0) return result;
  const size_t number = ranks.role;
  const double slice_s = times.step_s / slices;
  const PricedOperators operators(input, number);
  const plan::Role& role = input.plan.roles[number];
  const Activities& activities = times.of(number, ranks.kind);
  PeriodWork period;
  for (size_t i = 0; i < role.program.size(); ++i) {
    const plan::Instruction& it = role.program[i];
    if (!draws(it) || operators.is_left_out(i, ranks.rank)) continue;
    const double later_s = i < role.periods[2] ? 0 : times.left_out_s;
    const double begin_s = activities.begin_s[i] + later_s;
    // Over the steps every replica gets long and short documents: power is that of their mean.
    const double load = operators.loads().of_documents()
                            ? operators.loads().average(operators.row(i))
                            : classes.load(it.layer, ranks.load_class);
    const RankWork work =
        work_of(operators, energies, ranks, i, it, load, begin_s, activities.end_s[i] + later_s);
    spread(result, slice_s, work.begin_s, work.end_s, work.energy, work.clocked_s);
    if (input.plan.times(role, i) > 1)
      period.add(work.begin_s, work.end_s, {work.energy, work.clocked_s});
  }
  if (input.plan.periods_left_out == 0) return result;
  period.close();
  add_left_out(period, input.plan.periods_left_out,
               times.left_out_s / static_cast<double>(input.plan.periods_left_out), slice_s,
               result);
  return result;
}

StepActivity fine_activity(const EngineInput& input, const StepTimes& times,
                           std::span<const Energies> energies, int slices) {
  StepActivity result;
  result.step_s = times.step_s;
  result.slices = slices;
  const LoadClasses classes(input.job,
                            input.plan.uneven ? input.plan.uneven->loads : workload::ExpertLoads());
  for (size_t role = 0; role < input.plan.roles.size(); ++role)
    for (size_t kind = 0; kind < energies.size(); ++kind) {
      const int64_t rank = a_rank_of(input.job, role, kind);
      for (int32_t load_class = 0; load_class < classes.count(); ++load_class)
        result.roles.push_back(activity_of(input, {role, kind, load_class, rank}, classes, times,
                                           energies[kind], slices));
    }
  return result;
}

/// One rank of every kind of each role that runs on several.
std::vector<int64_t> ranks_of_mixed_roles(const spec::Job& job) {
  std::vector<int64_t> ranks;
  for (int64_t role = 0; role < job.parallelism.pp; ++role) {
    const std::vector<size_t> kinds = spec::groups_of_stage(job, role);
    if (kinds.size() == 1) continue;
    for (const size_t kind : kinds)
      ranks.push_back(role * job.stage_ranks() + a_rank_of(job, static_cast<size_t>(role), kind));
  }
  std::ranges::sort(ranks);
  return ranks;
}

/// When that rank does what, as the sweep played it. What it waits for others in a collective is no
/// work.
void take_spans(const EngineInput& input, const Timeline& timeline, StepTimes& times) {
  const size_t kinds = spec::group_count(input.job.cluster), roles = input.plan.roles.size();
  times.of_kinds.resize(roles * kinds);
  for (const Span& span : timeline.spans) {
    const auto role = static_cast<size_t>(span.rank / input.job.stage_ranks());
    Activities& own = times.of_kinds[role * kinds + spec::group_of_rank(input.job, span.rank)];
    own.begin_s.resize(input.plan.roles[role].program.size());
    own.end_s.resize(own.begin_s.size());
    own.begin_s[static_cast<size_t>(span.instruction)] = span.start_s;
    own.end_s[static_cast<size_t>(span.instruction)] = span.end_s;
  }
}

/// Ranks on unlike nodes wait for each other now here, now there: the step is as long as the sweep
/// over all ranks says, what the one looked at does lies in it in proportion, and of a role on
/// several kinds one of each is looked at.
void fit_to_sweep(const EngineInput& input, StepTimes& times) {
  const std::vector<int64_t> sampled = ranks_of_mixed_roles(input.job);
  // A folded plan has no times of the whole step.
  if (!sampled.empty() && input.plan.periods_left_out > 0) times.steady = false;
  if (!times.steady) return;
  EngineInput at_reference = input;
  at_reference.clocks_hz = std::span(&input.costs.reference_clock_hz, 1);
  at_reference.sampled_ranks = sampled;
  const Timeline timeline = sweep(at_reference);
  times.steady = timeline.steady;
  const double factor = timeline.step_s / times.step_s;
  for (Activities& role : times.roles)
    for (std::vector<double>* seconds : {&role.begin_s, &role.end_s})
      for (double& at_s : *seconds) at_s *= factor;
  times.left_out_s *= factor;
  times.step_s = timeline.step_s;
  take_spans(input, timeline, times);
}

}  // namespace

StepActivity coarser(const StepActivity& fine, int factor) {
  StepActivity result;
  result.step_s = fine.step_s;
  result.slices = fine.slices / factor;
  for (const RoleActivity& role : fine.roles) {
    RoleActivity& sum = result.roles.emplace_back();
    sum.slices.resize(static_cast<size_t>(result.slices));
    sum.clocked_s.resize(static_cast<size_t>(result.slices));
    for (size_t i = 0; i < role.slices.size(); ++i) {
      sum.slices[i / static_cast<size_t>(factor)] += role.slices[i];
      sum.clocked_s[i / static_cast<size_t>(factor)] += role.clocked_s[i];
    }
  }
  return result;
}

StepTimes reference_times(const EngineInput& input) {
  StepTimes times;
  const LeftOut left_out = run_representatives(input, durations(input), times.roles);
  times.steady = left_out.steady;
  times.left_out_s = left_out.period_s * static_cast<double>(input.plan.periods_left_out);
  times.step_s = last_end_s(times.roles) + times.left_out_s;
  if (spec::is_mixed(input.job.cluster)) fit_to_sweep(input, times);
  return times;
}

bool draws(const plan::Instruction& it) {
  return launches(it.kind) && it.op >= 0 && it.kind != plan::InstructionKind::kRecv;
}

Result<std::vector<Energies>> energies_of_groups(const spec::Job& job, const plan::Plan& plan) {
  std::vector<Energies> all;
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group) {
    ERGOMETER_ASSIGN(const cost::EnergyModel model,
                     cost::EnergyModel::make(spec::on_group(job, group)));
    all.push_back({cost::price_energy(model, plan), cost::price_load_energy(model, plan)});
  }
  return all;
}

StepActivities step_activities(const EngineInput& input, std::span<const Energies> energies,
                               const Slicing& slicing) {
  const StepTimes times = reference_times(input);
  if (!times.steady) return {.fine = {}, .coarse = {}, .steady = false};
  const double step_s = times.step_s;
  // Many slices come in eights, so that intervals can look at eight sums of them.
  const int wanted = pieces(step_s, slicing.coarse_s, slicing.most_coarse);
  const int coarse = wanted > 8 ? wanted / 8 * 8 : wanted;
  const double fine_s = std::min(slicing.fine_s, step_s / slicing.least_fine);
  const int factor = pieces(step_s / coarse, fine_s, std::max(1, slicing.most_fine / coarse));
  StepActivities result;
  result.fine = fine_activity(input, times, energies, coarse * factor);
  result.coarse = coarser(result.fine, factor);
  return result;
}

}  // namespace ergometer::engine
