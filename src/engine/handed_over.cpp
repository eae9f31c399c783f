#include "engine/handed_over.h"

#include <algorithm>

#include "engine/time/compile.h"

namespace ergometer::engine {
namespace {

using workload::CollectiveKind;
using workload::Operator;
using workload::OperatorKind;
using workload::Pass;

double element_bytes(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return 4;
    case spec::Precision::kFp8: return 1;
    case spec::Precision::kNvfp4: return 0.5625;  // a scale of a byte for 16 values
    default: return 2;
  }
}

HandedOver of_product(const Operator& op) {
  const double rows = static_cast<double>(op.groups) * static_cast<double>(op.m);
  const double written = op.precision == spec::Precision::kFp32 ? 4 : 2;
  return {.read_bytes = element_bytes(op.precision) * rows * static_cast<double>(op.k),
          .written_bytes = written * rows * static_cast<double>(op.n)};
}

HandedOver of_attention(const Operator& op) {
  const workload::AttentionShape& shape = op.attention;
  const double rows = static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
                      static_cast<double>(shape.q_length);
  const double element = element_bytes(op.precision);
  return {.read_bytes = element * rows * static_cast<double>(shape.qk_dim),
          .written_bytes = element * rows * static_cast<double>(shape.v_dim)};
}

HandedOver of_collective(const Operator& op, double members) {
  const double part = op.comm_bytes / std::max(1.0, members);
  switch (op.collective) {
    case CollectiveKind::kAllGather: return {part, op.comm_bytes};
    case CollectiveKind::kReduceScatter: return {op.comm_bytes, part};
    default: return {op.comm_bytes, op.comm_bytes};
  }
}

/// Whether the later of two launches may need what the earlier one makes.
bool may_follow(const plan::Plan& plan, const plan::Instruction& earlier,
                const plan::Instruction& later) {
  const Pass a = plan.operators[static_cast<size_t>(earlier.op)].pass,
             b = plan.operators[static_cast<size_t>(later.op)].pass;
  const bool in_step = a != Pass::kOptimizer && b != Pass::kOptimizer;
  return in_step && earlier.micro_batch == later.micro_batch && earlier.chunk == later.chunk &&
         (a == Pass::kWeight) == (b == Pass::kWeight);
}

bool is_on_compute_stream(const plan::Instruction& it) {
  return launches(it.kind) && it.op >= 0 && it.stream == workload::Stream::kCompute;
}

}  // namespace

HandedOver tensors_of(const Operator& op, double members) {
  switch (op.kind) {
    case OperatorKind::kGemm:
    case OperatorKind::kGroupedGemm: return of_product(op);
    case OperatorKind::kCollective: return of_collective(op, members);
    case OperatorKind::kAttention:
      if (op.attention.fused) return of_attention(op);
      [[fallthrough]];
    case OperatorKind::kMemory: return {op.bytes / 2, op.bytes / 2};
  }
  return {};
}

std::vector<HandedOver> handed_over(const plan::Plan& plan, size_t role) {
  const std::vector<plan::Instruction>& program = plan.roles[role].program;
  std::vector<HandedOver> handed(program.size());
  const auto tensors = [&](size_t i) {
    const auto op = static_cast<size_t>(program[i].op);
    return tensors_of(plan.operators[op], static_cast<double>(plan.placements[role][op].size));
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
