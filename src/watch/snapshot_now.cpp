#include "watch/snapshot_now.h"

#include <algorithm>

namespace ergometer::watch {

JobNow SnapshotNow::look(int64_t time_ns) {
  latest_ = snapshot_.look();
  values_.assign(latest_.size(), {});
  JobNow now{time_ns, {}, {}, {}};
  for (size_t d = 0; d < latest_.size(); ++d) {
    const auto& [device, samples, set_ns] = latest_[d];
    const bool silent = time_ns - std::ranges::max(set_ns) > kDeviceSilentNs;
    for (size_t m = 0; m < samples.size(); ++m) {
      if (silent || !samples[m]) continue;
      values_[d].values[m] = samples[m]->value;
      values_[d].times_ns[m] = set_ns[m];
    }
    now.devices.push_back({device.kind, device.host, device.name, device.uuid, device.index,
                           values_[d].values, values_[d].times_ns});
  }
  record::Snapshot::Steps steps = snapshot_.steps_since(steps_seen_);
  steps_seen_ = steps.count;
  now.steps = std::move(steps.steps);
  return now;
}

}  // namespace ergometer::watch
