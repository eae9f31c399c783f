#include "engine/time/compile.h"

#include <algorithm>

#include "base/check.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::GroupKind;
using workload::Stream;

bool crosses_stages(GroupKind group) {
  return group == GroupKind::kPipeline || group == GroupKind::kEmbedding ||
         group == GroupKind::kWorld || group == GroupKind::kStages;
}

StepKind step_kind(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kCompute: return StepKind::kCompute;
    case InstructionKind::kCollective: return StepKind::kCollective;
    case InstructionKind::kWorld: return StepKind::kWorld;
    case InstructionKind::kArrive: return StepKind::kArrive;
    case InstructionKind::kSend: return StepKind::kSend;
    case InstructionKind::kRecv: return StepKind::kRecv;
    case InstructionKind::kJoin: return StepKind::kJoin;
    case InstructionKind::kRecord: return StepKind::kRecord;
    case InstructionKind::kWait: return StepKind::kWait;
    case InstructionKind::kHostSync: return StepKind::kHostSync;
  }
  return StepKind::kCompute;
}

/// The part that communication is charged to.
Part part_of(workload::CollectiveKind kind) {
  switch (kind) {
    case workload::CollectiveKind::kAllReduce: return Part::kAllReduce;
    case workload::CollectiveKind::kAllGather: return Part::kAllGather;
    case workload::CollectiveKind::kReduceScatter: return Part::kReduceScatter;
    case workload::CollectiveKind::kAllToAll: return Part::kAllToAll;
    case workload::CollectiveKind::kSendRecv: return Part::kSendRecv;
  }
  return Part::kIdle;
}

void add(ClockedTime& sum, const ClockedTime& term) {
  sum.fixed_s += term.fixed_s;
  sum.clocked_s += term.clocked_s;
}

ClockedTime sum_of(ClockedTime a, const ClockedTime& b) {
  add(a, b);
  return a;
}

/// Appends `next` to the run `run` if one line stays the largest over all clocks; else leaves it
/// alone.
bool merge(Step& run, const Step& next, ClockRange clocks, SureClocks& sure) {
  if (run.kind != StepKind::kCompute || run.stream != next.stream) return false;
  if (run.row >= 0 || next.row >= 0 || run.each >= 0 || next.each >= 0) return false;
  const ClockedTime earlier = sum_of(run.after_host, next.duration);
  const ClockedTime last{.fixed_s = run.host_s + next.duration.fixed_s,
                         .clocked_s = next.duration.clocked_s};
  const bool earlier_wins = earlier.at(clocks.low) >= last.at(clocks.low) &&
                            earlier.at(clocks.high) >= last.at(clocks.high);
  const bool last_wins = earlier.at(clocks.low) <= last.at(clocks.low) &&
                         earlier.at(clocks.high) <= last.at(clocks.high);
  sure.compared((last.fixed_s - earlier.fixed_s) / (earlier.clocked_s - last.clocked_s), clocks);
  if (!earlier_wins && !last_wins) return false;
  run.after_host = earlier_wins ? earlier : last;
  add(run.duration, next.duration);
  run.host_s += next.host_s;
  return true;
}

/// Gives every event a buffer from its record to its last wait, so that a program with many events
/// needs few.
class EventBuffers {
 public:
  explicit EventBuffers(const plan::Role& role)
      : last_use_(static_cast<size_t>(role.events), -1),
        buffer_(static_cast<size_t>(role.events), -1) {
    for (size_t i = 0; i < role.program.size(); ++i) {
      const Instruction& instruction = role.program[i];
      if (instruction.kind != InstructionKind::kRecord &&
          instruction.kind != InstructionKind::kWait)
        continue;
      ERGOMETER_CHECK(instruction.slot >= 0 && instruction.slot < role.events,
                      "an event outside its role");
      last_use_[static_cast<size_t>(instruction.slot)] = static_cast<int64_t>(i);
    }
  }

  /// The buffer of event `slot` for instruction `index`; -1 for a wait on what was never recorded.
  int32_t at(int32_t slot, size_t index, bool record) {
    int32_t& buffer = buffer_[static_cast<size_t>(slot)];
    if (buffer < 0 && record) buffer = take();
    const int32_t found = buffer;
    if (found >= 0 && last_use_[static_cast<size_t>(slot)] == static_cast<int64_t>(index)) {
      free_.push_back(found);
      buffer = -1;
    }
    return found;
  }
  int32_t count() const { return count_; }

