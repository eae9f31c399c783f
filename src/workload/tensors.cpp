#include "workload/tensors.h"

#include <algorithm>

namespace ergometer::workload {
namespace {

double tensor_element_bytes(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return 4;
    case spec::Precision::kFp8: return 1;
    case spec::Precision::kNvfp4: return 0.5625;  // a scale of a byte for 16 values
    default: return 2;
  }
}

Tensors of_product(const Operator& op) {
  const double rows = static_cast<double>(op.groups) * static_cast<double>(op.m);
  const double written = op.precision == spec::Precision::kFp32 ? 4 : 2;
  return {.read_bytes = tensor_element_bytes(op.precision) * rows * static_cast<double>(op.k),
          .written_bytes = written * rows * static_cast<double>(op.n)};
}

Tensors of_attention(const Operator& op) {
  const AttentionShape& shape = op.attention;
  const double rows = static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
                      static_cast<double>(shape.q_length);
  const double element = tensor_element_bytes(op.precision);
  return {.read_bytes = element * rows * static_cast<double>(shape.qk_dim),
          .written_bytes = element * rows * static_cast<double>(shape.v_dim)};
}

Tensors of_collective(const Operator& op, double members) {
  const double part = op.comm_bytes / std::max(1.0, members);
  switch (op.collective) {
    case CollectiveKind::kAllGather: return {part, op.comm_bytes};
    case CollectiveKind::kReduceScatter: return {op.comm_bytes, part};
    default: return {op.comm_bytes, op.comm_bytes};
  }
}

}  // namespace

Tensors tensors_of(const Operator& op, double members) {
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

}  // namespace ergometer::workload
