#include <fmt/format.h>

#include "record/files/file_source.h"
#include "record/files/make_device.h"
#include "record/net/ports.h"

// Ethernet interfaces with hardware of their own: class/net/NAME/statistics/* and speed (Mbit/s).
// Bridges, bonds, tunnels and the loop have none, and what crosses them crosses hardware too.

namespace ergometer::record {
namespace {

using run::Metric;

constexpr double kMegabit = 1e6 / 8;

void add_interface(const std::string& folder, const std::string& name, FoundSensors& found) {
  const size_t device = found.devices.size();
  found.devices.push_back(make_device(run::DeviceKind::kPort, name, static_cast<int64_t>(device),
                                      read_line(folder + "/address").value_or("")));
  const std::string statistics = folder + "/statistics/";
  found.add(device, Metric::kNetSent, {{statistics + "tx_bytes", 1}});
  found.add(device, Metric::kNetReceived, {{statistics + "rx_bytes", 1}});
  found.add(device, Metric::kNetErrors,
            {{statistics + "tx_errors", 1}, {statistics + "rx_errors", 1}}, kSeldom);
  found.add(device, Metric::kLineRate, {{folder + "/speed", kMegabit}}, kSeldom);
}

}  // namespace

Opened open_ethernet(const SourceOptions& options) {
  FoundSensors found;
  const std::string root = options.sys + "/class/net";
  for (const std::string& name : ethernet_interfaces(options.sys))
    add_interface(root + '/' + name, name, found);
  return open_files({.name = "ethernet",
                     .none = fmt::format("{} holds no interface with hardware of its own that is "
                                         "up and no port of an RDMA card",
                                         root),
                     .denied = ""},
                    std::move(found), options);
}

}  // namespace ergometer::record
