#include "engine/views/telling_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

constexpr int64_t kMostGroups = 64;

/// A rank by a measure; ranks that are alike are in order.
using Measured = std::vector<std::pair<double, int64_t>>;

int64_t median(Measured& ranks) {
  const auto middle = ranks.begin() + static_cast<ptrdiff_t>((ranks.size() - 1) / 2);
  std::nth_element(ranks.begin(), middle, ranks.end());
  return middle->second;
}

/// Row of the chassis in which a rank's GPU sits.
int64_t row_of(const spec::Job& job, const Fleet& fleet, int64_t rank) {
  const auto slot = fleet.gpu_of(rank) % static_cast<size_t>(fleet.gpus_per_node);
  const spec::Node& node = spec::node_of_group(job.cluster, fleet.kind_of(fleet.gpu_of(rank)));
  return slot < node.slots.size() ? node.slots[slot].row : 0;
}

}  // namespace

std::vector<int64_t> telling_ranks(const spec::Job& job, const Fleet& fleet,
                                   std::span<const GpuRecord> gpus) {
  std::map<std::pair<int64_t, int64_t>, Measured> groups;
  std::set<int64_t> rows;
  Measured hot, slow, mean;
  for (int64_t rank = 0; rank < fleet.ranks; ++rank) {
    const GpuRecord& gpu = gpus[fleet.gpu_of(rank)];
    const int64_t row = row_of(job, fleet, rank);
    rows.insert(row);
    groups[{rank / job.stage_ranks(), row}].push_back({gpu.mean_c, rank});
    hot.push_back({-gpu.max_c, rank});
    slow.push_back({gpu.clock_hz, rank});
    mean.push_back({gpu.mean_c, rank});
  }
  std::set<int64_t> chosen = {std::ranges::min_element(hot)->second,
                              std::ranges::min_element(slow)->second, median(mean)};
  const auto stages = std::max<int64_t>(1, kMostGroups / std::ssize(rows));
  const int64_t every = (job.parallelism.pp + stages - 1) / stages;
  for (auto& [group, ranks] : groups)
    if (group.first % every == 0) chosen.insert(median(ranks));
  return {chosen.begin(), chosen.end()};
}

}  // namespace ergometer::engine
