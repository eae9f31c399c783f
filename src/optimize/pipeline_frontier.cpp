#include "optimize/pipeline_frontier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "spec/job/stage_order.h"

namespace ergometer::optimize {
namespace {

/// Passes that the solver looks at in one graph; more are told from shorter steps.
constexpr int64_t kMostPasses = 1536;
/// Where shorter steps are long, too: 6,144 passes took 2 minutes, twice as many take four times as
/// long.
constexpr int64_t kMostSolved = 12'288;

const StageTable& stage_of(const PipelineTables& tables, const PipelinePass& pass) {
  return tables.stages[static_cast<size_t>(pass.stage)];
}
const std::vector<ClockChoice>& choices_of(const PipelineTables& tables, const PipelinePass& pass) {
  return stage_of(tables, pass).chunks[static_cast<size_t>(pass.slot.chunk)].of(pass.slot.kind);
}

std::vector<Choice> costs_of(const std::vector<ClockChoice>& choices, double waiting_w) {
  std::vector<Choice> costs;
  for (const ClockChoice& it : choices)
    costs.push_back({it.time_s, it.energy_j - waiting_w * it.time_s});
  return costs;
}

/// Micro batches behind which a long step repeats itself.
int64_t period_of(const PipelineTables& tables) {
  const spec::Parallelism& p = tables.parallel;
  return p.vpp > 1 ? std::max(p.pp, spec::group_size(p, tables.micro_batches)) : p.pp;
}

/// How many micro batches are looked at: all, or enough of them behind the warm-up, which schedules
/// in the form of a V and ZB-H2 have twice, whole periods from all.
int64_t micro_batches_of(const PipelineTables& tables) {
  const spec::Parallelism& p = tables.parallel;
  const int64_t all = tables.micro_batches;
  // A breadth-first step takes all micro batches through one chunk before it goes to the next.
  if (p.schedule == spec::Schedule::kLoopedBfs || !p.order.stages.empty()) return all;
  const auto a_micro_batch = static_cast<int64_t>(spec::stage_order(p, 0, all).size()) * p.pp / all;
  const bool twice = p.turns() || p.schedule == spec::Schedule::kZbH2;
  const int64_t period = period_of(tables);
  const int64_t most = std::max((twice ? 5 : 3) * period, kMostPasses / a_micro_batch);
  if (p.vpp == 1 || most >= all) return std::min(most, all);
  return most + (all - most) % period;
}

int64_t count_passes(const PipelineTables& tables, int64_t micro_batches) {
  int64_t passes = 0;
  for (int64_t stage = 0; stage < tables.parallel.pp; ++stage)
    passes += std::ssize(spec::stage_order(tables.parallel, stage, micro_batches));
  return passes;
}

double waiting_w(const PipelineTables& tables) {
  return base::sum(tables.stages, [&](const StageTable& stage) { return stage.waiting_w; });
}

std::vector<TradeOff> frontier_of(const PipelineTables& tables, int64_t micro_batches,
                                  const TradeOffOptions& options,
                                  std::vector<PipelinePass>& passes) {
  return trade_off(pipeline_graph(tables, micro_batches, passes), options);
}

/// The corner that is best when a second is worth `price`.
const TradeOff& best_at(const std::vector<TradeOff>& corners, double price) {
  for (const TradeOff& corner : corners)
    if (corner.price >= price) return corner;
  return corners.back();
}

/// Writes the passes of all stages into a graph; pass i begins at event 1 + 2i and ends behind it.
class PipelineGraph {
 public:
  PipelineGraph(const PipelineTables& tables, int64_t micro_batches,
                std::vector<PipelinePass>& passes)
      : tables_(tables), micro_batches_(micro_batches), passes_(passes) {
    passes_.clear();
    for (int64_t stage = 0; stage < tables.parallel.pp; ++stage)
      for (const spec::ScheduleSlot& slot :
           spec::stage_order(tables.parallel, stage, micro_batches))
        passes_.push_back({stage, slot});
    number_.resize(static_cast<size_t>(2 * tables.parallel.parts() * micro_batches), -1);
  }

  TimeCostGraph write() {
    const auto count = static_cast<int32_t>(passes_.size());
    TimeCostGraph graph(2 * count + 2);
    for (int32_t i = 0; i < count; ++i) add_pass(graph, i, 2 * count + 1);
    for (int64_t part = 0; part + 1 < tables_.parallel.parts(); ++part)
      for (int64_t m = 0; m < micro_batches_; ++m) {
        add_message(graph, at(part, false, m), at(part + 1, false, m));
        add_message(graph, at(part + 1, true, m), at(part, true, m));
      }
    return graph;
  }

 private:
  /// The pass of a part of the model that its neighbours wait for: its forward, or the gradient of
  /// its inputs.
  int32_t& at(int64_t part, bool backward, int64_t micro_batch) {
    return number_[static_cast<size_t>((2 * part + (backward ? 1 : 0)) * micro_batches_ +
                                       micro_batch)];
  }

