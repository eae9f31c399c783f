#pragma once

#include <cstdint>
#include <vector>

#include "plan/placement.h"
#include "plan/stages.h"
#include "spec/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// What an instruction does to a rank's clocks of time. `t[s]` is when stream s is free, `h` when
/// the host may issue the next kernel. Every instruction that launches something first waits for
/// the host: start = max(t[stream], h), and the host moves on by the launch cost.
enum class InstructionKind : uint8_t {
  kCompute,     ///< t[stream] = start + duration
  kCollective,  ///< inside the role: t[stream] = max of start over the group + duration
  kWorld,   ///< across roles: the same over all ranks of all roles (`group` kWorld) or of first and
            ///< last role at equal index (`group` kEmbedding)
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

inline bool is_wait(const Instruction& it) {
  return it.kind == InstructionKind::kJoin || it.kind == InstructionKind::kWait;
}

/// A pipeline stage: its ranks run one program.
struct Role {
  int64_t stage = 0;
  std::vector<Instruction> program;
  int32_t events = 0;  ///< number of event slots the program uses
};

/// A job laid out: who does what, in which order. Same job, same plan, byte for byte.
struct Plan {
  std::vector<workload::Operator> operators;  ///< the workload's first, then the plan's own
  std::vector<std::vector<GroupPlacement>>
      placements;  ///< [role][operator]: where a collective's group lies
  std::vector<Role> roles;
  std::vector<Stage> stages;
  int32_t messages = 0;
  int64_t ranks_per_role = 1;
};

Plan make_plan(const spec::Job& job, const workload::Workload& workload);

}  // namespace ergometer::plan
