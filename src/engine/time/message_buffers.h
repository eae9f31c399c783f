#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace ergometer::engine {

/// When messages between roles left, one time a rank, from their sending to their receiving. Their
/// memory is used again.
class MessageBuffers {
 public:
  MessageBuffers(int32_t messages, int64_t ranks)
      : ranks_(static_cast<size_t>(ranks)), buffer_of_(static_cast<size_t>(messages), kNone) {}

  void send(int32_t message, const std::vector<double>& left_s) {
    int32_t& buffer = buffer_of_[static_cast<size_t>(message)];
    ERGOMETER_CHECK(buffer == kNone, "a message is sent twice");
    if (free_.empty()) {
      free_.push_back(static_cast<int32_t>(buffers_.size()));
      buffers_.emplace_back(ranks_, 0.0);
    }
    buffer = free_.back();
    free_.pop_back();
    std::copy(left_s.begin(), left_s.end(), buffers_[static_cast<size_t>(buffer)].begin());
  }
  /// Null: not sent, or received.
  std::vector<double>* find(int32_t message) {
    const int32_t buffer = buffer_of_[static_cast<size_t>(message)];
    return buffer == kNone ? nullptr : &buffers_[static_cast<size_t>(buffer)];
  }
  void receive(int32_t message) {
    free_.push_back(buffer_of_[static_cast<size_t>(message)]);
    buffer_of_[static_cast<size_t>(message)] = kNone;
  }
  int32_t messages() const { return static_cast<int32_t>(buffer_of_.size()); }

 private:
  static constexpr int32_t kNone = -1;
  size_t ranks_;
  std::vector<int32_t> buffer_of_;  ///< by message
  std::vector<std::vector<double>> buffers_;
  std::vector<int32_t> free_;
};

}  // namespace ergometer::engine
