#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "record/source.h"

namespace ergometer::record {

/// Measures what calls into a driver, a library or a file cost.
class CallCosts {
 public:
  /// The number under which calls of this name are counted, the same for the same name.
  size_t slot(std::string_view call) {
    for (size_t i = 0; i < costs_.size(); ++i)
      if (costs_[i].call == call) return i;
    costs_.push_back({std::string(call)});
    return costs_.size() - 1;
  }
  /// Calls `function`, which returns 0 when it went well, and returns what it returned.
  template <class Function>
  int timed(size_t slot, Function&& function) {
    const auto start = std::chrono::steady_clock::now();
    const int status = function();
    last_ns_ = (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
    CallCost& cost = costs_[slot];
    ++cost.count;
    cost.total_ns += last_ns_;
    cost.longest_ns = std::max(cost.longest_ns, last_ns_);
    cost.failed += status != 0;
    return status;
  }
  int64_t last_ns() const { return last_ns_; }  ///< of the latest call
  /// Of what was called at all.
  std::vector<CallCost> all() const {
    std::vector<CallCost> called = costs_;
    std::erase_if(called, [](const CallCost& cost) { return cost.count == 0; });
    return called;
  }

 private:
  std::vector<CallCost> costs_;
  int64_t last_ns_ = 0;
};

}  // namespace ergometer::record
