#include "plan/writer.h"

#include <algorithm>

namespace ergometer::plan {
namespace {

/// Equal in all that the plan's own operators differ in.
bool same(const workload::Operator& a, const workload::Operator& b) {
  return a.name == b.name && a.kind == b.kind && a.pass == b.pass && a.collective == b.collective &&
         a.group == b.group && a.comm_bytes == b.comm_bytes && a.leaving == b.leaving &&
         a.bytes == b.bytes && a.issued_share == b.issued_share && a.flops == b.flops &&
         a.kernels == b.kernels && a.vision == b.vision && a.module == b.module;
}

}  // namespace

OperatorTable::OperatorTable(const workload::Workload& workload)
    : operators_(workload.operators), own_(workload.operators.size()) {}

int32_t OperatorTable::add(const workload::Operator& op) {
  const auto own = operators_.begin() + static_cast<std::ptrdiff_t>(own_);
  const auto found =
      std::find_if(own, operators_.end(), [&](const auto& other) { return same(op, other); });
  const auto index = static_cast<int32_t>(found - operators_.begin());
  if (found == operators_.end()) operators_.push_back(op);
  return index;
}

ProgramWriter::ProgramWriter(Role& role, const OperatorTable& operators)
    : role_(role), operators_(operators) {
  last_op_.fill(-1);
}

void ProgramWriter::at(int32_t micro_batch, int32_t chunk, int32_t layer) {
  micro_batch_ = micro_batch;
  chunk_ = chunk;
  layer_ = layer;
}

void ProgramWriter::add(InstructionKind kind, Stream stream, Stream on, int32_t op, int32_t slot) {
  role_.program.push_back({kind, stream, on, op, slot, micro_batch_, chunk_, layer_});
}

void ProgramWriter::op(Stream stream, int32_t op) {
  const bool collective = operators_.at(op).kind == workload::OperatorKind::kCollective;
  add(collective ? InstructionKind::kCollective : InstructionKind::kCompute, stream, stream, op,
      -1);
  last_op_[static_cast<size_t>(stream)] = op;
}

void ProgramWriter::world(int32_t op) {
  add(InstructionKind::kWorld, Stream::kCompute, Stream::kCompute, op, -1);
}

void ProgramWriter::join(Stream stream, Stream on) {
  const int32_t waited = stream == Stream::kCompute ? last_op_[static_cast<size_t>(on)] : -1;
  add(InstructionKind::kJoin, stream, on, waited, -1);
}

void ProgramWriter::send(Stream lane, int32_t op, int32_t message) {
  add(InstructionKind::kSend, lane, lane, op, message);
  last_op_[static_cast<size_t>(lane)] = op;
}

void ProgramWriter::recv(Stream lane, int32_t op, int32_t message) {
  add(InstructionKind::kRecv, lane, lane, op, message);
  last_op_[static_cast<size_t>(lane)] = op;
}

void ProgramWriter::record(Stream stream, int32_t event) {
  add(InstructionKind::kRecord, stream, stream, -1, event);
}

void ProgramWriter::wait(Stream stream, int32_t event, int32_t waited_op) {
  add(InstructionKind::kWait, stream, stream, waited_op, event);
}

void ProgramWriter::arrive(int32_t gathering) {
  add(InstructionKind::kArrive, Stream::kCompute, Stream::kCompute, -1, gathering);
}

void ProgramWriter::gather(Stream stream, int32_t op, int32_t gathering) {
  add(InstructionKind::kWorld, stream, stream, op, gathering);
  last_op_[static_cast<size_t>(stream)] = op;
}

void ProgramWriter::host_sync() {
  add(InstructionKind::kHostSync, Stream::kCompute, Stream::kCompute, -1, -1);
}

void ProgramWriter::repeat(const Segment& segment, int32_t micro_batch) {
  std::vector<Instruction>& program = role_.program;
  for (size_t i = segment.begin; i < segment.end; ++i) {
    Instruction instruction = program[i];
    instruction.micro_batch = micro_batch;
    program.push_back(instruction);
  }
  last_op_ = segment.last_op;
}

}  // namespace ergometer::plan