  void add_pass(TimeCostGraph& graph, int32_t i, int32_t last) {
    const PipelinePass& pass = passes_[static_cast<size_t>(i)];
    const bool begins = i == 0 || passes_[static_cast<size_t>(i) - 1].stage != pass.stage;
    const bool ends =
        i + 1 == std::ssize(passes_) || passes_[static_cast<size_t>(i) + 1].stage != pass.stage;
    graph.add_work(
        1 + 2 * i, 2 + 2 * i,
        convex_choices(costs_of(choices_of(tables_, pass), stage_of(tables_, pass).waiting_w)));
    graph.add_order(begins ? 0 : 2 * i, 1 + 2 * i, 0);
    if (ends) graph.add_order(2 + 2 * i, last, 0);
    if (pass.slot.kind == spec::SlotKind::kBackwardWeight) return;
    at(tables_.parallel.part_of(pass.stage, pass.slot.chunk), pass.backward(),
       pass.slot.micro_batch) = i;
  }

  void add_message(TimeCostGraph& graph, int32_t from, int32_t to) const {
    const bool stays =
        passes_[static_cast<size_t>(from)].stage == passes_[static_cast<size_t>(to)].stage;
    graph.add_order(2 + 2 * from, 1 + 2 * to, stays ? 0 : tables_.send_s);
  }

