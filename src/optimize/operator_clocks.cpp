// Clocks by kind of work against one locked clock. With t(f) and e(f) of a group of work as in
// stage_tables.cpp, all groups start at the clock that GPUs settle at; again and again the group
// whose next lower clock saves most for the time that it takes goes there, as long as the step
// stays within what is granted. Where energy over time is convex, as that of core voltage and clock
// is, no choice of clocks takes less (but for the last step of the lattice).
//
// A change that takes c is asked for when a run begins: of its kind's clock where the run is longer
// than c, else of the clock of the others. What is asked for at t is there from t + c on, of the
// next run's time too, and of the next step's, for steps repeat. At c = 0 that is a clock a kind,
// and beyond the longest run one locked clock.
//
// Waiting is as long as in the unchanged job, whatever the neighbours' clocks. Where experts are
// unevenly full, a layer's times are those of the rank that is fullest there, for whom the others
// wait, and its joules those of the mean rank. Of documents of unlike lengths it is the replica
// with most work in the step that the job is played with, the one of several drawn that is nearest
// to their mean.
#include "optimize/operator_clocks.h"

#include <algorithm>
#include <deque>
#include <set>
#include <span>

#include "base/check.h"
#include "cost/energy.h"
#include "engine/simulate.h"
#include "engine/time/compile.h"
#include "optimize/outcome.h"
#include "plan/placement.h"

namespace ergometer::optimize {
namespace {

using Groups = std::vector<std::vector<ClockChoice>>;

struct Edge {
  double at_s = 0;
  bool begins = false;
  size_t span = 0;
};

std::vector<Edge> edges_of(const std::vector<WorkSpan>& spans) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].end_s <= spans[i].start_s) continue;
    edges.push_back({spans[i].start_s, true, i});
    edges.push_back({spans[i].end_s, false, i});
  }
  std::ranges::stable_sort(edges, {}, &Edge::at_s);
  return edges;
}

/// What runs from now on for `length_s`: of what runs at the same time the first kind tells it and
/// how it follows the clock, and all of it takes its energy.
void add_piece(const std::vector<WorkSpan>& spans, const std::vector<size_t>& active,
               double length_s, RankRuns& runs) {
  if (length_s <= 0) return;
  const WorkSpan* telling = nullptr;
  physics::Energy energy;
  for (const size_t i : active) {
    const WorkSpan& span = spans[i];
    energy += (length_s / (span.end_s - span.start_s)) * span.energy;
    if (telling == nullptr || span.kind < telling->kind) telling = &span;
  }
  const WorkKind kind = telling == nullptr ? WorkKind::kWaiting : telling->kind;
  if (runs.empty() || runs.back().kind != kind) runs.push_back({kind, {}});
  ClockedWork& work = runs.back().work;
  work.wall_s += length_s;
  work.energy += energy;
  if (telling != nullptr)
    work.clocked_s += telling->clocked_s * length_s / (telling->end_s - telling->start_s);
}

void add_part(const ClockedWork& work, double share, ClockedWork& sum) {
  sum.wall_s += share * work.wall_s;
  sum.clocked_s += share * work.clocked_s;
  sum.energy += share * work.energy;
}

/// The position of each group's choice.
using Chosen = std::vector<size_t>;

ClockedStep step_of(const Groups& groups, const Chosen& at) {
  ClockedStep step;
  for (size_t i = 0; i < groups.size(); ++i) {
    step.step_s += groups[i][at[i]].time_s;
    step.gpu_energy_j += groups[i][at[i]].energy_j;
  }
  return step;
}

Chosen least_energy(const Groups& groups, double most_s) {
  Chosen at(groups.size(), 0);
  double time_s = step_of(groups, at).step_s;
  for (;;) {
    size_t best = groups.size();
    double best_j = 0, best_s = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (at[i] + 1 == groups[i].size()) continue;
      const ClockChoice &now = groups[i][at[i]], &next = groups[i][at[i] + 1];
      const double saved_j = now.energy_j - next.energy_j, more_s = next.time_s - now.time_s;
      if (saved_j <= 0 || time_s + more_s > most_s) continue;
      if (best < groups.size() && saved_j * best_s <= best_j * more_s) continue;
      best = i;
      best_j = saved_j;
      best_s = more_s;
    }
    if (best == groups.size()) return at;
    ++at[best];
    time_s += best_s;
  }
}

