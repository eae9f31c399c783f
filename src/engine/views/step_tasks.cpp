#include "engine/views/step_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/views/task_waits.h"
#include "plan/schedule.h"

namespace ergometer::engine {
namespace {

using Kind = run::PipelineTask::Kind;
using plan::InstructionKind;
using workload::GroupKind;
using workload::Operator;
using workload::Pass;

/// Shorter ones are rounding, or the difference between two clocks.
constexpr double kLeastWaitS = 1e-6;
/// Pieces beside the compute stream that are closer than this part of the step are drawn as one.
constexpr int64_t kTooCloseParts = 2000;

int64_t nanoseconds(double s) { return std::llround(s * 1e9); }

bool is_collective(const plan::Instruction& it) {
  return it.kind == InstructionKind::kCollective || it.kind == InstructionKind::kWorld;
}

/// Of gradients and parameters.
Kind collective_kind(const Operator& op) {
  switch (op.group) {
    case GroupKind::kEmbedding: return Kind::kEmbeddingReduction;
    case GroupKind::kWorld: return Kind::kGradientNorm;
    case GroupKind::kData:
    case GroupKind::kExpertData:
    case GroupKind::kShard:
    case GroupKind::kReplica:
      return op.collective == workload::CollectiveKind::kAllGather ? Kind::kParameterGather
                                                                   : Kind::kGradientReduction;
    default: return op.pass == Pass::kOptimizer ? Kind::kGradientReduction : Kind::kOther;
  }
}

/// Of work that belongs to no micro batch.
Kind end_kind(const Operator& op) {
  if (op.kind == workload::OperatorKind::kCollective) return collective_kind(op);
  if (op.kernels == 0 && op.host_wait_s > 0) return Kind::kHost;
  if (op.pass != Pass::kOptimizer) return Kind::kOther;
  return op.name == "gradient_norm" ? Kind::kGradientNorm : Kind::kOptimizer;
}

/// Whom a collective at the end of the step waits for.
std::string late_ones(const Operator& op, int64_t stage, int64_t stages) {
  if (op.group == GroupKind::kWorld || op.group == GroupKind::kStages) return "other stages";
  if (op.group == GroupKind::kEmbedding)
    return fmt::format("stage {}", stage == 0 ? stages - 1 : 0);
  return fmt::format("other {} ranks", group_word(op.group));
}

using MicroBatchChunks = std::set<std::pair<int32_t, int32_t>>;

/// The micro batches and chunks whose weight gradients a stage computes apart from the others.
MicroBatchChunks weights_apart(const spec::Job& job, int64_t stage) {
  MicroBatchChunks apart;
  for (const plan::ScheduleSlot& slot : plan::schedule(job, stage))
    if (slot.kind == plan::SlotKind::kBackwardWeight) apart.emplace(slot.micro_batch, slot.chunk);
  return apart;
}

/// Cuts one rank's step into tasks, instruction by instruction in issue order.
class TaskList {
 public:
  TaskList(const EngineInput& input, const MessageEnds& ends, int64_t rank, double step_s)
      : input_(input),
        role_(static_cast<size_t>(rank / input.plan.ranks_per_role)),
        step_ns_(nanoseconds(step_s)),
        weights_apart_(weights_apart(input.job, input.plan.roles[role_].stage)),
        names_(input.plan, ends),
        result_{.rank = rank, .stage = input.plan.roles[role_].stage, .tasks = {}} {}

  void add(const plan::Instruction& it, const Span& span) {
    names_.follow(it);
    const bool computes = it.stream == workload::Stream::kCompute;
    if (is_message(it)) {
      beside_.push_back(task(it.kind == InstructionKind::kSend ? Kind::kSend : Kind::kReceive, it,
                             span.start_s, span.end_s));
      beside_.back().what = names_.name(it);
      beside_.back().beside = true;
    }
    if (computes && (is_wait(it) || is_message(it)))
      wait(span.start_s, span.end_s, names_.name(it));
    else if (it.op >= 0 && (it.kind == InstructionKind::kCompute || is_collective(it)))
      add_operator(it, input_.plan.operators[static_cast<size_t>(it.op)], span);
  }

