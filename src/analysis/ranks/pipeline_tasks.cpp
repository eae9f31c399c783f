#include "analysis/ranks/pipeline_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/ranks/collectives.h"
#include "analysis/work/collective_kind.h"
#include "analysis/work/kernel_class.h"
#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

using run::PipelineTask;
using TaskKind = PipelineTask::Kind;
using Tasks = std::vector<PipelineTask>;

// --- by named ranges

/// "Forward 3" of torch.distributed.pipelining.
bool is_word_and_number(std::string_view name, std::string_view word) {
  return name.starts_with(word) && name.size() > word.size() + 1 && name[word.size()] == ' ' &&
         name.find_first_not_of("0123456789", word.size() + 1) == std::string_view::npos;
}

std::optional<TaskKind> kind_of_range(std::string_view range_name) {
  const std::string name = base::lower(range_name);
  for (const auto& [word, kind] :
       {std::pair("forward", TaskKind::kForward), {"backward", TaskKind::kBackward}}) {
    if (is_word_and_number(name, word)) return kind;
    for (const char* ending : {"_step", "-step", "-compute", "_compute", "_pass"}) {
      const std::string wanted = word + std::string(ending);
      if (name == wanted || name.find('_' + wanted) != std::string::npos ||
          name.starts_with(wanted + " ") || name.starts_with(wanted + "("))
        return kind;
    }
  }
  return std::nullopt;
}

/// The number at the end of "Forward 3"; -1: none.
int64_t number_of(std::string_view name) {
  const size_t from = name.find_last_not_of("0123456789") + 1;
  constexpr size_t kMostDigits = 9;
  if (from >= name.size() || name.size() - from > kMostDigits) return -1;
  int64_t number = 0;
  for (const char c : name.substr(from)) number = 10 * number + (c - '0');
  return number;
}

