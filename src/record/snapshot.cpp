#include "record/snapshot.h"

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

}  // namespace ergometer::record
