// Counterfactual testbeds: links of any speed, and H100s with one thing of an H200 after another.
#include <fmt/format.h>

#include "study/charllm/counterfactual.h"
#include "study/charllm/evidence.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

/// So fast that only latency is left.
constexpr const char* kFree = "1e14 B/s";

void nic_rates(Jobs& jobs) {
  for (const int gbps : kNicGbps) {
    Change change;
    change.nic_bandwidth = fmt::format("{} Gb/s", gbps);
    const std::string cluster =
        changed_cluster("charllm-h200", fmt::format("charllm-h200-{}g", gbps), change);
    for (const NicJob& job : nic_jobs())
      jobs.varied("nic", fmt::format("{} {}", job.id, gbps), job.family, job.row,
                  {{"cluster", cluster}});
  }
  Change change;
  change.nic_bandwidth = kFree;
  const std::string cluster = changed_cluster("charllm-h200", "charllm-h200-free-network", change);
  for (const std::string& row : layouts_of("h200"))
    jobs.varied("free-network", row, "optimization-sweep-h200", row + "_01000",
                {{"cluster", cluster}});
}

/// The testbed that a combination of a pair's factors describes; see kPairFactors. The boards
/// differ in memory, its bandwidth, and in what sets clocks and power.
std::string testbed(unsigned bits, const char* nic) {
  const bool h200_layout = bits & 1u, h200_hbm = bits & 4u, h200_power = bits & 8u;
  Change change;
  change.nodes = h200_layout ? 4 : 8;
  change.nic_bandwidth = nic;
  change.gpu = h200_power ? "h200-sxm5-141gb" : "h100-sxm5-80gb";
  // The layout needs the larger memory; nothing else of the job looks at it.
  change.parameters["memory"] = "139.8 GiB";
  change.parameters["memory_bandwidth"] = h200_hbm ? "4.8 TB/s" : "3.35 TB/s";
  return changed_cluster("charllm-h100", fmt::format("h100-with-{:04b}-of-h200", bits), change);
}

/// Half of every GPU's scale-up bandwidth.
std::string half_links() {
  std::string text;
  for (int gpu = 0; gpu < 8; ++gpu)
    text += fmt::format("{}gpu{}.link=50%", text.empty() ? "" : ",", gpu);
  return text;
}

void one_pair(Jobs& jobs, const Pair& pair) {
  const std::string family = std::string("h200-") + pair.name;
  const bool h100_recomputes = std::string_view(pair.h100).ends_with("01000");
  const auto add = [&](const std::string& id, unsigned bits, const Values& values) {
    const bool recompute = (bits & 2u) == 0 && h100_recomputes;
    const bool small = bits & 1u;
    const std::string row = small ? pair.h200 : pair.h100;
    jobs.varied(family, id, small ? "optimization-sweep-h200" : "optimization-sweep-h100",
                row.substr(0, row.rfind('_')) + (recompute ? "_01000" : "_00000"), values);
  };
  for (unsigned bits = 0; bits < 16; ++bits)
    add(fmt::format("{:04b}", bits), bits, {{"cluster", testbed(bits, kFree)}});
  for (const auto& [bits, name] : {std::pair{0u, "h100"}, {15u, "h200"}}) {
    const std::string real = testbed(bits, "");
    add(std::string(name) + "-real", bits, {{"cluster", real}});
    add(std::string(name) + "-half-nvlink", bits, {{"cluster", real}, {"override", half_links()}});
  }
}

}  // namespace

void counterfactual_jobs(Jobs& jobs) {
  nic_rates(jobs);
  for (const Pair& pair : pairs()) one_pair(jobs, pair);
}

}  // namespace ergometer::study::charllm