 private:
  int32_t take() {
    if (free_.empty()) return count_++;
    const int32_t buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  std::vector<int64_t> last_use_;
  std::vector<int32_t> buffer_, free_;
  int32_t count_ = 0;
};

/// That of "no operator", then by number.
std::vector<PricedOperator> priced_operators(const EngineInput& input, const cost::Prices& prices,
                                             size_t role, const RankLoads& loads) {
  std::vector<PricedOperator> operators(input.plan.operators.size() + 1);
  for (size_t i = 0; i < input.plan.operators.size(); ++i) {
    const workload::Operator& op = input.plan.operators[i];
    const cost::Price& price = prices.prices[role][i];
    PricedOperator& priced = operators[i + 1];
    priced.duration = {.fixed_s = price.fixed_s, .clocked_s = price.clocked_s};
    priced.collective = op.kind == workload::OperatorKind::kCollective;
    priced.measure = loads.measure(op);
    priced.shared = priced.collective && loads.is_shared(op.group);
    if (!prices.per_load.empty()) {
      const cost::Price& more = prices.per_load[role][i];
      priced.per_load = {.fixed_s = more.fixed_s, .clocked_s = more.clocked_s};
    }
    priced.host_s = input.costs.host_s(op);
    priced.group = op.group;
    priced.part = part_of(op.collective);
    priced.optimizer = op.pass == workload::Pass::kOptimizer;
    if (op.kind == workload::OperatorKind::kCollective)
      priced.charge = crosses_stages(op.group) ? Charge::kDuration : Charge::kWhole;
  }
  return operators;
}

Step make_step(const PricedOperators& operators, const Instruction& instruction, size_t index) {
  const PricedOperator& op = operators.of(instruction);
  Step step;
  step.kind = step_kind(instruction.kind);
  step.stream = instruction.stream;
  step.on = instruction.on;
  step.slot = instruction.slot;
  step.duration = operators.duration(index);
  step.after_host = step.duration;
  step.host_s = launches(instruction.kind) ? op.host_s : 0;
  step.charge = instruction.stream == Stream::kCompute ? op.charge : Charge::kNone;
  step.group = op.group;
  step.part = op.part;
  const bool loaded = !operators.per_load(index).is_zero() && operators.row(index) >= 0;
  if (operators.mixed() && instruction.op >= 0) {
    step.each = static_cast<int32_t>(index);
    if (step.kind == StepKind::kCompute)
      step.part = op.optimizer ? Part::kOptimizer : Part::kCompute;
  } else if (loaded) {
    step.per_load = operators.per_load(index);
    step.row = operators.row(index);
    if (step.kind != StepKind::kCompute) step.each = static_cast<int32_t>(index);
  }
  return step;
}

/// Whether nobody waits for others in an instruction that otherwise all of them meet in.
bool meets_nobody(const EngineInput& input, const Instruction& it) {
  const bool meets = it.kind == InstructionKind::kCollective || it.kind == InstructionKind::kWorld;
  const WaitsLeftOut& without = input.waits_left_out;
  return meets && without.collectives &&
         input.plan.operators[static_cast<size_t>(it.op)].name != without.but_at;
}

/// The instruction as it is where waits are left out: a meeting is a kernel of every rank's own.
Instruction as_played(const EngineInput& input, Instruction it) {
  if (meets_nobody(input, it)) it.kind = InstructionKind::kCompute;
  return it;
}

/// Writes down where periods end; true if one does before instruction `index`.
bool mark_period(const plan::Role& source, size_t index, CompiledRole& compiled) {
  bool marked = false;
  for (size_t mark = 0; mark < source.periods.size(); ++mark) {
    if (source.periods[mark] != index) continue;
    compiled.periods[mark] = compiled.steps.size();
    marked = true;
  }
  return marked;
}

CompiledRole compile_role(const EngineInput& input, size_t role, ClockRange clocks) {
  const plan::Role& source = input.plan.roles[role];
  CompiledRole compiled;
  compiled.steps.reserve(source.program.size());
  EventBuffers events(source);
  const PricedOperators operators(input, role);
  bool marked = false;
  for (size_t i = 0; i < source.program.size(); ++i) {
    marked |= mark_period(source, i, compiled);
    const Instruction instruction = as_played(input, source.program[i]);
    if (input.waits_left_out.host && instruction.kind == InstructionKind::kHostSync) continue;
    Step step = make_step(operators, instruction, i);
    if (!input.host_stalls.empty() && input.host_stalls[role].instruction == i)
      step.host_s += input.host_stalls[role].seconds;
    if (step.kind == StepKind::kRecord || step.kind == StepKind::kWait) {
      step.slot = events.at(instruction.slot, i, step.kind == StepKind::kRecord);
      if (step.slot < 0) continue;
    }
    if (step.kind == StepKind::kCompute) {
      if (step.stream == Stream::kCompute && step.each < 0)
        add(operators.of(instruction).optimizer ? compiled.optimizer : compiled.compute,
            input.plan.times(source, i) * step.duration);
      if (!marked && !compiled.steps.empty() &&
          merge(compiled.steps.back(), step, clocks, compiled.sure))
        continue;
    }
    if (step.kind == StepKind::kRecv) compiled.received.push_back(step.slot);
    compiled.steps.push_back(step);
    marked = false;
  }
  compiled.event_buffers = events.count();
  return compiled;
}

}  // namespace

PricedOperators::PricedOperators(const EngineInput& input, size_t role)
    : job_(input.job),
      work_(input.plan.operators),
      program_(input.plan.roles[role].program),
      loads_(rank_loads(input)),
      operators_(priced_operators(input, input.costs, role, loads_)),
      groups_(input.job, static_cast<int64_t>(role)) {
  if (!input.stretch.empty() && !input.stretch[role].empty()) stretch_ = &input.stretch[role];
  if (!groups_.mixed()) return;
  for (const cost::Prices& prices : input.costs.groups)
    by_group_.push_back(priced_operators(input, prices, role, loads_));
}

void SureClocks::compared(double crossing, ClockRange clocks) {
  constexpr double kRounding = 1e-9;
  if (!(crossing > 0)) return;
  const double below = crossing * (1 - kRounding), above = crossing * (1 + kRounding);
  if (crossing >= clocks.high) {
    high_to_ = std::min(high_to_, below);
  } else if (crossing <= clocks.low) {
    low_from_ = std::max(low_from_, above);
  } else {
    low_to_ = std::min(low_to_, below);
    high_from_ = std::max(high_from_, above);
  }
}

const CompiledRole& CompiledRoles::of(const EngineInput& input, size_t role, ClockRange clocks) {
  roles_.resize(input.plan.roles.size());
  std::optional<CompiledRole>& compiled = roles_[role];
  if (!compiled || !compiled->sure.cover(clocks)) compiled = compile_role(input, role, clocks);
  return *compiled;
}

}  // namespace ergometer::engine
