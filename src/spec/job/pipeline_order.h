#pragma once

#include <cstdint>
#include <vector>

namespace ergometer::spec {

enum class SlotKind : uint8_t {
  kForward,
  kBackward /* dgrad and wgrad */,
  kBackwardInput,
  kBackwardWeight
};

/// One entry of a stage's order of work.
struct ScheduleSlot {
  SlotKind kind = SlotKind::kForward;
  int32_t micro_batch = 0;
  int32_t chunk = 0;  ///< virtual pipeline chunk on this stage, 0 .. vpp-1
  bool operator==(const ScheduleSlot&) const = default;
};

/// What every stage of a pipeline does in a step, in order, and where the model's parts lie.
struct PipelineOrder {
  std::vector<std::vector<ScheduleSlot>> stages;
  bool turns = false;  ///< `Parallelism::turns`
  bool operator==(const PipelineOrder&) const = default;
};

}  // namespace ergometer::spec
