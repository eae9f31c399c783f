#include "analysis/energy/traced_devices.h"

#include <set>

namespace ergometer::analysis {
namespace {

/// The device of the trace's events, if they name one.
int64_t device_of(const run::RankTrace& trace) {
  return trace.events.empty() ? -1 : trace.events.front().device;
}

}  // namespace

TracedDevices::TracedDevices(const run::DeviceLog& log) {
  std::set<std::string> hosts;
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu || device.series.empty()) continue;
    gpus_.push_back(&device);
    hosts.insert(device.host);
  }
  one_host_ = hosts.size() == 1;
}

const run::Device* TracedDevices::of(const run::RankTrace& trace, size_t traces,
                                     std::string& how) const {
  const auto only = [&](auto&& matches) -> const run::Device* {
    const run::Device* found = nullptr;
    for (const run::Device* gpu : gpus_) {
      if (!matches(*gpu)) continue;
      if (found != nullptr) return nullptr;
      found = gpu;
    }
    return found;
  };
  if (traces == 1 && gpus_.size() == 1) {
    how = "only one of each";
    return gpus_.front();
  }
  how = "rank";
  if (const auto* gpu = only([&](const auto& g) { return g.rank >= 0 && g.rank == trace.rank; }))
    return gpu;
  how = "device index";
  const int64_t device = device_of(trace);
  if (one_host_ && device >= 0)
    if (const auto* gpu = only([&](const auto& g) { return g.index == device; })) return gpu;
  how.clear();
  return nullptr;
}

}  // namespace ergometer::analysis
