#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace ergometer::plan {

/// The operators of a plan while it is being built: the workload's, then the plan's own, each
/// distinct one once.
class OperatorTable {
 public:
  explicit OperatorTable(const workload::Workload& workload);
  int32_t add(const workload::Operator& op);
  const workload::Operator& at(int32_t op) const { return operators_[static_cast<size_t>(op)]; }
  std::vector<workload::Operator> take() { return std::move(operators_); }

 private:
  std::vector<workload::Operator> operators_;
  size_t own_;  ///< where the plan's own begin
};

/// Appends instructions to one role's program and remembers what ran last on every stream, so that
/// a wait of the compute stream names the operator it waits for. A stretch that repeats micro batch
/// after micro batch is written once and copied: `begin` and `end` around it, then `repeat`.
class ProgramWriter {
 public:
  using Stream = workload::Stream;

  /// A written stretch of the program, in a form that can be copied for another micro batch.
  struct Segment {
    size_t begin = 0, end = 0;
    std::array<int32_t, workload::kStreamCount> last_op{};
  };

  ProgramWriter(Role& role, const OperatorTable& operators);

  /// Which micro batch, chunk and layer the following instructions belong to; -1: none.
  void at(int32_t micro_batch, int32_t chunk, int32_t layer);

  void op(Stream stream, int32_t op);  ///< compute, or a collective inside the role
  void world(int32_t op);              ///< a collective across roles, in line
  void join(Stream stream, Stream on);
  void send(Stream lane, int32_t op, int32_t message);
  void recv(Stream lane, int32_t op, int32_t message);
  int32_t new_event() { return role_.events++; }
  void record(Stream stream, int32_t event);
  void wait(Stream stream, int32_t event, int32_t waited_op);
  /// The compute stream's contribution to a gathering of roles, and the collective that waits for
  /// it.
  void arrive(int32_t gathering);
  void gather(Stream stream, int32_t op, int32_t gathering);
  void host_sync();  ///< of the compute stream

  size_t position() const { return role_.program.size(); }
  Segment segment(size_t begin) const { return {begin, position(), last_op_}; }
  void repeat(const Segment& segment, int32_t micro_batch);

 private:
  void add(InstructionKind kind, Stream stream, Stream on, int32_t op, int32_t slot);

  Role& role_;
  const OperatorTable& operators_;
  std::array<int32_t, workload::kStreamCount> last_op_;
  int32_t micro_batch_ = -1, chunk_ = -1, layer_ = -1;
};

}  // namespace ergometer::plan
