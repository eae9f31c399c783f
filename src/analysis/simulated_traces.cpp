#include "analysis/simulated_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"

namespace ergometer::analysis {
namespace {

using TaskKind = run::PipelineTask::Kind;

/// "ncclDevKernel_SendRecv [recv_forward]": what the operator is called.
std::string_view operator_of(std::string_view kernel_name) {
  const size_t from = kernel_name.rfind('[');
  return from == std::string_view::npos || !kernel_name.ends_with(']')
             ? kernel_name
             : kernel_name.substr(from + 1, kernel_name.size() - from - 2);
}

bool is_communication(const run::Kernel& kernel) {
  return kernel.category == "collective" || kernel.category == "send_recv";
}

// --- who takes part

struct Members {
  std::string parallelism, group;
  int64_t size = 0;
};

/// The operators' names begin with what they serve.
Members members_of(const run::Kernel& kernel, const RankLayout& layout) {
  const std::string_view op = operator_of(kernel.name);
  const int64_t tp = layout.tp, cp = layout.cp, rank = kernel.rank;
  const int64_t in_stage = rank % layout.stage_ranks(), stage = rank / layout.stage_ranks();
  const auto members = [](std::string parallelism, int64_t index, int64_t size) {
    return Members{parallelism, fmt::format("{} {}", parallelism, index), size};
  };
  if (op.starts_with("tp_") || op.starts_with("loss_") || op.starts_with("norm_grad_"))
    return members("tp", rank / tp, tp);
  if (op.starts_with("cp_")) return members("cp", rank / (tp * cp) * tp + rank % tp, cp);
  const int64_t etp = layout.expert_tp(), experts = layout.expert_ranks();
  if (op.starts_with("ep_")) return members("ep", rank / experts * etp + rank % etp, layout.ep);
  if (op.starts_with("etp_")) return members("etp", rank / etp, etp);
  if (base::contains(op, "expert"))
    return members("edp", stage * experts + in_stage % experts, layout.stage_ranks() / experts);
  if (op.starts_with("grad_norm")) return members("world", 0, layout.stage_ranks() * layout.pp);
  // Gradients and weights are shared by data and context parallel ranks.
  return members("dp", stage * tp + rank % tp, cp * layout.dp);
}

/// A message's two ends. The last stage's forward output goes on to the first stage's next chunk,
/// and its gradient comes back the same way; "turned" chunks lie in reverse.
Members pair_of(const run::Kernel& kernel, const RankLayout& layout) {
  const std::string_view op = operator_of(kernel.name);
  const bool forward = base::contains(op, "forward"), sends = base::contains(op, "send");
  const int64_t ranks = layout.stage_ranks(), all = ranks * layout.pp;
  const bool turned = base::contains(op, "turned");
  const int64_t step = (forward == sends) != turned ? ranks : -ranks;
  const int64_t other = ((kernel.rank + step) % all + all) % all;
  const int64_t from = sends ? kernel.rank : other, to = sends ? other : kernel.rank;
  return {"pp", fmt::format("pp {}>{} {}", from, to, forward ? "forward" : "backward"), 2};
}

run::Collective simulated_collective(const run::Kernel& kernel, const RankLayout& layout) {
  const std::string_view op = operator_of(kernel.name);
  const bool message = op.starts_with("send_") || op.starts_with("recv_");
  const Members members = message ? pair_of(kernel, layout) : members_of(kernel, layout);
  run::Collective known;
  known.name = message ? std::string(op.substr(0, 4)) : std::string(op);
  known.group = members.group;
  known.description = members.parallelism;
  known.dtype = "Byte";
  known.in_elements = known.out_elements = std::llround(kernel.comm_bytes);
  known.group_size = members.size;
  return known;
}

// --- pipeline tasks

/// Whether a kernel belongs to a backward; nothing where its name fits both.
std::optional<TaskKind> direction_of(const run::Kernel& kernel) {
  const std::string_view op = operator_of(kernel.name);
  if (base::contains(op, "wgrad") || base::contains(op, "weight_grad"))
    return TaskKind::kBackwardWeight;
  if (base::contains(op, "backward") || base::contains(op, "dgrad") || base::contains(op, "_grad"))
    return TaskKind::kBackward;
  if (is_communication(kernel)) return std::nullopt;
  return TaskKind::kForward;
}

/// Cuts a rank's compute stream into tasks.
class TaskCutter {
 public:
  void add(const run::Kernel& kernel);
  std::vector<run::PipelineTask> take();

