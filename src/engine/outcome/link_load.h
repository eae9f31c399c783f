#pragma once

#include <algorithm>
#include <vector>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// Bytes of one rank of each role added up over the roles, and the highest rate of one rank.
struct LinkLoad {
  double bytes = 0, peak_bytes_per_s = 0;
  void add(double bytes_sent, double times, double seconds) {
    bytes += bytes_sent * times;
    if (seconds > 0 && times > 0)
      peak_bytes_per_s = std::max(peak_bytes_per_s, bytes_sent / seconds);
  }
};

/// How often a role's program runs each operator that sends, on a rank in the mean; receives count
/// at their sender.
std::vector<double> executions(const EngineInput& input, size_t role);
/// The same of operators that copy to or from the host.
std::vector<double> copies_of(const EngineInput& input, size_t role);

/// A row of links. `ranks_per_link`: how many ranks send through one.
run::Link link(const char* kind, const LinkLoad& use, double ranks_per_role, double links,
               double ranks_per_link, double line_bytes_per_s, double step_s);

}  // namespace ergometer::engine
