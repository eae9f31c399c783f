#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/snapshot.h"
#include "watch/job_now.h"

namespace ergometer::watch {

/// What a recorder's Snapshot shows, as a job of one node.
class SnapshotNow {
 public:
  explicit SnapshotNow(const record::Snapshot& snapshot) : snapshot_(snapshot) {}
  /// Valid until the next call.
  JobNow look(int64_t time_ns);

 private:
  struct Values {
    std::array<double, static_cast<size_t>(run::Metric::kCount)> values{};
    std::array<int64_t, static_cast<size_t>(run::Metric::kCount)> times_ns{};
  };
  const record::Snapshot& snapshot_;
  std::vector<record::Snapshot::Latest> latest_;
  std::vector<Values> values_;
  int64_t steps_seen_ = 0;
};

}  // namespace ergometer::watch
