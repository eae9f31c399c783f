#include "record/net/ports.h"

#include <filesystem>

#include "base/collection.h"
#include "record/files/file_source.h"

namespace ergometer::record {
namespace {

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// A card with several ports says at each interface which one it is: dev_port counts from 0.
std::vector<std::string> interfaces_of(const std::string& card, const std::string& port) {
  std::vector<std::string> names = entries(card + "/device/net");
  if (names.size() < 2) return names;
  const double number = leading_number(port).value_or(1) - 1;
  std::erase_if(names, [&](const std::string& name) {
    const auto line = read_line(card + "/device/net/" + name + "/dev_port");
    return line && leading_number(*line) != number;
  });
  return names;
}

}  // namespace

std::vector<RdmaPort> rdma_ports(const std::string& sys) {
  std::vector<RdmaPort> ports;
  const std::string root = sys + "/class/infiniband";
  for (const std::string& card : entries(root)) {
    const std::string card_folder = root + '/' + card;
    for (const std::string& port : entries(card_folder + "/ports")) {
      const std::string folder = card_folder + "/ports/" + port;
      if (!exists(folder + "/counters/port_xmit_data")) continue;
      if (read_line(folder + "/state").value_or("").ends_with("DOWN")) continue;
      ports.push_back({.name = card + '/' + port,
                       .folder = folder,
                       .uuid = read_line(card_folder + "/node_guid").value_or(""),
                       .ethernet = read_line(folder + "/link_layer") == "Ethernet",
                       .net = interfaces_of(card_folder, port)});
    }
  }
  return ports;
}

std::vector<std::string> ethernet_interfaces(const std::string& sys) {
  std::vector<std::string> taken;
  for (const RdmaPort& port : rdma_ports(sys))
    taken.insert(taken.end(), port.net.begin(), port.net.end());
  std::vector<std::string> names = entries(sys + "/class/net");
  std::erase_if(names, [&](const std::string& name) {
    const std::string folder = sys + "/class/net/" + name;
    constexpr const char* kEthernet = "1";  // ARPHRD_ETHER
    return !exists(folder + "/device") || exists(folder + "/phy80211") ||
           read_line(folder + "/type") != kEthernet || read_line(folder + "/operstate") == "down" ||
           base::contains(taken, name);
  });
  return names;
}

}  // namespace ergometer::record
