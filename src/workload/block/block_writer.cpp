#include "workload/block/block_writer.h"

#include <utility>

#include "workload/block/graphs.h"

namespace ergometer::workload {
namespace {

int64_t group_size(const Shapes& shapes, GroupKind group) {
  switch (group) {
    case GroupKind::kTensor: return shapes.tp;
    case GroupKind::kContext: return shapes.cp;
    case GroupKind::kExpert: return shapes.ep;
    case GroupKind::kExpertTensor: return shapes.etp;
    default: return 1;
  }
}

}  // namespace

void BlockWriter::add(Operator op, Stream stream, int64_t times) {
  if (op.pass == Pass::kRecompute) op.model_flops = 0;
  op.captured = captured(job_.training, op);
  const int index = static_cast<int>(workload_.operators.size());
  workload_.operators.push_back(std::move(op));
  for (int64_t i = 0; i < times; ++i)
    list_.push_back({Item::Kind::kOperator, stream, Stream::kCompute, index});
}

void BlockWriter::join(Stream stream, Stream on) {
  list_.push_back({Item::Kind::kJoin, stream, on, -1});
}

void BlockWriter::memory(Memory work, Pass pass) {
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.pass = pass;
  op.module = work.module;
  op.name = std::move(work.name);
  op.precision = shapes_.precision;
  op.bytes = work.moved.bytes;
  if (op.bytes > 0) op.issued_share = work.moved.issued / op.bytes;
  op.kernels = work.kernels;
  op.expert_casts = work.expert_casts;
  op.inner = work.inner;
  add(std::move(op));
}

void BlockWriter::collective(Collective work, Pass pass) {
  if (group_size(shapes_, work.group) == 1) return;
  Operator op;
  op.kind = OperatorKind::kCollective;
  op.pass = pass;
  op.module = work.module;
  op.name = std::move(work.name);
  op.precision = shapes_.precision;
  op.collective = work.kind;
  op.group = work.group;
  op.comm_bytes = work.bytes;
  op.routing = work.routing;
  op.bytes = work.copied_bytes;
  add(std::move(op), work.stream);
}

}  // namespace ergometer::workload
