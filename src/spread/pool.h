#pragma once

#include <mutex>
#include <optional>

#include "spread/crew.h"

namespace ergometer::spread {

/// A task's pieces as the leader hands them out and takes their answers; from any thread.
class Pool {
 public:
  explicit Pool(const Task& task) : task_(task) {}

  /// A piece that nobody has; none: all are given, or no more are to be begun.
  std::optional<size_t> next() {
    const std::scoped_lock lock(mutex_);
    if (task_.stop && task_.stop()) given_ = task_.pieces.size();
    if (given_ >= task_.pieces.size()) return std::nullopt;
    return task_.pieces[given_++];
  }
  void answer(size_t piece, std::string text) {
    const std::scoped_lock lock(mutex_);
    if (!result_) return;
    result_ = task_.done(piece, std::move(text));
    if (!result_) given_ = task_.pieces.size();
  }
  /// Gives no more of them.
  void end() {
    const std::scoped_lock lock(mutex_);
    given_ = task_.pieces.size();
  }
  /// The first error of `Task::done`.
  const Result<void>& result() const { return result_; }

 private:
  const Task& task_;
  std::mutex mutex_;
  size_t given_ = 0;
  Result<void> result_;
};

}  // namespace ergometer::spread
