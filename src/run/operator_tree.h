#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::run {

/// Which operator encloses which on its thread, and which one made a call. Operators are meant by
/// their position in the vector given, which the tree does not keep.
class OperatorTree {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit OperatorTree(const std::vector<Operator>& operators);

  /// The innermost that encloses it; kNone at the top.
  uint32_t parent(uint32_t op) const { return parents_[op]; }
  /// The one with the call's external id; without one, the innermost on the call's thread when the
  /// call began; kNone where there is neither.
  uint32_t of(const Launch& call) const;

 private:
  struct Place {
    int64_t thread, start_ns, end_ns;
    uint32_t op;
  };
  uint32_t at(int64_t thread, int64_t time_ns) const;

  std::vector<uint32_t> parents_;
  std::vector<Place> places_;  ///< by thread, then start, longer first
  std::vector<uint32_t> place_of_;
  std::vector<std::pair<int64_t, uint32_t>> by_external_id_;
};

}  // namespace ergometer::run