/// A trace's work, collectives excepted, by when it was launched.
class Launches {
 public:
  explicit Launches(const run::RankTrace& trace) {
    for (const run::GpuEvent& event : trace.events) {
      const run::Launch* launch = run::launch_of(trace, event);
      if (launch != nullptr && event.kind != run::GpuClass::kCommunication)
        events_.emplace_back(launch->start_ns, &event);
    }
    std::ranges::stable_sort(events_,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  /// From the first start to the last end of what was launched within a range of the CPU; nothing
  /// was: no duration.
  PipelineTask of(const run::Range& range, TaskKind kind) const {
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (auto at = std::lower_bound(events_.begin(), events_.end(), range.start_ns,
                                    [](const auto& e, int64_t t) { return e.first < t; });
         at != events_.end() && at->first < range.start_ns + range.duration_ns; ++at) {
      from = std::min(from, at->second->start_ns);
      to = std::max(to, at->second->end_ns());
    }
    PipelineTask task;
    task.kind = kind;
    if (from < to) {
      task.start_ns = from;
      task.duration_ns = to - from;
    }
    return task;
  }

 private:
  std::vector<std::pair<int64_t, const run::GpuEvent*>> events_;
};

Tasks tasks_of_ranges(const run::RankTrace& trace) {
  Tasks of_gpu, of_cpu;
  std::optional<Launches> launches;
  for (const run::Range& range : trace.ranges) {
    const std::string_view name = trace.names[range.name];
    const auto kind = kind_of_range(name);
    if (!kind) continue;
    if (!launches) launches.emplace(trace);
    PipelineTask task = range.gpu
                            ? PipelineTask{*kind, -1, -1, -1, range.start_ns, range.duration_ns}
                            : launches->of(range, *kind);
    task.micro_batch = number_of(name);
    if (task.duration_ns > 0) (range.gpu ? of_gpu : of_cpu).push_back(task);
  }
  return of_gpu.empty() ? of_cpu : of_gpu;
}

// --- by messages

int64_t step_at(const run::RankTrace& trace, int64_t time_ns) {
  for (const run::StepMark& step : trace.steps)
    if (time_ns >= step.start_ns && time_ns < step.end_ns) return step.number;
  return trace.steps.empty() ? 0 : trace.steps.back().number;
}

/// The step that launched an event.
int64_t step_of(const run::RankTrace& trace, const run::GpuEvent& event) {
  const run::Launch* launch = run::launch_of(trace, event);
  return step_at(trace, launch != nullptr ? launch->start_ns : event.start_ns);
}

/// Compute kernels between messages, in order of time; the optimizer's are left out.
struct WorkPhase {
  int64_t step = 0;
  std::vector<const run::GpuEvent*> kernels;
  int64_t start_ns() const { return kernels.front()->start_ns; }
  int64_t end_ns() const {
    int64_t end = INT64_MIN;
    for (const run::GpuEvent* kernel : kernels) end = std::max(end, kernel->end_ns());
    return end;
  }
};

bool is_message(const run::RankTrace& trace, const run::GpuEvent& event,
                const GroupLabels& labels) {
  return event.kind == run::GpuClass::kCommunication &&
         kind_of(trace, event) == CollectiveKind::kSendRecv &&
         label_of(labels, collective_of(trace, event)) == "pp";
}

std::vector<WorkPhase> work_phases_of(const run::RankTrace& trace, const GroupLabels& labels) {
  std::vector<bool> optimizer;
  for (const std::string& name : trace.names)
    optimizer.push_back(kernel_class(name, run::GpuClass::kCompute) == "optimizer");
  std::vector<const run::GpuEvent*> events;
  for (const run::GpuEvent& event : trace.events) {
    const bool compute = event.kind == run::GpuClass::kCompute && !optimizer[event.name];
    if (compute || is_message(trace, event, labels)) events.push_back(&event);
  }
  std::ranges::stable_sort(events,
                           [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  std::vector<WorkPhase> phases;
  bool cut = true, any_message = false;
  for (const run::GpuEvent* event : events) {
    if (event->kind != run::GpuClass::kCompute) {
      cut = any_message = true;
      continue;
    }
    const int64_t step = step_of(trace, *event);
    if (cut || phases.back().step != step) phases.push_back({step, {}});
    cut = false;
    phases.back().kernels.push_back(event);
  }
  return any_message ? phases : std::vector<WorkPhase>();
}

PipelineTask task(TaskKind kind, int64_t start_ns, int64_t end_ns) {
  return {kind, -1, -1, -1, start_ns, end_ns - start_ns};
}

/// Which external ids belong to operators of a backward; empty where the trace does not tell.
std::map<int64_t, bool> directions(const run::RankTrace& trace) {
  std::map<int64_t, bool> backward;
  bool any = false;
  for (const run::Operator& op : trace.operators) {
    if (op.external_id < 0) continue;
    backward[op.external_id] = op.forward_thread >= 0;
    any = any || op.forward_thread >= 0;
  }
  return any ? backward : std::map<int64_t, bool>();
}

/// Phases cut where operators turn from forward to backward.
Tasks tasks_by_operators(const run::RankTrace& trace, const std::vector<WorkPhase>& phases,
                         const std::map<int64_t, bool>& backward) {
  Tasks tasks;
  for (const WorkPhase& phase : phases) {
    bool first = true;
    for (const run::GpuEvent* kernel : phase.kernels) {
      const run::Launch* launch = run::launch_of(trace, *kernel);
      const auto known = launch == nullptr ? backward.end() : backward.find(launch->external_id);
      // What no operator launched goes with its neighbours.
      const bool tells = known != backward.end();
      const TaskKind kind = tells && known->second ? TaskKind::kBackward : TaskKind::kForward;
      if (first || (tells && tasks.back().kind != kind))
        tasks.push_back(task(kind, kernel->start_ns, kernel->start_ns));
      tasks.back().duration_ns =
          std::max(tasks.back().duration_ns, kernel->end_ns() - tasks.back().start_ns);
      first = false;
    }
  }
  return tasks;
}

/// The order of 1F1B on one stage: true is a forward.
std::vector<bool> order_1f1b(int64_t stage, int64_t stages, int64_t micro_batches) {
  const int64_t warm_up = std::min(stages - 1 - stage, micro_batches);
  std::vector<bool> order(static_cast<size_t>(warm_up), true);
  for (int64_t i = warm_up; i < micro_batches; ++i) order.insert(order.end(), {true, false});
  order.insert(order.end(), static_cast<size_t>(warm_up), false);
  return order;
}

/// The tasks that lie in one phase each: on the first stage a backward and the next forward, on the
/// last a forward and its backward.
std::vector<std::vector<bool>> phases_1f1b(int64_t stage, int64_t stages, int64_t micro_batches) {
  std::vector<std::vector<bool>> phases;
  for (const bool forward : order_1f1b(stage, stages, micro_batches)) {
    const bool joins = !phases.empty() && phases.back().size() == 1 &&
                       ((stage == 0 && forward && !phases.back()[0]) ||
                        (stage == stages - 1 && !forward && phases.back()[0]));
    if (joins) {
      phases.back().push_back(forward);
    } else {
      phases.push_back({forward});
    }
  }
  return phases;
}

struct StagePhases {
  size_t trace = 0;
  std::vector<WorkPhase> phases;
};

/// One number of micro batches that explains the phases of all stages; 0: there is none.
int64_t micro_batches_of(const std::vector<StagePhases>& stages) {
  const auto count = static_cast<int64_t>(stages.size());
  const auto most = static_cast<int64_t>(stages.back().phases.size());
  for (int64_t m = 1; m <= most; ++m) {
    bool fits = true;
    for (int64_t s = 0; s < count && fits; ++s)
      fits = phases_1f1b(s, count, m).size() == stages[static_cast<size_t>(s)].phases.size();
    if (fits) return m;
  }
  return 0;
}

/// What forwards take of a forward and a backward together, by phases that hold one of them.
double forward_share(const std::vector<StagePhases>& stages, int64_t micro_batches) {
  std::vector<double> forward, backward;
  const auto count = static_cast<int64_t>(stages.size());
  for (int64_t s = 0; s < count; ++s) {
    const auto order = phases_1f1b(s, count, micro_batches);
    for (size_t i = 0; i < order.size(); ++i) {
      const WorkPhase& phase = stages[static_cast<size_t>(s)].phases[i];
      if (order[i].size() == 1)
        (order[i][0] ? forward : backward)
            .push_back(static_cast<double>(phase.end_ns() - phase.start_ns()));
    }
  }
  const double f = base::upper_median(forward), b = base::upper_median(backward);
  return f > 0 && b > 0 ? f / (f + b) : 1.0 / 3;  // a backward is two matrix products to one
}

void add_phase(const WorkPhase& phase, const std::vector<bool>& holds, double share, Tasks& tasks) {
  const auto kind = [](bool forward) { return forward ? TaskKind::kForward : TaskKind::kBackward; };
  const int64_t start = phase.start_ns(), end = phase.end_ns();
  if (holds.size() == 1) {
    tasks.push_back(task(kind(holds[0]), start, end));
    return;
  }
  const auto forward_ns = static_cast<int64_t>(share * static_cast<double>(end - start));
  const int64_t cut = holds[0] ? start + forward_ns : end - forward_ns;
  tasks.push_back(task(kind(holds[0]), start, cut));
  tasks.push_back(task(kind(holds[1]), cut, end));
}

void tasks_by_order(std::vector<run::RankTrace>& ranks, const std::vector<StagePhases>& all,
                    int64_t step) {
  std::vector<StagePhases> stages = all;
  for (StagePhases& stage : stages)
    std::erase_if(stage.phases, [&](const WorkPhase& phase) { return phase.step != step; });
  const int64_t micro_batches = micro_batches_of(stages);
  if (micro_batches == 0) return;
  const double share = forward_share(stages, micro_batches);
  const auto count = static_cast<int64_t>(stages.size());
  for (int64_t s = 0; s < count; ++s) {
    const StagePhases& of_stage = stages[static_cast<size_t>(s)];
    const auto order = phases_1f1b(s, count, micro_batches);
    for (size_t i = 0; i < order.size(); ++i)
      add_phase(of_stage.phases[i], order[i], share, ranks[of_stage.trace].tasks);
  }
}

// --- stages

/// The traces of each pipeline: those that share a group of more than two, or pairs that chain.
std::vector<std::vector<size_t>> pipelines(const std::vector<run::RankTrace>& ranks,
                                           const GroupLabels& labels) {
  std::map<GroupKey, std::set<size_t>> groups;
  for (size_t i = 0; i < ranks.size(); ++i)
    for (const run::Collective& known : ranks[i].collectives)
      if (label_of(labels, known) == "pp" &&
          collective_kind(known.name) == CollectiveKind::kSendRecv)
        groups[{known.group, known.description}].insert(i);
  std::vector<std::set<size_t>> joined;
  for (const auto& [key, members] : groups) {
    std::set<size_t> all = members;
    std::erase_if(joined, [&](const std::set<size_t>& other) {
      const bool meets =
          std::ranges::any_of(other, [&](size_t trace) { return all.count(trace) > 0; });
      if (meets) all.insert(other.begin(), other.end());
      return meets;
    });
    joined.push_back(std::move(all));
  }
  std::vector<std::vector<size_t>> result;
  for (const std::set<size_t>& one : joined)
    if (one.size() >= 2) result.emplace_back(one.begin(), one.end());
  return result;
}

/// Puts tasks in order; those without a number are counted, forwards and backwards by themselves.
void number_tasks(run::RankTrace& trace) {
  std::ranges::stable_sort(trace.tasks,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  std::map<std::pair<int64_t, TaskKind>, int64_t> counts;
  for (PipelineTask& t : trace.tasks) {
    if (t.step < 0) t.step = step_at(trace, t.start_ns);
    if (t.chunk < 0) t.chunk = 0;
    const int64_t number = counts[{t.step, t.kind}]++;
    if (t.micro_batch < 0) t.micro_batch = number;
  }
}

void find_in_pipeline(std::vector<run::RankTrace>& ranks, const std::vector<size_t>& members,
                      const GroupLabels& labels) {
  std::vector<StagePhases> stages;
  bool all_have_operators = true;
  for (size_t s = 0; s < members.size(); ++s) {
    run::RankTrace& trace = ranks[members[s]];
    trace.stage = static_cast<int64_t>(s);
    trace.stages = static_cast<int64_t>(members.size());
    if (!trace.tasks.empty()) return;
    stages.push_back({members[s], work_phases_of(trace, labels)});
    all_have_operators = all_have_operators && !directions(trace).empty();
    if (stages.back().phases.empty()) return;
  }
  if (!all_have_operators) {
    std::set<int64_t> steps;
    for (const WorkPhase& phase : stages.front().phases) steps.insert(phase.step);
    for (const int64_t step : steps) tasks_by_order(ranks, stages, step);
    return;
  }
  for (const StagePhases& of_stage : stages) {
    run::RankTrace& trace = ranks[of_stage.trace];
    trace.tasks = tasks_by_operators(trace, of_stage.phases, directions(trace));
  }
}

}  // namespace

void find_pipeline_tasks(std::vector<run::RankTrace>& ranks, const GroupLabels& labels) {
  for (run::RankTrace& trace : ranks)
    if (trace.tasks.empty()) trace.tasks = tasks_of_ranges(trace);
  for (const std::vector<size_t>& members : pipelines(ranks, labels)) {
    const bool stated = std::ranges::any_of(members, [&](size_t i) { return ranks[i].stage >= 0; });
    if (!stated) find_in_pipeline(ranks, members, labels);
  }
  for (run::RankTrace& trace : ranks) number_tasks(trace);
}

}  // namespace ergometer::analysis