 private:
  struct Task {
    run::PipelineTask task;
    bool inputs = false, weights = false;  ///< which gradients it makes
  };
  void begin(const run::Kernel& kernel, TaskKind kind);
  bool repeats(const run::Kernel& kernel);

  std::vector<Task> tasks_;
  std::set<std::pair<std::string, int64_t>> seen_;  ///< of the current forward
};

void TaskCutter::begin(const run::Kernel& kernel, TaskKind kind) {
  Task next;
  next.task.kind = kind;
  next.task.step = 0;
  next.task.micro_batch = kernel.micro_batch;
  next.task.chunk = std::max<int64_t>(kernel.chunk, 0);
  next.task.start_ns = kernel.start_ns;
  tasks_.push_back(next);
  seen_.clear();
}

/// A layer that is computed again belongs to the backward that needs it.
bool TaskCutter::repeats(const run::Kernel& kernel) {
  if (kernel.category != "gemm" && kernel.category != "attention") return false;
  return !seen_.emplace(kernel.name, kernel.layer).second;
}

void TaskCutter::add(const run::Kernel& kernel) {
  std::optional<TaskKind> kind = direction_of(kernel);
  const bool weights = kind == TaskKind::kBackwardWeight;
  if (weights) kind = TaskKind::kBackward;
  const run::PipelineTask* last = tasks_.empty() ? nullptr : &tasks_.back().task;
  const bool same = last != nullptr && last->micro_batch == kernel.micro_batch &&
                    last->chunk == std::max<int64_t>(kernel.chunk, 0);
  if (!same) {
    begin(kernel, kind.value_or(TaskKind::kForward));
    repeats(kernel);
  } else if (last->kind == TaskKind::kForward && (kind == TaskKind::kBackward || repeats(kernel))) {
    begin(kernel, TaskKind::kBackward);
  }
  Task& task = tasks_.back();
  // A task that begins with a collective shows by its first kernel what it is.
  if (kind == TaskKind::kBackward && task.task.kind == TaskKind::kForward) task.task.kind = *kind;
  task.weights = task.weights || weights;
  task.inputs = task.inputs || (kind == TaskKind::kBackward && !weights);
  task.task.duration_ns = kernel.start_ns + kernel.duration_ns - task.task.start_ns;
}

/// Where gradients of weights are tasks of their own, the others are of inputs alone.
std::vector<run::PipelineTask> TaskCutter::take() {
  const auto weights_alone = [](const Task& t) {
    return t.task.kind == TaskKind::kBackward && t.weights && !t.inputs;
  };
  const bool apart = std::ranges::any_of(tasks_, weights_alone);
  std::vector<run::PipelineTask> all;
  for (Task& task : tasks_) {
    if (apart && weights_alone(task)) task.task.kind = TaskKind::kBackwardWeight;
    if (apart && task.task.kind == TaskKind::kBackward && !task.weights)
      task.task.kind = TaskKind::kBackwardInput;
    all.push_back(task.task);
  }
  return all;
}

run::PipelineTask task_of(const run::Kernel& kernel, TaskKind kind) {
  return {kind,
          0,
          kernel.micro_batch,
          std::max<int64_t>(kernel.chunk, 0),
          kernel.start_ns,
          kernel.duration_ns};
}

std::vector<run::PipelineTask> tasks_of(const std::vector<const run::Kernel*>& kernels) {
  constexpr int32_t kComputeStream = 0;
  TaskCutter cutter;
  std::vector<run::PipelineTask> others;
  for (const run::Kernel* kernel : kernels) {
    const std::string_view op = operator_of(kernel->name);
    if (op.starts_with("send_")) others.push_back(task_of(*kernel, TaskKind::kSend));
    if (op.starts_with("recv_")) others.push_back(task_of(*kernel, TaskKind::kReceive));
    if (kernel->category == "optimizer") others.push_back(task_of(*kernel, TaskKind::kOptimizer));
    if (kernel->micro_batch >= 0 && kernel->stream == kComputeStream &&
        kernel->category != "send_recv")
      cutter.add(*kernel);
  }
  std::vector<run::PipelineTask> all = cutter.take();
  all.insert(all.end(), others.begin(), others.end());
  std::ranges::stable_sort(all,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return all;
}

// --- a rank

/// Kernels' passes as ranges on their streams, by which the analysis tells phases.
void add_passes(const std::vector<const run::Kernel*>& kernels, run::RankTrace& trace) {
  std::map<std::string_view, uint32_t> names;
  std::map<int32_t, size_t> open;  // by stream: the range that the next kernel may continue
  for (const run::Kernel* kernel : kernels) {
    if (kernel->pass.empty()) continue;
    // Gradients of weights are a part of the backward pass.
    const std::string_view pass =
        kernel->pass == "weight" ? std::string_view("backward") : std::string_view(kernel->pass);
    const auto [name, is_new] = names.emplace(pass, static_cast<uint32_t>(trace.names.size()));
    if (is_new) trace.names.emplace_back(pass);
    const auto range = open.find(kernel->stream);
    if (range != open.end() && trace.ranges[range->second].name == name->second) {
      run::Range& last = trace.ranges[range->second];
      last.duration_ns = kernel->start_ns + kernel->duration_ns - last.start_ns;
      continue;
    }
    open[kernel->stream] = trace.ranges.size();
    trace.ranges.push_back({.name = name->second,
                            .gpu = true,
                            .thread = kernel->stream,
                            .start_ns = kernel->start_ns,
                            .duration_ns = kernel->duration_ns});
  }
  std::ranges::stable_sort(trace.ranges,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
}

run::RankTrace trace_of(int64_t rank, const std::vector<const run::Kernel*>& kernels,
                        const RankLayout& layout, double step_s) {
  run::RankTrace trace;
  trace.rank = rank;
  trace.file = fmt::format("rank {}", rank);
  trace.world_size = layout.stage_ranks() * layout.pp;
  trace.stage = rank / layout.stage_ranks();
  trace.stages = layout.pp;
  trace.steps = {{0, 0, std::llround(step_s * 1e9)}};
  std::map<std::string_view, uint32_t> names;
  for (const run::Kernel* kernel : kernels) {
    const auto [name, is_new] =
        names.emplace(kernel->name, static_cast<uint32_t>(trace.names.size()));
    if (is_new) trace.names.push_back(kernel->name);
    run::GpuEvent event;
    event.start_ns = kernel->start_ns;
    event.duration_ns = kernel->duration_ns;
    event.name = name->second;
    event.device = 0;
    event.stream = kernel->stream;
    if (is_communication(*kernel)) {
      event.kind = run::GpuClass::kCommunication;
      event.collective = static_cast<uint32_t>(trace.collectives.size());
      trace.collectives.push_back(simulated_collective(*kernel, layout));
    }
    trace.events.push_back(event);
  }
  add_passes(kernels, trace);
  return trace;
}

}  // namespace

std::vector<run::RankTrace> simulated_traces(const run::Run& run, const RankLayout& layout) {
  if (layout.stage_ranks() <= 0 || layout.pp <= 0) return {};
  const bool window = run.kernels_to_ns > 0;
  std::map<int64_t, std::vector<const run::Kernel*>> ranks;
  if (run.kernels.empty())
    for (const run::RankTasks& tasks : run.tasks) ranks[tasks.rank];
  // Of several windows the steady state's: between them nobody is idle.
  const auto within = [&](const run::Kernel& kernel) {
    return !window ||
           (kernel.start_ns >= run.kernels_from_ns && kernel.start_ns < run.kernels_to_ns);
  };
  for (const run::Kernel& kernel : run.kernels)
    if (kernel.category != "wait" && within(kernel)) ranks[kernel.rank].push_back(&kernel);
  std::vector<run::RankTrace> traces;
  for (const auto& [rank, kernels] : ranks) {
    run::RankTrace& trace =
        traces.emplace_back(trace_of(rank, kernels, layout, run.performance.step_time_s));
    // A window's kernels are no step's.
    if (window) trace.steps.clear();
    if (layout.pp == 1) continue;
    const auto known = std::ranges::find(run.tasks, trace.rank, &run::RankTasks::rank);
    if (known != run.tasks.end())
      trace.tasks = known->tasks;
    else if (!window)
      trace.tasks = tasks_of(kernels);
  }
  return traces;
}

}  // namespace ergometer::analysis
