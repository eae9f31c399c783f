#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/timeline.h"

namespace ergometer::engine {

/// A time that depends on the rank's clock: `fixed_s + clocked_s * x` with x = reference clock /
/// the rank's clock.
struct ClockedTime {
  double fixed_s = 0, clocked_s = 0;
  double at(double inverse_clock) const { return fixed_s + clocked_s * inverse_clock; }
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
  kSend,
  kRecv,
  kJoin,
  kRecord,
  kWait,
  kHostSync
};

/// What the sweep does at once for all ranks of a role: one instruction, or a run of compute
/// instructions on one stream merged into one. A run of k kernels with durations d_i and host costs
/// c_i is, exactly,
///   t' = max(t + sum d_i, h + max_j (c_1 + .. + c_(j-1) + d_j + .. + d_k)),   h' = h + sum c_i.
struct Step {
  StepKind kind = StepKind::kCompute;
  workload::Stream stream = workload::Stream::kCompute;
  workload::Stream on = workload::Stream::kCompute;
  Charge charge = Charge::kNone;
  Part part = Part::kIdle;
  workload::GroupKind group = workload::GroupKind::kTensor;
  int32_t slot = -1;       ///< message, or event buffer
  ClockedTime duration;    ///< of the run or operator; for waits what kDuration charges at most
  ClockedTime after_host;  ///< kCompute: from the host's arrival to the end, if the host is the
                           ///< last to come
  double host_s = 0;       ///< what the host spends
};

/// A role's program, priced and merged.
struct CompiledRole {
  std::vector<Step> steps;
  std::array<size_t, 3> periods{};  ///< `plan::Role::periods`, in steps
  int32_t event_buffers = 0;        ///< events alive at the same time, at most
  ClockedTime compute;              ///< the compute stream's own work in the step
  ClockedTime optimizer;
};

/// The clocks a merge must be exact for, as reference clock / clock.
struct ClockRange {
  double low = 1, high = 1;
};

CompiledRole compile_role(const EngineInput& input, size_t role, ClockRange clocks);

/// Whether an instruction puts work on the GPU.
inline bool launches(plan::InstructionKind kind) {
  using enum plan::InstructionKind;
  return kind == kCompute || kind == kCollective || kind == kWorld || kind == kSend ||
         kind == kRecv;
}

/// What the engines need to know of an operator on one role, in a few bytes: programs name the same
/// few operators over and over.
struct PricedOperator {
  ClockedTime duration;  ///< unstretched
  double host_s = 0;     ///< to launch it
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
  /// What instruction `index` takes, stretched.
  ClockedTime duration(size_t index) const {
    const ClockedTime& alone = of(program_[index]).duration;
    if (stretch_ == nullptr) return alone;
    return (*stretch_)[index] * alone;
  }

 private:
  const std::vector<plan::Instruction>& program_;
  const std::vector<float>* stretch_ = nullptr;  ///< null: all ones
  std::vector<PricedOperator> operators_;        ///< that of "no operator", then by number
};

}  // namespace ergometer::engine