  run::RankTasks take() {
    fill_gaps(waits_, step_ns_, work_);
    result_.tasks = std::move(work_);
    result_.tasks.insert(result_.tasks.end(), beside_.begin(), beside_.end());
    std::ranges::stable_sort(result_.tasks,
                             [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    return std::move(result_);
  }

 private:
  Kind pass_kind(const plan::Instruction& it, Pass pass) const {
    if (pass == Pass::kForward) return Kind::kForward;
    if (pass == Pass::kOptimizer) return Kind::kOptimizer;
    if (!weights_apart_.contains({it.micro_batch, it.chunk})) return Kind::kBackward;
    return pass == Pass::kWeight ? Kind::kBackwardWeight : Kind::kBackwardInput;
  }
  static run::PipelineTask task(Kind kind, const plan::Instruction& it, double from_s,
                                double to_s) {
    return {.kind = kind,
            .step = 0,
            .micro_batch = it.micro_batch,
            .chunk = it.chunk,
            .start_ns = nanoseconds(from_s),
            .duration_ns = nanoseconds(to_s) - nanoseconds(from_s)};
  }

  void add_operator(const plan::Instruction& it, const Operator& op, const Span& span) {
    const bool in_pass = it.micro_batch >= 0 && op.pass != Pass::kOptimizer;
    if (it.stream != workload::Stream::kCompute) {
      if (op.module == workload::Module::kData) add_beside(it, op, span);
    } else if (in_pass) {
      add_work(task(pass_kind(it, op.pass), it, span.start_s, span.end_s));
    } else {
      add_end(it, op, span);
    }
  }
  /// Work of the step's ends; a collective of it lasts from when everybody is there.
  void add_end(const plan::Instruction& it, const Operator& op, const Span& span) {
    double from_s = span.start_s;
    if (is_collective(it)) {
      const double late_s = span.end_s - span.start_s - transfer_s(input_, span, it);
      if (late_s > kLeastWaitS) from_s += late_s;
      wait(span.start_s, from_s,
           late_ones(op, result_.stage, static_cast<int64_t>(input_.plan.roles.size())));
    }
    run::PipelineTask end = task(end_kind(op), it, from_s, span.end_s);
    end.what = op.name;
    add_work(end);
  }
  void add_work(const run::PipelineTask& piece) {
    if (!work_.empty() && continues(work_.back(), piece))
      work_.back().duration_ns = piece.start_ns + piece.duration_ns - work_.back().start_ns;
    else
      work_.push_back(piece);
  }
  void add_beside(const plan::Instruction& it, const Operator& op, const Span& span) {
    run::PipelineTask piece = task(collective_kind(op), it, span.start_s, span.end_s);
    piece.what = op.name;
    piece.beside = true;
    for (auto last = beside_.rbegin(); last != beside_.rend(); ++last) {
      if (!same_task(*last, piece)) continue;
      if (piece.start_ns - last->start_ns - last->duration_ns > step_ns_ / kTooCloseParts) break;
      last->duration_ns = piece.start_ns + piece.duration_ns - last->start_ns;
      return;
    }
    beside_.push_back(piece);
  }
  static bool same_task(const run::PipelineTask& a, const run::PipelineTask& b) {
    return a.kind == b.kind && a.micro_batch == b.micro_batch && a.chunk == b.chunk &&
           a.what == b.what;
  }
  /// Waits within a pass belong to it; those between collectives at the end of the step do not.
  static bool continues(const run::PipelineTask& last, const run::PipelineTask& piece) {
    if (!same_task(last, piece)) return false;
    return piece.micro_batch >= 0 || last.start_ns + last.duration_ns == piece.start_ns;
  }
  void wait(double from_s, double to_s, std::string what) {
    const NamedWait row{nanoseconds(from_s), nanoseconds(to_s), std::move(what)};
    if (row.to_ns > row.from_ns) waits_.push_back(row);
  }

  const EngineInput& input_;
  size_t role_;
  int64_t step_ns_;
  MicroBatchChunks weights_apart_;
  WaitNames names_;
  run::RankTasks result_;
  std::vector<run::PipelineTask> work_;    ///< on the compute stream
  std::vector<run::PipelineTask> beside_;  ///< on the others
  std::vector<NamedWait> waits_;
};

}  // namespace

std::vector<run::RankTasks> step_tasks(const EngineInput& input, const std::vector<Span>& spans,
                                       double step_s) {
  const MessageEnds ends(input.plan);
  std::vector<run::RankTasks> all;
  for (size_t first = 0; first < spans.size();) {
    const int64_t rank = spans[first].rank;
    const auto& program =
        input.plan.roles[static_cast<size_t>(rank / input.plan.ranks_per_role)].program;
    TaskList list(input, ends, rank, step_s);
    for (; first < spans.size() && spans[first].rank == rank; ++first)
      list.add(program[static_cast<size_t>(spans[first].instruction)], spans[first]);
    all.push_back(list.take());
  }
  return all;
}

}  // namespace ergometer::engine
