#include "analysis/operations/operation_slowdown.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "analysis/operations/operation_batches.h"
#include "analysis/operations/operation_findings.h"
#include "analysis/operations/operation_graph.h"
#include "base/collection.h"
#include "base/parallel.h"

namespace ergometer::analysis {
namespace {

using run::Operation;
using run::OperationRole;
using run::OperationTimeline;

/// Seconds below which nothing is a share of anything: times come in parts of a microsecond.
constexpr double kShortestStep = 1e-12;

double mean(const std::vector<double>& values) {
  const double sum = base::sum(values);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct Worker {
  int32_t stage = 0, replica = 0;
  auto operator<=>(const Worker&) const = default;
};

/// Whether an operation of that kind on that worker keeps its own duration.
using Keeps = std::function<bool(int32_t kind, const Worker& worker)>;

/// Sends and receives of one direction are one operation in tables.
std::string table_name(const run::OperationKind& kind) {
  switch (kind.role) {
    case OperationRole::kForwardSend:
    case OperationRole::kForwardReceive: return "forward-pp-comm";
    case OperationRole::kBackwardSend:
    case OperationRole::kBackwardReceive: return "backward-pp-comm";
    default: return kind.name;
  }
}

class WhatIfs {
 public:
  WhatIfs(const OperationTimeline& timeline, size_t threads);
  /// Seconds of a step, mean over steps, for each of them.
  std::vector<double> step_s(const std::vector<Keeps>& what_ifs) const;
  double recorded_step_s() const;
  double even_batches_step_s(const std::vector<double>& even_us) const;
  size_t waits_left_out() const;
  const std::vector<Worker>& workers() const { return workers_; }

 private:
  void number_workers();
  void find_ideals();
  template <class DurationOf>
  std::vector<double> replay_all(size_t batches, DurationOf duration_of) const;

  const OperationTimeline& timeline_;
  size_t threads_;
  std::vector<StepGraph> graphs_;
  std::vector<Worker> workers_;
  std::vector<uint32_t> class_of_;  ///< by operation: kind x worker
  std::vector<double> ideal_us_;    ///< by kind
};

WhatIfs::WhatIfs(const OperationTimeline& timeline, size_t threads)
    : timeline_(timeline), threads_(threads), graphs_(operation_graphs(timeline, threads)) {
  number_workers();
  find_ideals();
}

void WhatIfs::number_workers() {
  for (const Operation& o : timeline_.operations) {
    const Worker worker{o.stage, o.replica};
    if (workers_.empty() || workers_.back() != worker) workers_.push_back(worker);
  }
  base::sort_unique(workers_);
  class_of_.reserve(timeline_.operations.size());
  uint32_t number = 0;
  for (const Operation& o : timeline_.operations) {
    const Worker worker{o.stage, o.replica};
    if (workers_[number] != worker)
      number = static_cast<uint32_t>(std::ranges::lower_bound(workers_, worker) - workers_.begin());
    class_of_.push_back(static_cast<uint32_t>(o.kind * workers_.size()) + number);
  }
}

void WhatIfs::find_ideals() {
  std::vector<std::vector<double>> all(timeline_.kinds.size());
  for (const StepGraph& graph : graphs_)
    for (size_t at = 0; at < graph.operations.size(); ++at)
      all[timeline_.operations[graph.operations[at]].kind].push_back(graph.own_us[at]);
  ideal_us_.resize(all.size());
  base::parallel_for(all.size(), threads_, [&](size_t kind) {
    ideal_us_[kind] =
        is_transfer(timeline_.kinds[kind].role) ? base::middle_median(all[kind]) : mean(all[kind]);
  });
}

/// `duration_of(batch, graph, position, to)` writes the durations of kReplayLanes what-ifs.
template <class DurationOf>
std::vector<double> WhatIfs::replay_all(size_t batches, DurationOf duration_of) const {
  std::vector<std::vector<double>> by_step(graphs_.size());
  base::parallel_for(graphs_.size(), threads_, [&](size_t step) {
    const StepGraph& graph = graphs_[step];
    std::vector<double> duration_us(graph.operations.size() * kReplayLanes),
        end_us(duration_us.size());
    for (size_t batch = 0; batch < batches; ++batch) {
      for (size_t at = 0; at < graph.operations.size(); ++at)
        duration_of(batch, graph, at, &duration_us[at * kReplayLanes]);
      for (const double length_us : replay(graph, duration_us, end_us))
        by_step[step].push_back(length_us);
    }
  });
  std::vector<double> mean_s(batches * kReplayLanes, 0);
  for (const auto& lengths : by_step)
    for (size_t i = 0; i < lengths.size(); ++i) mean_s[i] += lengths[i];
  for (double& length : mean_s) length *= 1e-6 / static_cast<double>(graphs_.size());
  return mean_s;
}

std::vector<double> WhatIfs::step_s(const std::vector<Keeps>& what_ifs) const {
  const size_t batches = (what_ifs.size() + kReplayLanes - 1) / kReplayLanes;
  const size_t classes = ideal_us_.size() * workers_.size();
  std::vector<std::vector<uint8_t>> masks(batches, std::vector<uint8_t>(classes, 0));
  for (size_t i = 0; i < what_ifs.size(); ++i)
    for (size_t c = 0; c < classes; ++c)
      if (what_ifs[i](static_cast<int32_t>(c / workers_.size()), workers_[c % workers_.size()]))
        masks[i / kReplayLanes][c] |= static_cast<uint8_t>(1U << (i % kReplayLanes));
  std::vector<double> all = replay_all(batches, [&](size_t batch, const StepGraph& graph, size_t at,
                                                    double* to) {
    const uint32_t operation = graph.operations[at];
    const double either[2] = {ideal_us_[timeline_.operations[operation].kind], graph.own_us[at]};
    const uint32_t mask = masks[batch][class_of_[operation]];
    for (size_t lane = 0; lane < kReplayLanes; ++lane) to[lane] = either[mask >> lane & 1U];
  });
  all.resize(what_ifs.size());
  return all;
}

double WhatIfs::recorded_step_s() const {
  const double sum_us =
      base::sum(graphs_, [&](const StepGraph& graph) { return graph.recorded_us; });
  return sum_us * 1e-6 / static_cast<double>(graphs_.size());
}

size_t WhatIfs::waits_left_out() const {
  size_t sum = 0;
  for (const StepGraph& graph : graphs_) sum += graph.left_out;
  return sum;
}

/// Micro batches of one length: `even_us` by operation, where it is not negative.
double WhatIfs::even_batches_step_s(const std::vector<double>& even_us) const {
  return replay_all(1, [&](size_t, const StepGraph& graph, size_t at, double* to) {
    const double even = even_us[graph.operations[at]];
    std::fill_n(to, kReplayLanes, even >= 0 ? even : graph.own_us[at]);
  })[0];
}

/// The larger first; of equal ones the order stays.
template <class Parts>
void sort_by_slowdown(Parts& parts) {
  std::ranges::stable_sort(parts,
                           [](const auto& a, const auto& b) { return a.slowdown > b.slowdown; });
}

/// The what-ifs that do not depend on what others say: own, ideal, every part by itself.
class Questions {
 public:
  explicit Questions(const OperationTimeline& timeline) {
    for (const run::OperationKind& kind : timeline.kinds) names_.push_back(table_name(kind));
    ask_ = {[](int32_t, const Worker&) { return true; },
            [](int32_t, const Worker&) { return false; },
            [&timeline](int32_t kind, const Worker&) {
              return !is_transfer(timeline.kinds[kind].role);
            }};
  }
  std::vector<Keeps> ask(const std::vector<Worker>& workers) {
    for (const std::string& name : std::set(names_.begin(), names_.end())) {
      operations_.push_back(name);
      ask_.emplace_back([this, name](int32_t kind, const Worker&) { return names_[kind] == name; });
    }
    std::set<int32_t> stages, replicas;
    for (const Worker& worker : workers) {
      stages.insert(worker.stage);
      replicas.insert(worker.replica);
    }
    for (const int32_t stage : stages)
      ask_.emplace_back([stage](int32_t, const Worker& w) { return w.stage == stage; });
    for (const int32_t replica : replicas)
      ask_.emplace_back([replica](int32_t, const Worker& w) { return w.replica == replica; });
    stages_.assign(stages.begin(), stages.end());
    replicas_.assign(replicas.begin(), replicas.end());
    return ask_;
  }
  void answer(const std::vector<double>& step_s, const std::vector<Worker>& workers,
              OperationSlowdown& of) const;

 private:
  std::vector<std::string> names_;  ///< by kind, as tables have it
  std::vector<Keeps> ask_;
  std::vector<std::string> operations_;
  std::vector<int32_t> stages_, replicas_;
};

void Questions::answer(const std::vector<double>& step_s, const std::vector<Worker>& workers,
                       OperationSlowdown& of) const {
  of.replayed_step_s = step_s[0];
  of.ideal_step_s = step_s[1];
  of.transfer_step_s = step_s[2];
  const auto ratio = [](double a, double b) { return b > kShortestStep ? a / b : 1.0; };
  of.slowdown = ratio(of.replayed_step_s, of.ideal_step_s);
  of.launch_slowdown = ratio(of.recorded_step_s, of.replayed_step_s);
  size_t next = 3;
  const auto slowdown = [&] { return ratio(step_s[next++], of.ideal_step_s); };
  for (const std::string& name : operations_) of.by_operation.push_back({name, slowdown()});
  std::map<int32_t, double> stages, replicas;
  for (const int32_t stage : stages_) stages[stage] = slowdown();
  for (const int32_t replica : replicas_) replicas[replica] = slowdown();
  for (const auto& [stage, slow] : stages) of.by_stage.push_back({std::to_string(stage), slow});
  for (const auto& [replica, slow] : replicas)
    of.by_replica.push_back({std::to_string(replica), slow});
  for (const Worker& worker : workers)
    of.by_worker.push_back(
        {worker.stage, worker.replica, std::min(stages[worker.stage], replicas[worker.replica])});
  sort_by_slowdown(of.by_operation);
  sort_by_slowdown(of.by_stage);
  sort_by_slowdown(of.by_replica);
  sort_by_slowdown(of.by_worker);
}

/// What mending the slowest workers and the last stage brings.
void mend(const WhatIfs& what_ifs, OperationSlowdown& of) {
  of.slowest_count =
      static_cast<size_t>(std::ceil(kSlowestWorkers * static_cast<double>(of.by_worker.size())));
  std::set<Worker> slowest;
  for (size_t i = 0; i < of.slowest_count; ++i)
    slowest.insert({static_cast<int32_t>(of.by_worker[i].stage),
                    static_cast<int32_t>(of.by_worker[i].replica)});
  const auto last = static_cast<int32_t>(of.groups.stages - 1);
  const auto step_s =
      what_ifs.step_s({[&](int32_t, const Worker& w) { return !slowest.contains(w); },
                       [&](int32_t, const Worker& w) { return slowest.contains(w); },
                       [&](int32_t, const Worker& w) { return w.stage != last; },
                       [&](int32_t, const Worker& w) { return w.stage == last; }});
  const double lost_s = of.replayed_step_s - of.ideal_step_s;
  const auto share = [&](double mended_s) {
    return std::abs(lost_s) > kShortestStep ? (of.replayed_step_s - mended_s) / lost_s : 0;
  };
  of.slowest_workers = {step_s[0], step_s[1], share(step_s[0])};
  of.last_stage = {step_s[2], step_s[3], share(step_s[2])};
}

/// Seconds of a step in pauses of the host, on the rank that has most of them.
double longest_pause_s(const OperationTimeline& timeline) {
  std::map<std::tuple<int32_t, int32_t, int32_t>, double> ranks;
  for (const Operation& o : timeline.operations)
    if (timeline.kinds[o.kind].role == OperationRole::kPause)
      ranks[{o.stage, o.replica, o.lane}] += o.duration_us;
  double longest_us = 0;
  for (const auto& [rank, sum_us] : ranks) longest_us = std::max(longest_us, sum_us);
  return longest_us * 1e-6 / static_cast<double>(timeline.steps.size());
}

int64_t missing_workers(const OperationTimeline& timeline) {
  std::set<std::pair<int32_t, int32_t>> there;
  for (const run::Operation& o : timeline.operations) there.emplace(o.stage, o.replica);
  return timeline.groups.stages * timeline.groups.replicas - std::ssize(there);
}

/// A recording that was cut off, or began, within a step holds a part of it.
int64_t short_steps(const OperationTimeline& timeline) {
  constexpr double kMostOf = 0.9;
  std::vector<int64_t> counts(timeline.steps.size());
  for (const run::Operation& o : timeline.operations) ++counts[static_cast<size_t>(o.step)];
  const auto usual = static_cast<double>(base::upper_median(counts));
  return std::ranges::count_if(
      counts, [&](int64_t count) { return static_cast<double>(count) < kMostOf * usual; });
}

}  // namespace

OperationSlowdown operation_slowdown(const OperationTimeline& timeline, size_t threads) {
  OperationSlowdown of;
  of.operations = timeline.operations.size();
  of.steps = timeline.steps.size();
  of.groups = timeline.groups;
  if (of.operations == 0) return of;
  of.missing_workers = missing_workers(timeline);
  of.short_steps = short_steps(timeline);
  const WhatIfs what_ifs(timeline, threads);
  of.recorded_step_s = what_ifs.recorded_step_s();
  of.waits_left_out = what_ifs.waits_left_out();
  Questions questions(timeline);
  questions.answer(what_ifs.step_s(questions.ask(what_ifs.workers())), what_ifs.workers(), of);
  mend(what_ifs, of);
  const std::vector<double> even_us = even_batches_us(timeline);
  of.even_batches_step_s = what_ifs.even_batches_step_s(even_us);
  const BatchVariation variation = batch_variation(timeline, even_us);
  of.micro_batch_correlation = variation.correlation;
  of.micro_batch_spread = variation.spread;
  of.pause_s = longest_pause_s(timeline);
  tell_operations(of);
  return of;
}

}  // namespace ergometer::analysis