/// One locked clock and clocks by group, whichever takes less.
class Weighing {
 public:
  Weighing(const OperatorClockTerms& terms, const physics::GpuPower& gpu)
      : terms_(terms), gpu_(gpu) {}

  std::vector<ClockChoice> choices(const ClockedWork& work) const {
    return clock_choices(work, terms_.settled, terms_.reference_hz, terms_.gpus, gpu_);
  }

  /// In no more than `most_s`.
  ClockedStep chosen(const std::vector<ClockedWork>& works, double most_s,
                     std::vector<double>& clocks_hz) const {
    Groups groups;
    for (const ClockedWork& work : works) groups.push_back(choices(work));
    const Chosen at = least_energy(groups, most_s * (1 + kRounding));
    for (size_t i = 0; i < groups.size(); ++i) clocks_hz.push_back(groups[i][at[i]].clock_hz);
    return step_of(groups, at);
  }

 private:
  /// Sums in another order may differ by as much.
  static constexpr double kRounding = 1e-12;

  const OperatorClockTerms& terms_;
  const physics::GpuPower& gpu_;
};

struct ClockPart {
  size_t clock = kWorkKinds;  ///< a kind's own; the last: that of the others
  double left_s = 0;
};

/// The clocks that a rank has, in order from its step's begin: what was asked for `change_s` ago,
/// at first in the step before.
std::deque<ClockPart> clocks_there(const RankRuns& runs, double change_s) {
  std::deque<ClockPart> clocks;
  double step_s = 0;
  for (const WorkRun& run : runs) {
    const double wall_s = run.work.wall_s;
    clocks.push_back({wall_s > change_s ? static_cast<size_t>(run.kind) : kWorkKinds, wall_s});
    step_s += wall_s;
  }
  // Of changes longer than the step, nothing reaches any run: all are alike.
  double late_s = change_s < step_s ? change_s : 0;
  while (late_s > 0) {
    const ClockPart last = clocks.back();
    const double part_s = std::min(last.left_s, late_s);
    clocks.back().left_s -= part_s;
    if (clocks.back().left_s <= 0) clocks.pop_back();
    clocks.push_front({last.clock, part_s});
    late_s -= part_s;
  }
  return clocks;
}

/// What runs under each kind's own clock, and last under that of the others.
std::vector<ClockedWork> clocked_work(const std::vector<RankRuns>& ranks, double change_s) {
  std::vector<ClockedWork> works(kWorkKinds + 1);
  for (const RankRuns& runs : ranks) {
    std::deque<ClockPart> clocks = clocks_there(runs, change_s);
    for (const WorkRun& run : runs) {
      double left_s = run.work.wall_s;
      while (left_s > 0) {
        // The last takes what rounding leaves.
        const double part_s = clocks.size() > 1 ? std::min(left_s, clocks.front().left_s) : left_s;
        add_part(run.work, part_s / run.work.wall_s / static_cast<double>(ranks.size()),
                 works[clocks.front().clock]);
        left_s -= part_s;
        clocks.front().left_s -= part_s;
        if (clocks.size() > 1 && clocks.front().left_s <= 0) clocks.pop_front();
      }
    }
  }
  return works;
}

std::array<WorkKindRow, kWorkKinds> rows_of(const std::vector<RankRuns>& ranks, double change_s) {
  std::array<WorkKindRow, kWorkKinds> rows;
  const auto count = static_cast<double>(ranks.size());
  for (const RankRuns& runs : ranks) {
    for (const WorkRun& run : runs) {
      WorkKindRow& row = rows[static_cast<size_t>(run.kind)];
      row.time_s += run.work.wall_s / count;
      row.runs += 1 / count;
      row.longest_s = std::max(row.longest_s, run.work.wall_s);
      row.reached += std::max(0.0, run.work.wall_s - change_s) / count;
    }
  }
  for (WorkKindRow& row : rows)
    if (row.time_s > 0) row.reached /= row.time_s;
  return rows;
}

WorkKind kind_of(const plan::Instruction& it, const workload::Operator& op,
                 const cost::Price& price) {
  if (plan::is_message(it)) return WorkKind::kWaiting;
  if (op.kind == workload::OperatorKind::kCollective) return WorkKind::kCommunication;
  if (op.kernels == 0 && op.host_wait_s > 0) return WorkKind::kWaiting;
  const bool memory =
      op.kind == workload::OperatorKind::kMemory || price.limit == cost::Limit::kMemory;
  return memory ? WorkKind::kMemory : WorkKind::kCompute;
}

