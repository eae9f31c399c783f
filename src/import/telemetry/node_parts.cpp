#include "import/telemetry/node_parts.h"

#include <algorithm>

#include "import/telemetry/log_builder.h"

namespace ergometer::importer {

void NodeParts::add(size_t device, Part part, int64_t time_ns, double value) {
  Parts& parts = devices_[device][time_ns];
  switch (part) {
    case Part::kIdleSeconds:
      parts.idle_s += value;
      ++parts.processors;
      break;
    case Part::kWaitSeconds: parts.idle_s += value; break;
    case Part::kMemoryTotal: parts.total_b = value; break;
    case Part::kMemoryFree: parts.free_b = value; break;
  }
}

/// Utilization between two times is 1 - (idle seconds gained) / (processors x seconds between).
void NodeParts::add_utilization(size_t device, const Times& times, LogBuilder& log) {
  int64_t all = 0;
  for (const auto& [time, parts] : times) all = std::max(all, parts.processors);
  const Parts* last = nullptr;
  int64_t last_ns = 0;
  for (const auto& [time, parts] : times) {
    if (all == 0 || parts.processors != all) continue;
    if (last != nullptr) {
      const double seconds = static_cast<double>(time - last_ns) * 1e-9;
      const double idle = (parts.idle_s - last->idle_s) / (static_cast<double>(all) * seconds);
      log.add(device, run::Metric::kCpuUtilization, time, 100 * std::clamp(1 - idle, 0.0, 1.0));
    }
    last = &parts;
    last_ns = time;
  }
}

void NodeParts::finish(LogBuilder& log) const {
  for (const auto& [device, times] : devices_) {
    add_utilization(device, times, log);
    for (const auto& [time, parts] : times)
      if (parts.total_b >= 0 && parts.free_b >= 0)
        log.add(device, run::Metric::kMemoryUsed, time, parts.total_b - parts.free_b);
  }
}

}  // namespace ergometer::importer
