#include "analysis/ranks/pipeline.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/math/intervals.h"
#include "analysis/math/sum.h"
#include "base/collection.h"
#include "base/mean.h"

namespace ergometer::analysis {
namespace {

using Task = run::PipelineTask;
using TaskKind = Task::Kind;

/// A step this much longer than the median one is not like the others: the first, mostly.
constexpr double kLongStep = 1.5;

bool is_backward(TaskKind kind) {
  return kind == TaskKind::kBackward || kind == TaskKind::kBackwardInput ||
         kind == TaskKind::kBackwardWeight;
}
bool is_compute(TaskKind kind) { return kind == TaskKind::kForward || is_backward(kind); }

/// What one rank did in one step.
struct RankStep {
  std::vector<const Task*> tasks;
  PipelineTime time;
};

struct PipelineRank {
  int64_t stage = 0;
  std::map<int64_t, RankStep> steps;  ///< by number
};

int64_t end_of(const Task& task) { return task.start_ns + task.duration_ns; }
Interval interval_of(const Task& task) { return {task.start_ns, end_of(task)}; }

std::vector<PipelineRank> ranks_with_tasks(std::span<const run::RankTrace> traces) {
  std::vector<PipelineRank> ranks;
  for (const run::RankTrace& trace : traces) {
    PipelineRank rank;
    for (const Task& task : trace.tasks) rank.steps[task.step].tasks.push_back(&task);
    std::erase_if(rank.steps, [](const auto& step) {
      return std::ranges::none_of(step.second.tasks,
                                  [](const Task* task) { return is_compute(task->kind); });
    });
    if (rank.steps.empty()) continue;
    rank.stage = trace.stage >= 0 ? trace.stage : static_cast<int64_t>(ranks.size());
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

Interval window_of(const std::vector<PipelineRank>& ranks, int64_t number) {
  Interval window{INT64_MAX, INT64_MIN};
  for (const PipelineRank& rank : ranks) {
    const auto step = rank.steps.find(number);
    if (step == rank.steps.end()) continue;
    for (const Task* task : step->second.tasks) {
      if (!is_compute(task->kind)) continue;
      window.start_ns = std::min(window.start_ns, task->start_ns);
      window.end_ns = std::max(window.end_ns, end_of(*task));
    }
  }
  return window;
}

/// The union of the tasks that `wanted` names, as far as they lie in the window.
template <class Wanted>
Intervals union_of(const RankStep& step, const Interval& window, Wanted wanted) {
  std::vector<Interval> pieces;
  for (const Task* task : step.tasks) {
    const Interval piece = interval_of(*task);
    if (wanted(task->kind))
      pieces.push_back(
          {std::max(piece.start_ns, window.start_ns), std::min(piece.end_ns, window.end_ns)});
  }
  return unite(std::move(pieces));
}

int64_t idle_between(const Intervals& busy, int64_t start_ns, int64_t end_ns) {
  if (end_ns <= start_ns) return 0;
  return end_ns - start_ns - common_length(busy, {{start_ns, end_ns}});
}

PipelineTime time_of(const RankStep& step, const Interval& window) {
  const Intervals forward =
      union_of(step, window, [](TaskKind k) { return k == TaskKind::kForward; });
  const Intervals backward = union_of(step, window, is_backward);
  const Intervals busy = unite(forward, backward);
  const Intervals waiting =
      unite(busy, union_of(step, window, [](TaskKind k) { return k == TaskKind::kReceive; }));
  const Intervals all =
      unite(waiting, union_of(step, window, [](TaskKind k) { return k != TaskKind::kWait; }));
  const int64_t drain_at = backward.empty() ? window.end_ns : backward.front().start_ns;
  const int64_t steady_until =
      std::max(drain_at, forward.empty() ? drain_at : forward.back().end_ns);
  return {.forward_ns = length(forward),
          .backward_ns = length(backward),
          .warm_up_ns = idle_between(busy, window.start_ns, drain_at),
          .steady_ns = idle_between(busy, drain_at, steady_until),
          .drain_ns = idle_between(busy, steady_until, window.end_ns),
          .wait_ns = length(waiting) - length(busy),
          .other_ns = length(all) - length(waiting)};
}

/// Times of all ranks in a step, and what they make together.
PipelineStep take_step(std::vector<PipelineRank>& ranks, int64_t number) {
  const Interval window = window_of(ranks, number);
  PipelineStep step{.number = number, .span_ns = window.end_ns - window.start_ns};
  double bubble_ns = 0;
  for (PipelineRank& rank : ranks) {
    const auto found = rank.steps.find(number);
    if (found == rank.steps.end()) {
      step.counted = false;
      continue;
    }
    found->second.time = time_of(found->second, window);
    bubble_ns += static_cast<double>(found->second.time.bubble_ns());
  }
  if (step.span_ns > 0)
    step.bubble_fraction =
        bubble_ns / static_cast<double>(step.span_ns) / static_cast<double>(ranks.size());
  return step;
}

/// Leaves steps that are not like the others out of the means.
void leave_out_long(std::vector<PipelineStep>& steps) {
  std::vector<int64_t> spans;
  for (const PipelineStep& step : steps)
    if (step.counted) spans.push_back(step.span_ns);
  if (spans.empty()) return;
  const double most = kLongStep * static_cast<double>(base::lower_median(std::move(spans)));
  for (PipelineStep& step : steps)
    if (static_cast<double>(step.span_ns) > most) step.counted = false;
}

std::vector<PipelineStep> take_steps(std::vector<PipelineRank>& ranks) {
  std::set<int64_t> numbers;
  for (const PipelineRank& rank : ranks)
    for (const auto& [number, step] : rank.steps) numbers.insert(number);
  std::vector<PipelineStep> steps =
      base::mapped(numbers, [&](int64_t number) { return take_step(ranks, number); });
  leave_out_long(steps);
  return steps;
}

/// Calls `use(rank, rank's step, step)` for every rank and every step that counts.
template <class Use>
void for_counted(const std::vector<PipelineRank>& ranks, const std::vector<PipelineStep>& steps,
                 Use use) {
  for (const PipelineRank& rank : ranks)
    for (const PipelineStep& step : steps)
      if (step.counted) use(rank, rank.steps.at(step.number), step);
}

base::Mean mean_task_s(const std::vector<PipelineRank>& ranks,
                       const std::vector<PipelineStep>& steps, TaskKind kind) {
  base::Mean mean;
  for_counted(ranks, steps, [&](const PipelineRank&, const RankStep& step, const PipelineStep&) {
    for (const Task* task : step.tasks)
      if (task->kind == kind) mean.add(static_cast<double>(task->duration_ns) * 1e-9);
  });
  return mean;
}

/// Sums that become a stage's means.
struct StageSums {
  int64_t ranks = 0, forwards = 0, backwards = 0, count = 0;
  PipelineTime time;
  double fraction = 0, forward_s = 0, backward_s = 0;
};

void add(StageSums& sums, const RankStep& step, const PipelineStep& whole) {
  const PipelineTime& t = step.time;
  add_time(sums.time.forward_ns, t.forward_ns);
  add_time(sums.time.backward_ns, t.backward_ns);
  add_time(sums.time.warm_up_ns, t.warm_up_ns);
  add_time(sums.time.steady_ns, t.steady_ns);
  add_time(sums.time.drain_ns, t.drain_ns);
  add_time(sums.time.wait_ns, t.wait_ns);
  add_time(sums.time.other_ns, t.other_ns);
  ++sums.count;
  if (whole.span_ns > 0)
    sums.fraction += static_cast<double>(t.bubble_ns()) / static_cast<double>(whole.span_ns);
  for (const Task* task : step.tasks) {
    const double seconds = static_cast<double>(task->duration_ns) * 1e-9;
    if (task->kind == TaskKind::kForward) {
      ++sums.forwards;
      sums.forward_s += seconds;
    } else if (is_backward(task->kind)) {
      // Of a backward in two parts, the part for the inputs stands for the micro batch.
      if (task->kind != TaskKind::kBackwardWeight) ++sums.backwards;
      sums.backward_s += seconds;
    }
  }
}

PipelineStage stage_row(int64_t stage, const StageSums& sums) {
  const auto mean = [&](int64_t total_ns) {
    return sums.count > 0 ? static_cast<double>(total_ns) * 1e-9 / static_cast<double>(sums.count)
                          : 0;
  };
  const auto per = [](double seconds, int64_t count) {
    return count > 0 ? seconds / static_cast<double>(count) : 0;
  };
  return {.stage = stage,
          .ranks = sums.ranks,
          .forward_s = mean(sums.time.forward_ns),
          .backward_s = mean(sums.time.backward_ns),
          .warm_up_s = mean(sums.time.warm_up_ns),
          .steady_s = mean(sums.time.steady_ns),
          .drain_s = mean(sums.time.drain_ns),
          .wait_s = mean(sums.time.wait_ns),
          .other_s = mean(sums.time.other_ns),
          .bubble_fraction = per(sums.fraction, sums.count),
          .forward_task_s = per(sums.forward_s, sums.forwards),
          .backward_task_s = per(sums.backward_s, sums.backwards)};
}

std::vector<PipelineStage> stage_rows(const std::vector<PipelineRank>& ranks,
                                      const std::vector<PipelineStep>& steps) {
  std::map<int64_t, StageSums> sums;
  for (const PipelineRank& rank : ranks) ++sums[rank.stage].ranks;
  for_counted(ranks, steps,
              [&](const PipelineRank& rank, const RankStep& step, const PipelineStep& whole) {
                add(sums[rank.stage], step, whole);
              });
  std::vector<PipelineStage> rows;
  for (const auto& [stage, of_stage] : sums) rows.push_back(stage_row(stage, of_stage));
  return rows;
}

/// Seconds of a micro batch by step and stage, mean over the stage's ranks.
using MicroBatchTimes = std::map<int64_t, std::map<int64_t, std::map<int64_t, double>>>;

MicroBatchTimes micro_batch_times(const std::vector<PipelineRank>& ranks,
                                  const std::vector<PipelineStep>& steps) {
  std::map<int64_t, int64_t> ranks_of_stage;
  for (const PipelineRank& rank : ranks) ++ranks_of_stage[rank.stage];
  MicroBatchTimes times;
  for_counted(ranks, steps,
              [&](const PipelineRank& rank, const RankStep& step, const PipelineStep& whole) {
                for (const Task* task : step.tasks)
                  if (is_compute(task->kind) && task->micro_batch >= 0)
                    times[task->micro_batch][whole.number][rank.stage] +=
                        static_cast<double>(task->duration_ns) * 1e-9 /
                        static_cast<double>(ranks_of_stage[rank.stage]);
              });
  return times;
}

void add_micro_batches(const MicroBatchTimes& times, PipelineReport& report) {
  std::map<int64_t, PipelineStage*> row_of;
  for (PipelineStage& row : report.rows) row_of[row.stage] = &row;
  base::Mean imbalance;
  for (const auto& [micro_batch, by_step] : times) {
    base::Mean slowest_s, mean_s;
    std::map<int64_t, int64_t> slowest_times;  // by stage
    for (const auto& [step, by_stage] : by_step) {
      base::Mean stages;
      auto slowest = by_stage.begin();
      for (auto stage = by_stage.begin(); stage != by_stage.end(); ++stage) {
        stages.add(stage->second);
        if (stage->second > slowest->second) slowest = stage;
      }
      slowest_s.add(slowest->second);
      mean_s.add(stages.get().value_or(0));
      if (stages.get().value_or(0) > 0)
        imbalance.add(slowest->second / stages.get().value_or(0) - 1);
      ++slowest_times[slowest->first];
      ++row_of.at(slowest->first)->slowest;
    }
    const auto most = std::ranges::max_element(
        slowest_times, [](const auto& a, const auto& b) { return a.second < b.second; });
    report.micro_batch_rows.push_back(
        {micro_batch, most->first, slowest_s.get().value_or(0), mean_s.get().value_or(0)});
  }
  report.imbalance = imbalance.get().value_or(0);
}

/// How many chunks and forwards a rank has in a step, and which schedule that is.
struct Shape {
  int64_t chunks = 1, forwards = 0;
  PipelineSchedule schedule = PipelineSchedule::kGpipe;
};

Shape shape_of(const std::vector<PipelineRank>& ranks, const std::vector<PipelineStep>& steps) {
  Shape shape;
  std::set<int64_t> chunks;
  bool weights = false, turns = false;
  for_counted(ranks, steps, [&](const PipelineRank&, const RankStep& step, const PipelineStep&) {
    int64_t forwards = 0, first_backward = INT64_MAX, last_forward = INT64_MIN;
    for (const Task* task : step.tasks) {
      if (task->kind == TaskKind::kForward) {
        ++forwards;
        last_forward = std::max(last_forward, task->start_ns);
        if (task->chunk >= 0) chunks.insert(task->chunk);
      }
      if (is_backward(task->kind)) first_backward = std::min(first_backward, task->start_ns);
      weights |= task->kind == TaskKind::kBackwardWeight;
    }
    turns |= last_forward > first_backward;
    shape.forwards = std::max(shape.forwards, forwards);
  });
  shape.chunks = std::max<int64_t>(1, static_cast<int64_t>(chunks.size()));
  if (weights)
    shape.schedule = PipelineSchedule::kZeroBubble;
  else if (shape.chunks > 1)
    shape.schedule = PipelineSchedule::kInterleaved;
  else if (turns)
    shape.schedule = PipelineSchedule::k1F1B;
  return shape;
}

int64_t stage_count(std::span<const run::RankTrace> traces,
                    const std::vector<PipelineRank>& ranks) {
  int64_t stages = base::largest(traces, int64_t{0}, &run::RankTrace::stages);
  for (const PipelineRank& rank : ranks) stages = std::max(stages, rank.stage + 1);
  return stages;
}

}  // namespace

std::string_view to_word(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGpipe: return "gpipe";
    case PipelineSchedule::k1F1B: return "1f1b";
    case PipelineSchedule::kInterleaved: return "interleaved";
    case PipelineSchedule::kZeroBubble: return "zero-bubble";
  }
  return "";
}

double ideal_bubble_fraction(PipelineSchedule schedule, int64_t stages, int64_t forwards,
                             double forward_s, double backward_input_s, double backward_weight_s) {
  const double others = static_cast<double>(stages - 1), tasks = static_cast<double>(forwards);
  if (stages < 1 || forwards < 1) return 0;
  const double work_s = forward_s + backward_input_s + backward_weight_s;
  if (schedule != PipelineSchedule::kZeroBubble || work_s <= 0) return others / (tasks + others);
  const double bubble_s = others * std::max(forward_s + backward_input_s - backward_weight_s, 0.0);
  return bubble_s / (tasks * work_s + bubble_s);
}

std::optional<PipelineReport> pipeline_report(std::span<const run::RankTrace> traces) {
  std::vector<PipelineRank> ranks = ranks_with_tasks(traces);
  PipelineReport report;
  report.ranks = static_cast<int64_t>(ranks.size());
  report.stages = stage_count(traces, ranks);
  if (report.stages < 2 || ranks.empty()) return std::nullopt;
  report.steps = take_steps(ranks);
  base::Mean step_s, bubble;
  for (const PipelineStep& step : report.steps) {
    if (!step.counted) continue;
    step_s.add(static_cast<double>(step.span_ns) * 1e-9);
    bubble.add(step.bubble_fraction);
  }
  if (step_s.count == 0) return std::nullopt;
  report.step_s = step_s.get().value_or(0);
  report.bubble_fraction = bubble.get().value_or(0);
  const Shape shape = shape_of(ranks, report.steps);
  report.schedule = shape.schedule;
  report.chunks = shape.chunks;
  report.rows = stage_rows(ranks, report.steps);
  report.ideal_bubble_fraction = ideal_bubble_fraction(
      shape.schedule, report.stages, shape.forwards,
      mean_task_s(ranks, report.steps, TaskKind::kForward).get().value_or(0),
      mean_task_s(ranks, report.steps, TaskKind::kBackwardInput).get().value_or(0),
      mean_task_s(ranks, report.steps, TaskKind::kBackwardWeight).get().value_or(0));
  add_micro_batches(micro_batch_times(ranks, report.steps), report);
  report.micro_batches = report.micro_batch_rows.empty()
                             ? shape.forwards / shape.chunks
                             : static_cast<int64_t>(report.micro_batch_rows.size());
  return report;
}

}  // namespace ergometer::analysis
