#pragma once

#include <algorithm>
#include <chrono>

#include "record/source.h"

namespace ergometer::record {

/// Adds the time from its making to its end to a CallCost.
class CallTimer {
 public:
  explicit CallTimer(CallCost& cost) : cost_(cost), start_(std::chrono::steady_clock::now()) {}
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;
  ~CallTimer() {
    const auto taken = std::chrono::steady_clock::now() - start_;
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
    ++cost_.count;
    cost_.total_ns += ns;
    cost_.longest_ns = std::max(cost_.longest_ns, ns);
  }
  void failed() { ++cost_.failed; }

 private:
  CallCost& cost_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace ergometer::record