  const PipelineTables& tables_;
  int64_t micro_batches_;
  std::vector<PipelinePass>& passes_;
  std::vector<int32_t> number_;
};

}  // namespace

TimeCostGraph pipeline_graph(const PipelineTables& tables, int64_t micro_batches,
                             std::vector<PipelinePass>& passes) {
  return PipelineGraph(tables, micro_batches, passes).write();
}

Result<PipelineFrontier> pipeline_frontier(const PipelineTables& tables,
                                           const TradeOffOptions& options) {
  PipelineFrontier result;
  result.micro_batches = micro_batches_of(tables);
  if (const int64_t passes = count_passes(tables, result.micro_batches); passes > kMostSolved)
    return input_error("a step of this schedule has {} passes to look at; at most {} can be solved",
                       base::format_count(passes), base::format_count(kMostSolved));
  const std::vector<TradeOff> corners =
      frontier_of(tables, result.micro_batches, options, result.passes);
  const bool whole = result.micro_batches == tables.micro_batches;
  std::vector<PipelinePass> ignored;
  const std::vector<TradeOff> shorter =
      whole ? std::vector<TradeOff>{}
            : frontier_of(tables, result.micro_batches - period_of(tables), options, ignored);
  const double further = static_cast<double>(tables.micro_batches - result.micro_batches) /
                         static_cast<double>(period_of(tables));
  double price = 0;
  for (const TradeOff& corner : corners) {
    double length_s = corner.length_s, cost = corner.cost;
    if (!whole) {
      const TradeOff& other =
          best_at(shorter, std::isinf(corner.price) ? INFINITY : (price + corner.price) / 2);
      length_s += further * (corner.length_s - other.length_s);
      cost += further * (corner.cost - other.cost);
    }
    price = corner.price;
    result.points.push_back({length_s, cost + waiting_w(tables) * length_s, corner.time_s});
  }
  // Slower than the point of least energy only costs: what waits draws power too.
  const auto least = std::ranges::min_element(result.points, {}, &FrontierPoint::energy_j);
  result.points.erase(result.points.begin(), least);
  return result;
}

double lattice_energy(const PipelineTables& tables, const std::vector<PipelinePass>& passes,
                      const std::vector<double>& pass_s, double length_s,
                      std::vector<double>& clocks_hz) {
  constexpr double kSame = 1e-9;
  double joules = waiting_w(tables) * length_s;
  clocks_hz.clear();
  for (size_t i = 0; i < passes.size(); ++i) {
    const std::vector<ClockChoice>& choices = choices_of(tables, passes[i]);
    const double watts = stage_of(tables, passes[i]).waiting_w;
    const auto cost = [&](const ClockChoice& c) { return c.energy_j - watts * c.time_s; };
    const ClockChoice* best = &choices.front();
    for (const ClockChoice& it : choices)
      if (it.time_s <= pass_s[i] + kSame && cost(it) < cost(*best)) best = &it;
    clocks_hz.push_back(best->clock_hz);
    joules += cost(*best);
  }
  return joules;
}

namespace {

/// For every event how long before it anything takes, and how long after it.
struct Paths {
  std::vector<double> before_s, after_s;
};

/// An arc of the graph with the length it has.
struct Length {
  int32_t from = 0, to = 0;
  double seconds = 0;
};

Paths paths_of(const TimeCostGraph& graph, const std::vector<int32_t>& rank_of,
               const std::vector<double>& time_s) {
  std::vector<Length> arcs;
  for (size_t i = 0; i < time_s.size(); ++i)
    arcs.push_back({graph.work()[i].from, graph.work()[i].to, time_s[i]});
  for (const auto& it : graph.orders()) arcs.push_back({it.from, it.to, it.gap_s});
  const auto by_rank = [&](int32_t event) { return rank_of[static_cast<size_t>(event)]; };
  std::ranges::sort(arcs, [&](const Length& a, const Length& b) {
    return by_rank(a.from) != by_rank(b.from) ? by_rank(a.from) < by_rank(b.from)
                                              : by_rank(a.to) < by_rank(b.to);
  });
  Paths paths;
  paths.before_s.assign(rank_of.size(), 0);
  paths.after_s.assign(rank_of.size(), 0);
  for (const Length& arc : arcs) {
    double& there = paths.before_s[static_cast<size_t>(arc.to)];
    there = std::max(there, paths.before_s[static_cast<size_t>(arc.from)] + arc.seconds);
  }
  for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc) {
    double& here = paths.after_s[static_cast<size_t>(arc->from)];
    here = std::max(here, paths.after_s[static_cast<size_t>(arc->to)] + arc->seconds);
  }
  return paths;
}

/// A schedule in which every pass runs at one clock, made better step by step.
class LatticeSchedule {
 public:
  LatticeSchedule(const PipelineTables& tables, const TimeCostGraph& graph,
                  const std::vector<PipelinePass>& passes, double length_s)
      : graph_(graph), rank_of_(static_cast<size_t>(graph.events()), 0), length_s_(length_s) {
    const std::vector<int32_t> order = topological_order(graph);
    for (size_t i = 0; i < order.size(); ++i)
      rank_of_[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    for (const PipelinePass& pass : passes) {
      std::vector<Choice> all =
          costs_of(choices_of(tables, pass), stage_of(tables, pass).waiting_w);
      std::ranges::sort(all, {}, &Choice::time_s);
      choices_.push_back(std::move(all));
    }
  }

  /// The slowest clocks that are as quick as `pass_s`.
  void start(const std::vector<double>& pass_s) {
    chosen_.assign(choices_.size(), 0);
    for (size_t i = 0; i < chosen_.size(); ++i)
      while (chosen_[i] + 1 < choices_[i].size() &&
             choices_[i][chosen_[i] + 1].time_s <= pass_s[i] + kSame)
        ++chosen_[i];
  }

  /// The next lower clock where that fits and saves most, until none fits.
  void fill() {
    while (true) {
      const Paths paths = paths_of(graph_, rank_of_, times());
      size_t best = choices_.size();
      double most = 0;
      for (size_t i = 0; i < choices_.size(); ++i) {
        if (chosen_[i] + 1 >= choices_[i].size()) continue;
        const Choice &now = choices_[i][chosen_[i]], &next = choices_[i][chosen_[i] + 1];
        const auto& work = graph_.work()[i];
        const double through_s = paths.before_s[static_cast<size_t>(work.from)] + next.time_s +
                                 paths.after_s[static_cast<size_t>(work.to)];
        if (through_s > length_s_ + kSame || now.cost - next.cost <= most) continue;
        most = now.cost - next.cost;
        best = i;
      }
      if (best == choices_.size()) return;
      ++chosen_[best];
    }
  }

  /// One pass quicker, so that others may be slower: what greedy filling alone does not find. Tried
  /// for all passes until nothing gains.
  void exchange() {
    for (bool better = true; better;) {
      better = false;
      for (size_t i = 0; i < choices_.size(); ++i)
        for (size_t steps = 1; steps <= kMostSteps && steps <= chosen_[i]; ++steps) {
          const std::vector<size_t> before = chosen_;
          const double cost_before = cost();
          chosen_[i] -= steps;
          fill_but(i);
          if (cost() < cost_before - kSame) {
            better = true;
            break;
          }
          chosen_ = before;
        }
    }
  }

  std::vector<double> times() const {
    std::vector<double> time_s;
    for (size_t i = 0; i < chosen_.size(); ++i) time_s.push_back(choices_[i][chosen_[i]].time_s);
    return time_s;
  }

 private:
  static constexpr double kSame = 1e-9;
  static constexpr size_t kMostSteps = 3;

  double cost() const {
    double sum = 0;
    for (size_t i = 0; i < chosen_.size(); ++i) sum += choices_[i][chosen_[i]].cost;
    return sum;
  }

  /// Filling first without pass `i`, which would take back what it gave.
  void fill_but(size_t i) {
    std::vector<Choice> held = std::exchange(choices_[i], {choices_[i][chosen_[i]]});
    const size_t at = std::exchange(chosen_[i], 0);
    fill();
    choices_[i] = std::move(held);
    chosen_[i] = at;
    fill();
  }

  const TimeCostGraph& graph_;
  std::vector<int32_t> rank_of_;
  std::vector<std::vector<Choice>> choices_;
  std::vector<size_t> chosen_;
  double length_s_;
};

/// Exchanges are tried in pipelines of so many passes.
constexpr size_t kMostExchanged = 48;

}  // namespace

std::vector<double> on_lattice(const PipelineTables& tables, const TimeCostGraph& graph,
                               const std::vector<PipelinePass>& passes,
                               const std::vector<double>& pass_s, double length_s) {
  LatticeSchedule schedule(tables, graph, passes, length_s);
  schedule.start(pass_s);
  schedule.fill();
  if (passes.size() <= kMostExchanged) schedule.exchange();
  return schedule.times();
}

}  // namespace ergometer::optimize