/// Whose times tell what a role does: of a layer the rank whose experts are fullest, which comes
/// last to the layer's exchanges; the replica whose documents are most work; else the first. Ranks
/// are given by their index in the role.
class TellingRanks {
 public:
  TellingRanks(const spec::Job& job, const engine::RankLoads& loads)
      : of_all_(loads.slowest_rank()) {
    if (loads.even() || loads.of_documents()) return;
    const plan::RankGroup group = plan::rank_group(job, workload::GroupKind::kExpert);
    for (int32_t row = 0; row < loads.rows(); ++row) {
      int64_t fullest = 0;
      for (int64_t rank = 0; rank < group.size * group.stride; rank += group.stride)
        if (loads.of(row, rank) > loads.of(row, fullest)) fullest = rank;
      ranks_.push_back(fullest);
    }
  }
  int64_t of(int32_t row) const {
    return row < 0 || ranks_.empty() ? of_all_ : ranks_[static_cast<size_t>(row)];
  }

 private:
  int64_t of_all_ = 0;
  std::vector<int64_t> ranks_;  ///< by row of experts' loads
};

/// The ranks that tell of every stage, in order.
std::vector<int64_t> sampled_ranks(const spec::Job& job, const plan::Plan& plan) {
  const engine::RankLoads loads(job, plan.uneven.get());
  const TellingRanks telling(job, loads);
  std::set<int64_t> ranks;
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const int64_t first = static_cast<int64_t>(role) * plan.ranks_per_role;
    ranks.insert(first + telling.of(-1));
    for (const plan::Instruction& it : plan.roles[role].program)
      ranks.insert(first + telling.of(loads.row(it, 0)));
  }
  return {ranks.begin(), ranks.end()};
}

/// Of the plan's operators: as they are lowered, and of a load more.
struct OperatorEnergies {
  cost::EnergyTable lowered, per_load;

  /// Of a rank with the mean of all documents; of experts those lowered are the mean.
  physics::Energy of(size_t role, size_t op, const engine::RankLoads& loads, int32_t row) const {
    physics::Energy energy = lowered[role][op];
    if (loads.of_documents() && !per_load.empty())
      energy += (loads.average(row) - 1) * per_load[role][op];
    return energy;
  }
};

std::vector<WorkSpan> spans_of(const engine::EngineInput& input, const OperatorEnergies& energies,
                               const engine::Timeline& timeline, size_t role) {
  std::vector<WorkSpan> spans;
  const engine::PricedOperators operators(input, role);
  const TellingRanks telling(input.job, operators.loads());
  const int64_t first = static_cast<int64_t>(role) * input.plan.ranks_per_role;
  for (const engine::Span& span : timeline.spans) {
    if (span.rank < first || span.rank >= first + input.plan.ranks_per_role) continue;
    const auto index = static_cast<size_t>(span.instruction);
    if (span.rank - first != telling.of(operators.row(index))) continue;
    const plan::Instruction& it = input.plan.roles[role].program[index];
    if (it.op < 0 || !engine::launches(it.kind)) continue;
    const auto number = static_cast<size_t>(it.op);
    spans.push_back({span.start_s, span.end_s,
                     kind_of(it, input.plan.operators[number], input.costs.prices[role][number]),
                     operators.duration(index).clocked_s,
                     energies.of(role, number, operators.loads(), operators.row(index))});
  }
  return spans;
}

Settled settled_of(const run::Run& run) {
  Settled settled;
  const auto ranks = static_cast<double>(run.ranks.size());
  for (const run::Rank& rank : run.ranks) {
    settled.die_c += rank.mean_gpu_c / ranks;
    settled.clock_hz += rank.mean_clock_mhz * 1e6 / ranks;
  }
  return settled;
}

}  // namespace

std::string_view to_word(WorkKind kind) {
  switch (kind) {
    case WorkKind::kCompute: return "compute";
    case WorkKind::kMemory: return "memory";
    case WorkKind::kCommunication: return "communication";
    case WorkKind::kWaiting: return "waiting";
  }
  ERGOMETER_CHECK(false, "every kind of work is listed");
}

