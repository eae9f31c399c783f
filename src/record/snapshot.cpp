#include "record/snapshot.h"

namespace ergometer::record {

size_t Snapshot::add_device(const run::Device& device) {
  const std::lock_guard lock(mutex_);
  latest_.push_back(
      {device, std::vector<std::optional<run::Sample>>(static_cast<size_t>(run::Metric::kCount))});
  latest_.back().device.series.clear();
  return latest_.size() - 1;
}

void Snapshot::set(size_t device, run::Metric metric, const run::Sample& sample) {
  const std::lock_guard lock(mutex_);
  latest_[device].values[static_cast<size_t>(metric)] = sample;
}

std::vector<Snapshot::Latest> Snapshot::look() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace ergometer::record
