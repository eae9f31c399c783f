#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "run/operations.h"

namespace ergometer::analysis {

using StepNumbers = std::vector<uint32_t>;  ///< of operations within their step

/// The operations of one step, rank by rank, each rank's in order of time.
class StepOperations {
 public:
  /// `order`: where in the timeline they stand. Both outlive this.
  StepOperations(const run::OperationTimeline& timeline, std::span<const uint32_t> order)
      : timeline_(timeline), order_(order) {}

  uint32_t size() const { return static_cast<uint32_t>(order_.size()); }
  uint32_t in_timeline(uint32_t number) const { return order_[number]; }
  const run::Operation& at(uint32_t number) const { return timeline_.operations[order_[number]]; }
  const run::OperationKind& kind(uint32_t number) const { return timeline_.kinds[at(number).kind]; }
  run::OperationRole role(uint32_t number) const { return kind(number).role; }
  int32_t chunk(uint32_t number) const { return std::max(at(number).chunk, 0); }
  const run::OperationGroups& groups() const { return timeline_.groups; }
  bool is_first_virtual_stage(uint32_t number) const {
    return at(number).stage == 0 && chunk(number) == 0;
  }
  bool is_last_virtual_stage(uint32_t number) const {
    return at(number).stage + 1 == groups().stages && chunk(number) + 1 == groups().chunks;
  }

 private:
  const run::OperationTimeline& timeline_;
  std::span<const uint32_t> order_;
};

bool is_point_to_point(run::OperationRole role);

/// Who waits, for whom, on one and the same rank: see operation_graphs.
using OperationWait = std::pair<uint32_t, uint32_t>;
std::vector<OperationWait> waits_within_ranks(const StepOperations& step);

}  // namespace ergometer::analysis
