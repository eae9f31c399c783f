#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/time/rank_loads.h"
#include "engine/time/timeline.h"

namespace ergometer::engine {

/// A time that depends on the rank's clock: `fixed_s + clocked_s * x` with x = reference clock /
/// the rank's clock.
struct ClockedTime {
  double fixed_s = 0, clocked_s = 0;
  double at(double inverse_clock) const { return fixed_s + clocked_s * inverse_clock; }
  bool is_zero() const { return fixed_s == 0 && clocked_s == 0; }
  friend ClockedTime operator+(ClockedTime a, const ClockedTime& b) {
    return {.fixed_s = a.fixed_s + b.fixed_s, .clocked_s = a.clocked_s + b.clocked_s};
  }
  friend ClockedTime operator*(double factor, const ClockedTime& time) {
    return {.fixed_s = time.fixed_s * factor, .clocked_s = time.clocked_s * factor};
  }
};

/// How time that the compute stream spends in a step is charged.
enum class Charge : uint8_t {
  kNone,      ///< not at all: another stream, or plain waiting, which ends up in kIdle
  kWhole,     ///< everything from the rank's own start on
  kDuration,  ///< at most the operator's duration; waiting for another stage ends up in kIdle
};

enum class StepKind : uint8_t {
  kCompute,
  kCollective,
  kWorld,
  kArrive,
  kSend,
  kRecv,
  kJoin,
  kRecord,
  kWait,
  kHostSync
};

/// Of a plan: nobody has more to do than others where its routing and its documents are even.
inline RankLoads rank_loads(const EngineInput& input) {
  return {input.job, input.plan.uneven.get()};
}

/// What the sweep does at once for all ranks of a role: one instruction, or a run of compute
/// instructions on one stream merged into one; kernels that depend on a rank's load or on its node
/// stay alone. `duration` is then the fullest rank's on the slowest nodes. A run of k kernels with
/// durations d_i and host costs c_i is, exactly,
///   t' = max(t + sum d_i, h + max_j (c_1 + .. + c_(j-1) + d_j + .. + d_k)),   h' = h + sum c_i.
struct Step {
  StepKind kind = StepKind::kCompute;
  workload::Stream stream = workload::Stream::kCompute;
  workload::Stream on = workload::Stream::kCompute;
  Charge charge = Charge::kNone;
  Part part = Part::kIdle;
  workload::GroupKind group = workload::GroupKind::kTensor;
  int32_t slot = -1;       ///< message, or event buffer
  int32_t each = -1;       ///< the instruction, if ranks take for it what differs by their nodes,
                           ///< or what none of them waits for the others in
  int32_t row = -1;        ///< of what takes longer the more the rank has to do: its loads
  ClockedTime duration;    ///< of the run or operator; for waits what kDuration charges at most
  ClockedTime per_load;    ///< of `duration`, of such a kernel: for each load
  ClockedTime after_host;  ///< kCompute: from the host's arrival to the end, if the host is the
                           ///< last to come
  double host_s = 0;       ///< what the host spends
};

/// The clocks a merge must be exact for, as reference clock / clock.
struct ClockRange {
  double low = 1, high = 1;
};

/// For which other clocks a role compiles to the same. A merge compares two times that are lines
/// over the clock: it comes out as it did while both ends of the range stay on their sides of where
/// the lines cross.
class SureClocks {
 public:
  bool cover(ClockRange clocks) const {
    return low_from_ <= clocks.low && clocks.low <= low_to_ && high_from_ <= clocks.high &&
           clocks.high <= high_to_;
  }
  /// Two lines were compared over `clocks`; they cross at `crossing`, or nowhere if that is no
  /// positive number.
  void compared(double crossing, ClockRange clocks);

 private:
  double low_from_ = 0, low_to_ = std::numeric_limits<double>::infinity();
  double high_from_ = 0, high_to_ = std::numeric_limits<double>::infinity();
};

/// A role's program, priced and merged.
struct CompiledRole {
  std::vector<Step> steps;
  SureClocks sure;
  std::array<size_t, 3> periods{};  ///< `plan::Role::periods`, in steps
  int32_t event_buffers = 0;        ///< events alive at the same time, at most
  std::vector<int32_t> received;    ///< messages
  /// The compute stream's own work in the step, of the fullest rank; without what differs by nodes.
  ClockedTime compute;
  ClockedTime optimizer;
};

/// The roles of a plan, compiled when they are first played, and again only for clocks at which
/// they come to something else.
class CompiledRoles {
 public:
  /// `input`: the same at every call but for clocks, the reference clock and sampled ranks.
  const CompiledRole& of(const EngineInput& input, size_t role, ClockRange clocks);

