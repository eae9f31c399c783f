#include "engine/time/replay.h"

#include "base/check.h"
#include "engine/time/compile.h"
#include "engine/time/scalar_rank.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;

bool depends_on_others(InstructionKind kind) {
  return kind == InstructionKind::kCollective || kind == InstructionKind::kWorld ||
         kind == InstructionKind::kRecv;
}

bool leaves_span(InstructionKind kind) {
  return kind != InstructionKind::kRecord && kind != InstructionKind::kArrive &&
         kind != InstructionKind::kHostSync;
}

}  // namespace

std::vector<Span> replay(const EngineInput& input, size_t role, int64_t rank, double inverse_clock,
                         const std::vector<double>& ends_s) {
  const plan::Role& source = input.plan.roles[role];
  const PricedOperators operators(input, role);
  ScalarRank state(source.events);
  std::vector<Span> spans;
  size_t next_end = 0;
  const int64_t index = rank % input.plan.ranks_per_role;
  for (size_t i = 0; i < source.program.size(); ++i) {
    const Instruction& it = source.program[i];
    Span span{.rank = rank,
              .instruction = static_cast<int32_t>(i),
              .start_s = state.free_s(it.stream),
              .end_s = 0};
    if (launches(it.kind)) {
      span.start_s = state.start_s(it);
      ERGOMETER_CHECK(!depends_on_others(it.kind) || next_end < ends_s.size(),
                      "the sweep wrote down too few ends");
      const double end_s = depends_on_others(it.kind)
                               ? ends_s[next_end++]
                               : span.start_s + operators.duration(i, index).at(inverse_clock);
      state.launch(it, end_s, operators.of(it).host_s);
    } else {
      state.order(it);
    }
    span.end_s = state.free_s(it.stream);
    if (leaves_span(it.kind)) spans.push_back(span);
  }
  return spans;
}

}  // namespace ergometer::engine
