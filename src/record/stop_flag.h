#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ergometer::record {

/// Lets threads sleep until a time and wakes all of them when they should end.
class StopFlag {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      set_ = true;
    }
    changed_.notify_all();
  }
  /// True when it is set, at once; false when it is `time`.
  bool wait_until(std::chrono::steady_clock::time_point time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, time, [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

}  // namespace ergometer::record
