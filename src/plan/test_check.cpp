#include "plan/test_check.h"

#include <fmt/format.h>

#include <vector>

namespace ergometer::plan {
namespace {

using workload::GroupKind;
using workload::OperatorKind;

bool launches(InstructionKind kind) {
  return kind == InstructionKind::kCompute || kind == InstructionKind::kCollective ||
         kind == InstructionKind::kWorld || kind == InstructionKind::kSend ||
         kind == InstructionKind::kRecv;
}

bool is_gathering(const Plan& plan, const Instruction& instruction) {
  return instruction.slot >= 0 && instruction.slot < std::ssize(plan.gatherings);
}

/// The faults one sees in an instruction without running anything.
std::string fault_of(const Plan& plan, const Role& role, const Instruction& instruction,
                     std::vector<char>& recorded) {
  const auto operators = static_cast<int32_t>(plan.operators.size());
  const InstructionKind kind = instruction.kind;
  if (instruction.op >= operators || instruction.op < -1) return "operator out of range";
  if (launches(kind)) {
    if (instruction.op < 0) return "nothing to run";
    const workload::Operator& op = plan.operators[static_cast<size_t>(instruction.op)];
    const bool is_collective = op.kind == OperatorKind::kCollective;
    if (is_collective == (kind == InstructionKind::kCompute))
      return "operator and instruction disagree";
    const bool world = op.group == GroupKind::kWorld || op.group == GroupKind::kEmbedding ||
                       op.group == GroupKind::kStages;
    if (is_collective && world != (kind == InstructionKind::kWorld))
      return "a group across roles needs kWorld";
    const bool transfer = kind == InstructionKind::kSend || kind == InstructionKind::kRecv;
    if (is_collective && transfer != (op.group == GroupKind::kPipeline))
      return "a transfer is no collective";
    if (transfer && (instruction.slot < 0 || instruction.slot >= plan.messages))
      return "message out of range";
    if (op.group == GroupKind::kStages && !is_gathering(plan, instruction))
      return "gathering out of range";
  }
  if (kind == InstructionKind::kArrive && !is_gathering(plan, instruction))
    return "gathering out of range";
  if (kind == InstructionKind::kRecord || kind == InstructionKind::kWait) {
    if (instruction.slot < 0 || instruction.slot >= role.events) return "event out of range";
    char& is_recorded = recorded[static_cast<size_t>(instruction.slot)];
    if (kind == InstructionKind::kWait && is_recorded == 0)
      return "wait for an event nobody has recorded";
    is_recorded = 1;
  }
  return {};
}

std::string static_fault(const Plan& plan) {
  for (const Role& role : plan.roles) {
    std::vector<char> recorded(static_cast<size_t>(role.events), 0);
    for (size_t i = 0; i < role.program.size(); ++i) {
      const std::string fault = fault_of(plan, role, role.program[i], recorded);
      if (!fault.empty()) return fmt::format("stage {}, instruction {}: {}", role.stage, i, fault);
    }
  }
  return {};
}

/// Runs all roles until each one ends or blocks.
class UntimedRun {
 public:
  explicit UntimedRun(const Plan& plan)
      : plan_(plan),
        at_(plan.roles.size(), 0),
        sender_(static_cast<size_t>(plan.messages), -1),
        receiver_(static_cast<size_t>(plan.messages), -1),
        missing_(plan.gatherings),
        waited_(plan.gatherings.size(), 0) {}

  std::string fault() {
    bool moved = true;
    while (moved && fault_.empty()) {
      moved = false;
      for (size_t role = 0; role < at_.size(); ++role) moved = advance(role) || moved;
      moved = meet() || moved;
    }
    if (!fault_.empty()) return fault_;
    for (size_t role = 0; role < at_.size(); ++role) {
      if (!done(role))
        return fmt::format("deadlock: stage {} stands at instruction {}", role, at_[role]);
    }
    for (size_t i = 0; i < sender_.size(); ++i) {
      if (sender_[i] < 0 || receiver_[i] < 0)
        return fmt::format("message {} is not sent and received", i);
    }
    for (size_t i = 0; i < missing_.size(); ++i)
      if (missing_[i] != 0 || waited_[i] != at_.size())
        return fmt::format("gathering {} is not attended as it should", i);
    return {};
  }

 private:
  bool done(size_t role) const { return at_[role] == plan_.roles[role].program.size(); }
  const Instruction& next(size_t role) const { return plan_.roles[role].program[at_[role]]; }
  const workload::Operator& op(const Instruction& instruction) const {
    return plan_.operators[static_cast<size_t>(instruction.op)];
  }

  bool advance(size_t role) {
    const size_t from = at_[role];
    for (; !done(role); ++at_[role]) {
      const Instruction& instruction = next(role);
      const auto slot = static_cast<size_t>(instruction.slot);
      if (instruction.kind == InstructionKind::kArrive) --missing_[slot];
      if (instruction.kind == InstructionKind::kWorld) {
        if (op(instruction).group != GroupKind::kStages || missing_[slot] > 0) break;
        ++waited_[slot];
      }
      if (instruction.kind == InstructionKind::kSend) note(sender_, instruction, role, "sent");
      if (instruction.kind == InstructionKind::kRecv) {
        const int sender = sender_[static_cast<size_t>(instruction.slot)];
        if (sender < 0) break;
        if (sender == static_cast<int>(role)) fault_ = "a message to oneself";
        note(receiver_, instruction, role, "received");
      }
    }
    return at_[role] != from;
  }

  void note(std::vector<int>& by, const Instruction& instruction, size_t role, const char* what) {
    int& who = by[static_cast<size_t>(instruction.slot)];
    if (who >= 0) fault_ = fmt::format("message {} is {} twice", instruction.slot, what);
    who = static_cast<int>(role);
  }

  /// A collective across roles starts when all that take part stand at it.
  bool meet() {
    const size_t last = at_.size() - 1;
    if (stands_at(0, GroupKind::kEmbedding) && stands_at(last, GroupKind::kEmbedding)) {
      ++at_[0];
      if (last > 0) ++at_[last];
      return true;
    }
    for (size_t role = 0; role < at_.size(); ++role) {
      if (!stands_at(role, GroupKind::kWorld)) return false;
    }
    for (size_t& at : at_) ++at;
    return true;
  }

  bool stands_at(size_t role, GroupKind group) const {
    return !done(role) && next(role).kind == InstructionKind::kWorld &&
           op(next(role)).group == group;
  }

  const Plan& plan_;
  std::vector<size_t> at_;
  std::vector<int> sender_, receiver_;
  std::vector<int32_t> missing_;  ///< by gathering: who have not arrived
  std::vector<size_t> waited_;    ///< and how many have waited for it
  std::string fault_;
};

}  // namespace

std::string find_fault(const Plan& plan) {
  const std::string fault = static_fault(plan);
  return fault.empty() ? UntimedRun(plan).fault() : fault;
}

}  // namespace ergometer::plan
