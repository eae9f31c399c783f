#include <fmt/format.h>

#include "record/files/file_source.h"
#include "record/files/make_device.h"

// Energy counters of CPU packages and their DRAM, from the kernel's powercap tree:
//   class/powercap/intel-rapl:0/{name,energy_uj,max_energy_range_uj}    a package, Intel's or AMD's
//   class/powercap/intel-rapl:0/intel-rapl:0:1/...                      a part of it: "dram"
// Parts within a package ("core", "uncore") are in its counter. "psys" is left out: what it covers
// differs from board to board. Packages that show up once more through memory-mapped registers
// ("intel-rapl-mmio:0") are the same ones.

namespace ergometer::record {
namespace {

constexpr double kMicrojoule = 1e-6;

/// "intel-rapl:0", of any vendor; with `parent` "intel-rapl:0:1".
bool is_zone(const std::string& name, const std::string& parent) {
  const size_t colon = parent.empty() ? name.find(':') : parent.size();
  if (colon >= name.size() || name[colon] != ':') return false;
  if (parent.empty() && !name.substr(0, colon).ends_with("-rapl")) return false;
  if (!parent.empty() && !name.starts_with(parent)) return false;
  return name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

FileSensor energy_of(const std::string& zone, size_t device, run::Metric metric) {
  FileSensor sensor{
      .device = device, .metric = metric, .files = {{zone + "/energy_uj", kMicrojoule}}};
  if (const auto most = read_line(zone + "/max_energy_range_uj"))
    sensor.wraps_at = leading_number(*most).value_or(0);
  return sensor;
}

void add_package(const std::string& folder, const std::string& zone, const std::string& name,
                 FoundSensors& found) {
  const size_t device = found.devices.size();
  found.devices.push_back(make_device(run::DeviceKind::kCpu, name, static_cast<int64_t>(device)));
  found.sensors.push_back(energy_of(folder, device, run::Metric::kEnergy));
  for (const std::string& part : entries(folder)) {
    const std::string path = folder + '/' + part;
    if (is_zone(part, zone) && read_line(path + "/name") == "dram")
      found.sensors.push_back(energy_of(path, device, run::Metric::kMemoryEnergy));
  }
}

}  // namespace

Opened open_rapl(const SourceOptions& options) {
  const std::string root = options.sys + "/class/powercap";
  FoundSensors found;
  for (const std::string& zone : entries(root)) {
    const std::string folder = root + '/' + zone;
    const auto name = read_line(folder + "/name");
    if (is_zone(zone, "") && name && name->starts_with("package"))
      add_package(folder, zone, *name, found);
  }
  return open_files(
      {.name = "rapl",
       .none = fmt::format("{} holds no CPU package: the kernel lacks the driver intel_rapl_msr, "
                           "or this is a virtual machine",
                           root),
       .denied = fmt::format("since CVE-2020-8694 root alone may read it: run as root, or let "
                             "everyone read it until the next boot with 'sudo chmod a+r "
                             "{0}/*/energy_uj {0}/*/*/energy_uj', or this program with 'sudo "
                             "setcap cap_dac_read_search+ep $(command -v ergometer)'",
                             root)},
      std::move(found), options);
}

}  // namespace ergometer::record
