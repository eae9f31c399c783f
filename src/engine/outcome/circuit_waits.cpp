#include "engine/outcome/circuit_waits.h"

#include <algorithm>
#include <utility>

#include "plan/step_end.h"

namespace ergometer::engine {
namespace {

/// Whether the compute stream or another stage waits for what runs beside the former.
bool ends_waits_beside(const plan::Instruction& it) {
  return it.kind == plan::InstructionKind::kSend ||
         (it.kind == plan::InstructionKind::kJoin && it.stream == workload::Stream::kCompute &&
          it.on == workload::Stream::kData);
}

bool works(const plan::Instruction& it) {
  const bool takes_time =
      it.kind == plan::InstructionKind::kCompute || it.kind == plan::InstructionKind::kCollective;
  return takes_time && it.op >= 0;
}

}  // namespace

double circuit_waits_s(const EngineInput& input) {
  if (input.job.cluster.fabric.topology.circuits.reconfiguration_s <= 0) return 0;
  double waits_s = 0, left_s = 0;
  for (const plan::Instruction& it : input.plan.roles.front().program) {
    if (ends_waits_beside(it)) waits_s += std::exchange(left_s, 0.0);
    if (!works(it)) continue;
    const auto op = static_cast<size_t>(it.op);
    const double seconds = input.costs.prices.front()[op].seconds();
    if (it.stream == workload::Stream::kCompute)
      left_s = std::max(0.0, left_s - seconds);
    else if (input.plan.operators[op].name == plan::kReconfiguration)
      left_s += seconds;
  }
  return waits_s;
}

}  // namespace ergometer::engine
