#include "engine/replay.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/compile.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;

/// The clocks of time of one rank.
struct RankState {
  std::array<double, workload::kStreamCount> free_s{};
  double host_s = 0;
  std::vector<double> events_s;
};

/// Executes what is no launch; false if the instruction leaves no span.
bool execute_order(const Instruction& instruction, RankState& rank) {
  double& t = rank.free_s[static_cast<size_t>(instruction.stream)];
  switch (instruction.kind) {
    case InstructionKind::kJoin:
      t = std::max(t, rank.free_s[static_cast<size_t>(instruction.on)]);
      return true;
    case InstructionKind::kWait:
      t = std::max(t, rank.events_s[static_cast<size_t>(instruction.slot)]);
      return true;
    case InstructionKind::kRecord:
      rank.events_s[static_cast<size_t>(instruction.slot)] = t;
      return false;
    default:
      rank.host_s = std::max(rank.host_s, t);
      return false;
  }
}

}  // namespace

std::vector<Span> replay(const EngineInput& input, size_t role, int64_t rank, double inverse_clock,
                         const std::vector<double>& ends_s) {
  const plan::Role& source = input.plan.roles[role];
  RankState state;
  state.events_s.assign(static_cast<size_t>(source.events), 0.0);
  std::vector<Span> spans;
  size_t next_end = 0;
  for (size_t i = 0; i < source.program.size(); ++i) {
    const Instruction& instruction = source.program[i];
    double& t = state.free_s[static_cast<size_t>(instruction.stream)];
    Span span{.rank = rank, .instruction = static_cast<int32_t>(i), .start_s = t, .end_s = t};
    if (launches(instruction.kind)) {
      span.start_s = std::max(t, state.host_s);
      const bool alone = instruction.kind == InstructionKind::kCompute || instruction.kind == InstructionKind::kSend;
      ERGOMETER_CHECK(alone || next_end < ends_s.size(), "the sweep wrote down too few ends");
      t = alone ? span.start_s + instruction_duration(input, role, i).at(inverse_clock) : ends_s[next_end++];
      state.host_s += instruction_host_s(input, role, i);
    } else if (!execute_order(instruction, state)) {
      continue;
    }
    span.end_s = t;
    spans.push_back(span);
  }
  return spans;
}

}  // namespace ergometer::engine
