#include "analysis/telemetry/gpu_names.h"

#include <fmt/format.h>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
GpuNames::GpuNames(const run::DeviceLog& log, bool beside_traces) : beside_traces_(beside_traces) {
  std::map<std::string, int> parts;
  for (const run::Device& d : log.devices)
    if (d.kind == run::DeviceKind::kGpu && !d.host.empty() && hosts_.emplace(d.host, d.host).second)
      ++parts[std::string(base::last_part(d.host, '/'))];
  // Files that share a name keep their folders.
  for (auto& [host, called] : hosts_)
    if (std::string name(base::last_part(host, '/')); parts[name] == 1) called = std::move(name);
}

std::string GpuNames::host_of(const run::Device& gpu) const {
  return base::value_or(hosts_, gpu.host, gpu.host);
}

std::string GpuNames::of(const run::Device& gpu) const {
  const std::string rank =
      gpu.rank >= 0 && beside_traces_ ? fmt::format(" (rank {})", gpu.rank) : "";
  if (several_hosts() && !gpu.host.empty()) {
    if (gpu.index >= 0) return fmt::format("{} gpu {}{}", host_of(gpu), gpu.index, rank);
    if (!gpu.uuid.empty()) return fmt::format("{} {}{}", host_of(gpu), gpu.uuid, rank);
    return fmt::format("{} rank {}", host_of(gpu), gpu.rank);
  }
  if (gpu.index >= 0 && !gpu.host.empty()) return fmt::format("GPU {}{}", gpu.index, rank);
  return fmt::format("rank {}'s GPU", gpu.rank);
}

std::string GpuNames::in_table(const run::Device& gpu) const {
  return several_hosts() ? of(gpu) : fmt::format("{}", gpu.rank);
}

std::string begin_sentence(std::string gpu) {
  if (gpu.starts_with("rank ")) gpu.front() = 'R';
  return gpu;
}

}  // namespace ergometer::analysis
