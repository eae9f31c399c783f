// Counterfactual testbeds: links of any speed, and H100s with one thing of an H200 after another.
#include <fmt/format.h>

#include "study/charllm/counterfactual.h"
#include "study/charllm/evidence.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

/// So fast that only latency is left.
constexpr const char* kFree = "1e14 B/s";

base::Result<void> nic_rates(Jobs& jobs) {
  for (const int gbps : kNicGbps) {
    Change change;
    change.nic_bandwidth = fmt::format("{} Gb/s", gbps);
    ERGOMETER_ASSIGN(
        const std::string cluster,
        changed_cluster("charllm-h200", fmt::format("charllm-h200-{}g", gbps), change));
    for (const NicJob& job : nic_jobs())
      jobs.varied("nic", fmt::format("{} {}", job.id, gbps), job.family, job.row,
                  {{"cluster", cluster}});
  }
  Change change;
  change.nic_bandwidth = kFree;
  ERGOMETER_ASSIGN(const std::string cluster,
                   changed_cluster("charllm-h200", "charllm-h200-free-network", change));
  for (const std::string& row : layouts_of("h200"))
    jobs.varied("free-network", row, "optimization-sweep-h200", row + "_01000",
                {{"cluster", cluster}});
  return {};
}

/// The testbed that a combination of a pair's factors describes; see kPairFactors.
base::Result<std::string> testbed(unsigned bits, const char* nic, const char* intra) {
  const std::string from = "charllm-h100", to = "charllm-h200";
  const bool h200_layout = bits & 1u, h200_hbm = bits & 4u, h200_power = bits & 8u;
  Change change;
  change.nodes = h200_layout ? 4 : 8;
  change.nic_bandwidth = nic;
  change.intra_bandwidth = intra;
  // The layout needs the larger memory; nothing else of the job looks at it.
  ERGOMETER_ASSIGN(change.gpu["memory"], gpu_parameter(to, "memory"));
  ERGOMETER_ASSIGN(change.gpu["memory_bandwidth"],
                   gpu_parameter(h200_hbm ? to : from, "memory_bandwidth"));
  for (const char* name : {"sustained_clock", "idle_power"}) {
    ERGOMETER_ASSIGN(change.gpu[name], gpu_parameter(h200_power ? to : from, name));
  }
  change.power = h200_power ? "h200" : "h100";
  return changed_cluster(from, fmt::format("h100-with-{:04b}-of-h200", bits), change);
}

base::Result<void> one_pair(Jobs& jobs, const Pair& pair) {
  const std::string family = std::string("h200-") + pair.name;
  const auto variant = [](std::string row, bool recompute) {
    return row.substr(0, row.rfind('_')) + (recompute ? "_01000" : "_00000");
  };
  const bool h100_recomputes = std::string_view(pair.h100).ends_with("01000");
  const auto add = [&](const std::string& id, unsigned bits, const std::string& cluster) -> void {
    const bool recompute = (bits & 2u) == 0 && h100_recomputes;
    const bool small = bits & 1u;
    jobs.varied(family, id, small ? "optimization-sweep-h200" : "optimization-sweep-h100",
                variant(small ? pair.h200 : pair.h100, recompute), {{"cluster", cluster}});
  };
  for (unsigned bits = 0; bits < 16; ++bits) {
    ERGOMETER_ASSIGN(const std::string cluster, testbed(bits, kFree, ""));
    add(fmt::format("{:04b}", bits), bits, cluster);
  }
  for (const unsigned bits : {0u, 15u}) {
    ERGOMETER_ASSIGN(const std::string real, testbed(bits, "", ""));
    add(bits == 0 ? "h100-real" : "h200-real", bits, real);
    ERGOMETER_ASSIGN(const std::string links, testbed(bits, "", kFree));
    add(bits == 0 ? "h100-free-nvlink" : "h200-free-nvlink", bits, links);
  }
  return {};
}

}  // namespace

base::Result<void> counterfactual_jobs(Jobs& jobs) {
  ERGOMETER_TRY(nic_rates(jobs));
  for (const Pair& pair : pairs()) {
    ERGOMETER_TRY(one_pair(jobs, pair));
  }
  return {};
}

}  // namespace ergometer::study::charllm