 private:
  std::vector<std::optional<CompiledRole>> roles_;
};

/// Whether an instruction puts work on the GPU.
inline bool launches(plan::InstructionKind kind) {
  using enum plan::InstructionKind;
  return kind == kCompute || kind == kCollective || kind == kWorld || kind == kSend ||
         kind == kRecv;
}

/// What the engines need to know of an operator on one role, in a few bytes: programs name the same
/// few operators over and over.
struct PricedOperator {
  ClockedTime duration;  ///< unstretched, with a load of 1
  ClockedTime per_load;  ///< for each load beyond that
  int32_t measure = 0;   ///< of loads that it follows
  bool shared = false;   ///< a collective that is as long as on the fullest rank
  bool collective = false;
  double host_s = 0;  ///< to launch it
  Charge charge = Charge::kNone;
  Part part = Part::kIdle;
  workload::GroupKind group = workload::GroupKind::kTensor;
  bool optimizer = false;
};

class PricedOperators {
 public:
  PricedOperators(const EngineInput& input, size_t role);
  /// An instruction without an operator takes no time.
  const PricedOperator& of(const plan::Instruction& it) const {
    return operators_[static_cast<size_t>(int64_t{it.op} + 1)];
  }
  /// What instruction `index` takes, stretched; where ranks differ by what they have to do, on the
  /// one that the step waits for.
  ClockedTime duration(size_t index) const {
    const PricedOperator& op = of(program_[index]);
    if (loads_.even()) return stretched(index, op.duration);
    return at_load(index, op.shared ? loads_.most(row(index)) : loads_.telling(row(index)));
  }
  /// On a rank, by its index in the role. A collective lasts as long for all of its group.
  ClockedTime duration(size_t index, int64_t rank) const {
    if (is_left_out(index, rank)) return {};
    const PricedOperator& op = on_node_of(rank, program_[index]);
    if (loads_.even()) return stretched(index, op.duration);
    const double load = op.shared ? loads_.most(row(index)) : loads_.of(row(index), rank);
    return stretched(index, op.duration + (load - 1) * op.per_load);
  }
  /// The loads that an instruction follows: `RankLoads::row`.
  int32_t row(size_t index) const {
    const plan::Instruction& it = program_[index];
    return loads_.row(it, of(it).measure);
  }
  /// A kernel's on a rank that is so full; `rank`: on the node of that one of the role.
  ClockedTime at_load(size_t index, double load) const {
    return at_load(index, of(program_[index]), load);
  }
  ClockedTime at_load(size_t index, double load, int64_t rank) const {
    if (is_left_out(index, rank)) return {};
    return at_load(index, on_node_of(rank, program_[index]), load);
  }
  /// What of a duration a rank takes less for each load less; stretched.
  ClockedTime per_load(size_t index) const {
    const PricedOperator& op = of(program_[index]);
    return op.shared ? ClockedTime{} : stretched(index, op.per_load);
  }
  /// Whether a rank's replica has no such micro batch.
  bool is_left_out(size_t index, int64_t rank) const {
    const plan::Instruction& it = program_[index];
    return groups_.mixed() && it.op >= 0 &&
           engine::is_left_out(job_, groups_.of(rank), it, work_[static_cast<size_t>(it.op)]);
  }
  const RankLoads& loads() const { return loads_; }
  /// Whether ranks of the role run on nodes of several kinds.
  bool mixed() const { return groups_.mixed(); }

 private:
  /// An instruction's operator as it is on the rank's own node.
  const PricedOperator& on_node_of(int64_t rank, const plan::Instruction& it) const {
    if (!groups_.mixed()) return of(it);
    return by_group_[groups_.of(rank)][static_cast<size_t>(int64_t{it.op} + 1)];
  }
  ClockedTime at_load(size_t index, const PricedOperator& op, double load) const {
    return stretched(index, op.duration + (load - 1) * op.per_load);
  }
  ClockedTime stretched(size_t index, const ClockedTime& alone) const {
    if (stretch_ == nullptr) return alone;
    return (*stretch_)[index] * alone;
  }

  const spec::Job& job_;
  const std::vector<workload::Operator>& work_;
  const std::vector<plan::Instruction>& program_;
  const std::vector<float>* stretch_ = nullptr;  ///< null: all ones
  RankLoads loads_;
  std::vector<PricedOperator> operators_;  ///< that of "no operator", then by number
  RankGroups groups_;
  std::vector<std::vector<PricedOperator>> by_group_;  ///< as `operators_`; of a mixed role alone
};

}  // namespace ergometer::engine
