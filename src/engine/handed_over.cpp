#include "engine/handed_over.h"

#include <algorithm>

#include "engine/time/compile.h"
#include "workload/tensors.h"

namespace ergometer::engine {
namespace {

using workload::Pass;

/// A product and the collective that it is fused with, whose tensor stays on the chip.
bool is_one_kernel(const plan::Plan& plan, const plan::Instruction& earlier,
                   const plan::Instruction& later) {
  const auto& first = plan.operators[static_cast<size_t>(earlier.op)].fused;
  const auto& second = plan.operators[static_cast<size_t>(later.op)].fused;
  return (first && !first->comes_first) || (second && second->comes_first);
}

/// Whether the later of two launches may need what the earlier one makes.
bool may_follow(const plan::Plan& plan, const plan::Instruction& earlier,
                const plan::Instruction& later) {
  const Pass a = plan.operators[static_cast<size_t>(earlier.op)].pass,
             b = plan.operators[static_cast<size_t>(later.op)].pass;
  if (is_one_kernel(plan, earlier, later)) return false;
  const bool in_step = a != Pass::kOptimizer && b != Pass::kOptimizer;
  return in_step && earlier.micro_batch == later.micro_batch && earlier.chunk == later.chunk &&
         (a == Pass::kWeight) == (b == Pass::kWeight);
}

bool is_on_compute_stream(const plan::Instruction& it) {
  return launches(it.kind) && it.op >= 0 && it.stream == workload::Stream::kCompute;
}

}  // namespace

std::vector<HandedOver> handed_over(const plan::Plan& plan, size_t role) {
  const std::vector<plan::Instruction>& program = plan.roles[role].program;
  std::vector<HandedOver> handed(program.size());
  const auto tensors = [&](size_t i) {
    const auto op = static_cast<size_t>(program[i].op);
    return workload::tensors_of(plan.operators[op],
                                static_cast<double>(plan.placements[role][op].size));
  };
  size_t before = program.size();
  for (size_t i = 0; i < program.size(); ++i) {
    if (!is_on_compute_stream(program[i])) continue;
    if (before < program.size() && may_follow(plan, program[before], program[i])) {
      const double bytes = std::min(tensors(before).written_bytes, tensors(i).read_bytes);
      handed[before].written_bytes = handed[i].read_bytes = bytes;
    }
    before = i;
  }
  return handed;
}

}  // namespace ergometer::engine
