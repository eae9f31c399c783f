#include "engine/step_tasks.h"

#include <algorithm>
#include <cmath>

namespace ergometer::engine {
namespace {

using Kind = run::PipelineTask::Kind;
using plan::InstructionKind;
using workload::Pass;

int64_t nanoseconds(double s) { return std::llround(s * 1e9); }

/// Cuts one rank's step into tasks, instruction by instruction in issue order.
class TaskList {
 public:
  TaskList(const EngineInput& input, int64_t rank)
      : weights_apart_(input.job.parallelism.schedule == spec::Schedule::kZbH1),
        result_{.rank = rank, .stage = rank / input.plan.ranks_per_role, .tasks = {}} {}

  void add(const plan::Instruction& it, const workload::Operator& op, const Span& span) {
    if (it.kind == InstructionKind::kSend || it.kind == InstructionKind::kRecv) {
      result_.tasks.push_back(
          task(it.kind == InstructionKind::kSend ? Kind::kSend : Kind::kReceive, it, span));
    } else if (it.stream == workload::Stream::kCompute && computes(it, op)) {
      add_work(kind_of(op.pass), it, span);
    }
  }

  run::RankTasks take() {
    for (const run::PipelineTask& work : work_) result_.tasks.push_back(work);
    std::stable_sort(result_.tasks.begin(), result_.tasks.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    return std::move(result_);
  }

 private:
  static bool computes(const plan::Instruction& it, const workload::Operator& op) {
    if (it.kind == InstructionKind::kCompute) return true;
    const bool collective =
        it.kind == InstructionKind::kCollective || it.kind == InstructionKind::kWorld;
    // The gradients' reductions at the end of the step are nobody's pass.
    return collective && it.micro_batch >= 0 && op.pass != Pass::kOptimizer;
  }
  Kind kind_of(Pass pass) const {
    switch (pass) {
      case Pass::kForward: return Kind::kForward;
      case Pass::kRecompute:
      case Pass::kBackward: return weights_apart_ ? Kind::kBackwardInput : Kind::kBackward;
      case Pass::kWeight: return weights_apart_ ? Kind::kBackwardWeight : Kind::kBackward;
      case Pass::kOptimizer: return Kind::kOptimizer;
    }
    return Kind::kOther;
  }
  static run::PipelineTask task(Kind kind, const plan::Instruction& it, const Span& span) {
    return {.kind = kind,
            .step = 0,
            .micro_batch = it.micro_batch,
            .chunk = it.chunk,
            .start_ns = nanoseconds(span.start_s),
            .duration_ns = nanoseconds(span.end_s) - nanoseconds(span.start_s)};
  }
  void add_work(Kind kind, const plan::Instruction& it, const Span& span) {
    if (it.micro_batch < 0 && kind != Kind::kOptimizer) kind = Kind::kOther;
    const bool same = !work_.empty() && work_.back().kind == kind &&
                      work_.back().micro_batch == it.micro_batch && work_.back().chunk == it.chunk;
    if (!same) work_.push_back(task(kind, it, span));
    work_.back().duration_ns = nanoseconds(span.end_s) - work_.back().start_ns;
  }

  bool weights_apart_;
  run::RankTasks result_;
  std::vector<run::PipelineTask> work_;  ///< on the compute stream
};

}  // namespace

std::vector<run::RankTasks> step_tasks(const EngineInput& input, const std::vector<Span>& spans) {
  std::vector<run::RankTasks> all;
  for (size_t first = 0; first < spans.size();) {
    const int64_t rank = spans[first].rank;
    const auto& program =
        input.plan.roles[static_cast<size_t>(rank / input.plan.ranks_per_role)].program;
    TaskList list(input, rank);
    for (; first < spans.size() && spans[first].rank == rank; ++first) {
      const plan::Instruction& it = program[static_cast<size_t>(spans[first].instruction)];
      if (it.op >= 0) list.add(it, input.plan.operators[static_cast<size_t>(it.op)], spans[first]);
    }
    all.push_back(list.take());
  }
  return all;
}

}  // namespace ergometer::engine
