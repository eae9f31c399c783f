#include <fmt/format.h>

#include "record/files/file_source.h"
#include "record/files/make_device.h"
#include "record/net/ports.h"

// Ports of RDMA cards. port_xmit_data and port_rcv_data count words of four bytes (InfiniBand
// specification, PortCountersExtended); RDMA goes past the kernel, so that the network interface
// beside the port does not see it.
//
// On InfiniBand the port's counters hold everything, IP over InfiniBand too. On RoCE they hold RDMA
// alone (mlx5 sums its InfiniBand packets) and the interface counts the rest: the port's bytes are
// the sum of both, each byte once, and the interface is no port of its own.

namespace ergometer::record {
namespace {

using run::Metric;

constexpr double kWord = 4, kGigabit = 1e9 / 8;

constexpr auto kErrors = {"symbol_error",
                          "link_error_recovery",
                          "link_downed",
                          "port_rcv_errors",
                          "port_xmit_discards",
                          "local_link_integrity_errors",
                          "excessive_buffer_overrun_errors"};

std::vector<FileSensor::File> bytes(const RdmaPort& port, const std::string& sys,
                                    const std::string& counter, const std::string& statistic) {
  std::vector<FileSensor::File> files = {{port.folder + "/counters/" + counter, kWord}};
  if (port.ethernet)
    for (const std::string& net : port.net)
      files.push_back({sys + "/class/net/" + net + "/statistics/" + statistic, 1});
  return files;
}

void add_port(const RdmaPort& port, const std::string& sys, FoundSensors& found) {
  const size_t device = found.devices.size();
  found.devices.push_back(
      make_device(run::DeviceKind::kPort, port.name, static_cast<int64_t>(device), port.uuid));
  found.add(device, Metric::kNetSent, bytes(port, sys, "port_xmit_data", "tx_bytes"));
  found.add(device, Metric::kNetReceived, bytes(port, sys, "port_rcv_data", "rx_bytes"));
  std::vector<FileSensor::File> errors;
  for (const char* name : kErrors)
    if (const std::string path = port.folder + "/counters/" + name; read_line(path))
      errors.push_back({path, 1});
  if (!errors.empty()) found.add(device, Metric::kNetErrors, std::move(errors), kSeldom);
  found.add(device, Metric::kNetWait, {{port.folder + "/counters/port_xmit_wait", 1}}, kSeldom);
  found.add(device, Metric::kLineRate, {{port.folder + "/rate", kGigabit}}, kSeldom);
}

}  // namespace

Opened open_infiniband(const SourceOptions& options) {
  FoundSensors found;
  for (const RdmaPort& port : rdma_ports(options.sys)) add_port(port, options.sys, found);
  return open_files(
      {.name = "infiniband",
       .none = fmt::format("{}/class/infiniband holds no port that is up and counts", options.sys),
       .denied = ""},
      std::move(found), options);
}

}  // namespace ergometer::record
