#include "intake/programs/deepspeed_hosts.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"

namespace ergometer::intake {
namespace {

constexpr int64_t kMostSlots = 10'000;

struct Host {
  std::string name;
  int64_t slots = 0;
};

std::vector<Host> hosts_of(const std::string& text) {
  std::vector<Host> hosts;
  for (const std::string& line : base::split(text, '\n')) {
    const size_t at = line.find("slots=");
    if (line.starts_with('#') || at == line.npos) continue;
    const std::string rest = line.substr(at + 6);
    const auto slots = base::parse_integer(rest.substr(0, rest.find_first_of(" \t\r#")));
    if (slots && *slots > 0 && *slots <= kMostSlots)
      hosts.push_back({line.substr(0, line.find_first_of(" \t")), *slots});
  }
  return hosts;
}

/// "host1@host2:0,2": slots by host; none of them are all.
Result<std::map<std::string, std::set<int64_t>>> filter_of(std::string_view option,
                                                           const std::string& text) {
  std::map<std::string, std::set<int64_t>> filter;
  if (text.empty()) return filter;
  for (const std::string& part : base::split(text, '@')) {
    const size_t colon = part.find(':');
    std::set<int64_t>& slots = filter[part.substr(0, colon)];
    if (colon == part.npos) continue;
    for (const std::string& word : base::split(part.substr(colon + 1), ',')) {
      const auto slot = base::parse_integer(word);
      if (!slot || *slot < 0 || *slot >= kMostSlots)
        return input_error(
            "{}: found \"{}\"; allowed: HOST or HOST:SLOT,SLOT, several "
            "with @ between them",
            option, text.substr(0, 60));
      slots.insert(*slot);
    }
  }
  return filter;
}

/// Of a filter's slots those that the host has.
int64_t named(const std::set<int64_t>& slots, int64_t all) {
  return std::ranges::count_if(slots, [&](int64_t slot) { return slot < all; });
}

}  // namespace

Result<int64_t> deepspeed_gpus(const DeepSpeedHosts& said) {
  const bool counts = said.nodes > 0 || said.gpus > 0;
  if (counts && !(said.include.empty() && said.exclude.empty()))
    return input_error("--num_nodes and --num_gpus are refused beside --include and --exclude");
  if (!said.include.empty() && !said.exclude.empty())
    return input_error("--include is refused beside --exclude");
  ERGOMETER_ASSIGN(const auto include, filter_of("--include", said.include));
  ERGOMETER_ASSIGN(const auto exclude, filter_of("--exclude", said.exclude));
  std::vector<Host> hosts = hosts_of(said.hostfile);
  if (hosts.empty()) {
    // Hosts that are not here: what is left out of how many, nobody knows.
    int64_t gpus = std::max<int64_t>(said.nodes, 1) * said.gpus;
    for (const auto& [name, slots] : include) {
      if (slots.empty()) return 0;
      gpus += static_cast<int64_t>(slots.size());
    }
    return gpus;
  }
  for (const auto* filter : {&include, &exclude})
    for (const auto& [name, slots] : *filter)
      if (std::ranges::none_of(hosts, [&](const Host& host) { return host.name == name; }))
        return input_error("{}: the hostfile has no host \"{}\"",
                           filter == &include ? "--include" : "--exclude", name.substr(0, 60));
  if (said.nodes > static_cast<int64_t>(hosts.size()))
    return input_error("--num_nodes {} is more than the {} hosts of the hostfile", said.nodes,
                       hosts.size());
  if (said.nodes > 0) hosts.resize(static_cast<size_t>(said.nodes));
  int64_t gpus = 0;
  for (const Host& host : hosts) {
    const auto in = include.find(host.name), out = exclude.find(host.name);
    if (!include.empty() && in == include.end()) continue;
    if (said.gpus > 0)
      gpus += said.gpus;
    else if (in != include.end() && !in->second.empty())
      gpus += named(in->second, host.slots);
    else if (out == exclude.end())
      gpus += host.slots;
    else if (!out->second.empty())
      gpus += host.slots - named(out->second, host.slots);
  }
  return gpus;
}

}  // namespace ergometer::intake
