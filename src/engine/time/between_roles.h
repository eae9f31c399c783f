#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "plan/plan.h"

// What the roles of a sweep wait for from each other: messages from one to one, and gatherings of
// all of them.
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

/// When the last role has arrived at each gathering of a plan (`InstructionKind::kArrive`), one
/// time a rank, until every role has waited for it.
class Gatherings {
 public:
  using Times = std::vector<double>;

  Gatherings(const plan::Plan& plan, int64_t ranks)
      : ranks_(static_cast<size_t>(ranks)), roles_(plan.roles.size()) {
    for (const int32_t arrivals : plan.gatherings) all_.push_back({arrivals, roles_, {}});
  }

  void arrive(int32_t gathering, const Times& at_s) {
    Gathering& here = all_[static_cast<size_t>(gathering)];
    ERGOMETER_CHECK(here.missing > 0, "more arrive at a gathering than it waits for");
    here.latest_s.resize(ranks_, 0.0);
    --here.missing;
    for (size_t i = 0; i < ranks_; ++i) here.latest_s[i] = std::max(here.latest_s[i], at_s[i]);
  }
  /// Null while somebody is missing.
  const Times* find(int32_t gathering) const {
    const Gathering& here = all_[static_cast<size_t>(gathering)];
    return here.missing > 0 ? nullptr : &here.latest_s;
  }
  void leave(int32_t gathering) {
    Gathering& here = all_[static_cast<size_t>(gathering)];
    if (--here.waiting == 0) Times().swap(here.latest_s);
  }

 private:
  struct Gathering {
    int32_t missing = 0;
    size_t waiting = 0;
    Times latest_s;
  };
  size_t ranks_, roles_;
  std::vector<Gathering> all_;
};

}  // namespace ergometer::engine
