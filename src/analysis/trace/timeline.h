#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What runs on a GPU at every time: stretches in which the same labels are active. Each event has
/// one label.
struct Timeline {
  struct Stretch {
    int64_t start_ns = 0, end_ns = 0;
    uint32_t set = 0;  ///< into `sets`
  };
  std::vector<Stretch> stretches;           ///< in order of time, without gaps
  std::vector<std::vector<uint32_t>> sets;  ///< labels in order; the first set is empty: idle
};
Timeline label_time(const std::vector<run::GpuEvent>& events, const std::vector<uint32_t>& labels);

/// Runs `use(stretch's set, nanoseconds of it)` for what lies between two times, and moves `from`
/// behind what cannot matter to later times.
void for_each_between(const Timeline& timeline, size_t& from, int64_t start_ns, int64_t end_ns,
                      const std::function<void(uint32_t, int64_t)>& use);

}  // namespace ergometer::analysis
