#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/placement.h"
#include "plan/stages.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// What an instruction does to a rank's clocks of time. `t[s]` is when stream s is free, `h` when
/// the host may issue the next kernel. Every instruction that launches something first waits for
/// the host: start = max(t[stream], h), and the host moves on by the launch cost.
enum class InstructionKind : uint8_t {
  kCompute,     ///< t[stream] = start + duration
  kCollective,  ///< inside the role: t[stream] = max of start over the group + duration
  kWorld,   ///< across roles: the same over all ranks of all roles (`group` kWorld) or of first and
            ///< last role at equal index (`group` kEmbedding); over all roles at equal index
            ///< (`group` kStages): t[stream] = max(start, gathering `slot`) + duration
  kArrive,  ///< gathering `slot` = max over those who arrive at equal index of max(t[stream], h)
  kSend,    ///< message `slot` leaves at start; t[stream] = start + duration
  kRecv,    ///< t[stream] = max(start, when the message left) + duration
  kJoin,    ///< t[stream] = max(t[stream], t[on])
  kRecord,  ///< event `slot` = t[stream]
  kWait,    ///< t[stream] = max(t[stream], event `slot`)
  kHostSync,  ///< h = max(h, t[stream]): a device-to-host copy, `.item()`, a device synchronisation
};

/// One step of a role's program, executed by all ranks of the role.
struct Instruction {
  InstructionKind kind = InstructionKind::kCompute;
  workload::Stream stream = workload::Stream::kCompute;
  workload::Stream on = workload::Stream::kCompute;  ///< kJoin
  int32_t op = -1;    ///< index into Plan::operators; for kJoin, kWait and kRecv on the compute
                      ///< stream: the operator that exposed time is charged to (-1: none)
  int32_t slot = -1;  ///< event or message number; messages are numbered over the whole plan
  int32_t micro_batch = -1;
  int32_t chunk = -1;
  int32_t layer = -1;
};

inline bool is_message(const Instruction& it) {
  return it.kind == InstructionKind::kSend || it.kind == InstructionKind::kRecv;
}
inline bool is_wait(const Instruction& it) {
  return it.kind == InstructionKind::kJoin || it.kind == InstructionKind::kWait;
}

/// A pipeline stage: its ranks run one program.
struct Role {
  int64_t stage = 0;
  std::vector<Instruction> program;
  int32_t events = 0;  ///< number of event slots the program uses
  /// Of a folded plan: where a period of the pipeline's steady phase begins, where it ends and the
  /// next one begins, and where that ends.
  std::array<size_t, 3> periods{};
};

/// A job laid out: who does what, in which order. Same job, same plan, byte for byte.
struct Plan {
  std::vector<workload::Operator> operators;  ///< the workload's first, then the plan's own
  std::vector<std::vector<GroupPlacement>>
      placements;  ///< [role][operator]: where a collective's group lies
  std::vector<Role> roles;
  std::vector<Stage> stages;
  int32_t messages = 0;
  /// Of every gathering of roles, how many of them arrive (kArrive); all of them wait for it once.
  std::vector<int32_t> gatherings;
  int64_t ranks_per_role = 1;
  std::shared_ptr<const workload::UnevenWork> uneven;  ///< the workload's; null: even
  /// How many periods more the step has than are written, all of them behind the last of
  /// `Role::periods` and each like it; 0: every micro batch is written (plan/folded.h).
  int64_t periods_left_out = 0;

  /// How often the step runs an instruction of a role.
  double times(const Role& role, size_t instruction) const {
    const bool stands_for_all = instruction >= role.periods[1] && instruction < role.periods[2];
    return stands_for_all ? static_cast<double>(1 + periods_left_out) : 1;
  }
};

/// Operator `op` of a plan with uneven work at the most that any rank or micro batch has.
workload::Operator on_fullest_rank(const Plan& plan, size_t op);

/// Every micro batch of the job's step written, or the first `micro_batches` of them as if there
/// were no more.
Plan make_plan(const spec::Job& job, const workload::Workload& workload);
Plan make_plan(const spec::Job& job, const workload::Workload& workload, int64_t micro_batches);

}  // namespace ergometer::plan
