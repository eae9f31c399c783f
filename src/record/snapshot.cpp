#include "record/snapshot.h"

#include <algorithm>
#include <iterator>

namespace ergometer::record {

size_t Snapshot::add_device(const run::Device& device) {
  const std::lock_guard lock(mutex_);
  constexpr auto kMetrics = static_cast<size_t>(run::Metric::kCount);
  latest_.push_back(
      {device, std::vector<std::optional<run::Sample>>(kMetrics), std::vector<int64_t>(kMetrics)});
  latest_.back().device.series.clear();
  return latest_.size() - 1;
}

void Snapshot::set(size_t device, run::Metric metric, const run::Sample& sample) {
  const int64_t now = now_ns();
  const std::lock_guard lock(mutex_);
  latest_[device].values[static_cast<size_t>(metric)] = sample;
  latest_[device].set_ns[static_cast<size_t>(metric)] = now;
}

std::vector<Snapshot::Latest> Snapshot::look() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void Snapshot::add_step(const run::TrainingStep& step) {
  const int64_t now = now_ns();
  const std::lock_guard lock(mutex_);
  steps_.push_back(step);
  if (steps_.size() > kMostSteps) steps_.pop_front();
  ++step_count_;
  step_set_ns_ = now;
}

Snapshot::Steps Snapshot::steps_since(int64_t seen) const {
  const std::lock_guard lock(mutex_);
  const auto fresh = std::min<int64_t>(step_count_ - seen, std::ssize(steps_));
  return {step_count_, step_set_ns_, {steps_.end() - fresh, steps_.end()}};
}

std::optional<run::TrainingStep> Snapshot::step_now(int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  if (steps_.empty() || !is_news(steps_.back(), step_set_ns_, now_ns)) return std::nullopt;
  return steps_.back();
}

}  // namespace ergometer::record