RankRuns work_runs(const std::vector<WorkSpan>& spans, double step_s) {
  RankRuns runs;
  std::vector<size_t> active;
  double now_s = 0;
  for (const Edge& edge : edges_of(spans)) {
    add_piece(spans, active, edge.at_s - now_s, runs);
    now_s = edge.at_s;
    if (edge.begins)
      active.push_back(edge.span);
    else
      std::erase(active, edge.span);
  }
  add_piece(spans, active, step_s - now_s, runs);
  return runs;
}

OperatorClocks operator_clocks(const std::vector<RankRuns>& ranks, const OperatorClockTerms& terms,
                               const physics::GpuPower& gpu) {
  const Weighing weighing(terms, gpu);
  OperatorClocks result;
  result.change_s = terms.change_s;
  result.kinds = rows_of(ranks, terms.change_s);
  std::vector<ClockedWork> by_kind = clocked_work(ranks, 0), all(1);
  for (const ClockedWork& work : by_kind) add_part(work, 1, all.front());
  const ClockChoice top = weighing.choices(all.front()).front();
  result.governed = {top.time_s, top.energy_j};
  std::vector<double> lock_hz, free_hz, own_hz;
  result.locked = weighing.chosen(all, top.time_s * (1 + terms.most_slowdown), lock_hz);
  result.lock_hz = lock_hz.front();
  // In one locked clock's time: what that leaves of the granted time is no gain of clocks by kind.
  result.free = weighing.chosen(by_kind, result.locked.step_s, free_hz);
  result.changed =
      weighing.chosen(clocked_work(ranks, terms.change_s), result.locked.step_s, own_hz);
  // One clock for all is one way to clock them, which the last step of a lattice may be short of.
  const auto keep_lock = [&](ClockedStep& step, std::vector<double>& clocks_hz) {
    if (step.gpu_energy_j <= result.locked.gpu_energy_j) return;
    step = result.locked;
    std::ranges::fill(clocks_hz, result.lock_hz);
  };
  keep_lock(result.free, free_hz);
  keep_lock(result.changed, own_hz);
  result.other_hz = own_hz.back();
  for (size_t kind = 0; kind < kWorkKinds; ++kind) {
    WorkKindRow& row = result.kinds[kind];
    row.free_hz = row.time_s > 0 ? free_hz[kind] : result.lock_hz;
    row.own_hz = row.reached > 0 ? own_hz[kind] : result.other_hz;
  }
  return result;
}

Result<OperatorClocks> operator_clocks(const spec::Job& job, double change_s,
                                       double most_slowdown) {
  ERGOMETER_TRY(check_power_is_known(job));
  std::vector<int64_t> firsts;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    firsts.push_back(stage * job.stage_ranks());
  ERGOMETER_ASSIGN(const engine::Simulation simulation,
                   engine::simulate_in_full(job, {.sampled_ranks = firsts,
                                                  .kernels = false,
                                                  .all_ranks = true,
                                                  .intervals = false,
                                                  .whole_step = true}));
  ERGOMETER_ASSIGN(const cost::EnergyModel model, cost::EnergyModel::make(job));
  ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job.cluster.node.gpu));
  const OperatorEnergies energies{cost::price_energy(model, simulation.plan),
                                  cost::price_load_energy(model, simulation.plan)};
  const cost::CostTable& costs = simulation.played_at.costs;
  const std::vector<int64_t> sampled = sampled_ranks(job, simulation.plan);
  const engine::EngineInput input{.job = job,
                                  .plan = simulation.plan,
                                  .costs = costs,
                                  .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                                  .sampled_ranks = sampled,
                                  .stretch = simulation.stretch};
  const engine::Timeline timeline = engine::sweep(input);
  std::vector<RankRuns> ranks;
  for (size_t role = 0; role < simulation.plan.roles.size(); ++role)
    ranks.push_back(work_runs(spans_of(input, energies, timeline, role), timeline.step_s));
  return operator_clocks(ranks,
                         {.change_s = change_s,
                          .most_slowdown = most_slowdown,
                          .reference_hz = costs.reference_clock_hz,
                          .gpus = static_cast<double>(job.gpus),
                          .settled = settled_of(simulation.run)},
                         gpu);
}

}  // namespace ergometer::optimize
