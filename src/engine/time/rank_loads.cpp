#include "engine/time/rank_loads.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "plan/placement.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

constexpr size_t kMostClasses = 16;

/// The loads of a member of the group, layer by layer.
std::vector<double> column(const workload::ExpertLoads& loads, size_t member) {
  std::vector<double> result;
  for (const std::vector<double>& layer : loads.by_layer)
    if (!layer.empty()) result.push_back(layer[member]);
  return result;
}

}  // namespace

RankLoads::RankLoads(const spec::Job& job, const workload::ExpertLoads* loads) : loads_(loads) {
  if (even()) return;
  const plan::RankGroup group = plan::rank_group(job, workload::GroupKind::kExpert);
  size_ = group.size;
  stride_ = group.stride;
  for (int64_t layer = 0; layer < std::ssize(loads->by_layer); ++layer)
    fullest_.push_back(loads->fullest(layer));
}

RankGroups::RankGroups(const spec::Job& job, int64_t stage) {
  const std::vector<size_t> groups = spec::groups_of_stage(job, stage);
  first_ = groups.front();
  if (groups.size() == 1) return;
  for (int64_t i = 0; i < job.stage_ranks(); ++i)
    group_of_.push_back(spec::group_of_rank(job, stage * job.stage_ranks() + i));
}

LoadClasses::LoadClasses(const spec::Job& job, const workload::ExpertLoads& loads) {
  if (loads.even()) return;
  const plan::RankGroup group = plan::rank_group(job, workload::GroupKind::kExpert);
  size_ = group.size;
  stride_ = group.stride;
  const auto members = static_cast<size_t>(size_);
  class_of_.assign(members, 0);
  std::map<std::vector<double>, int32_t> known;
  std::vector<double> sums;
  for (size_t member = 0; member < members; ++member) {
    const std::vector<double> own = column(loads, member);
    sums.push_back(std::accumulate(own.begin(), own.end(), 0.0));
    class_of_[member] = known.emplace(own, static_cast<int32_t>(known.size())).first->second;
  }
  count_ = static_cast<int32_t>(std::min(known.size(), kMostClasses));
  if (known.size() > kMostClasses) {
    std::vector<size_t> order(members);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return sums[a] > sums[b]; });
    for (size_t place = 0; place < members; ++place)
      class_of_[order[place]] = static_cast<int32_t>(place * kMostClasses / members);
  }
  const auto classes = static_cast<size_t>(count_);
  std::vector<double> ranks(classes);
  for (const int32_t number : class_of_) ranks[static_cast<size_t>(number)] += 1;
  for (const std::vector<double>& layer : loads.by_layer) {
    std::vector<double>& of_layer = loads_.by_layer.emplace_back();
    if (layer.empty()) continue;
    of_layer.resize(classes);
    for (size_t member = 0; member < members; ++member) {
      const auto number = static_cast<size_t>(class_of_[member]);
      of_layer[number] += layer[member] / ranks[number];
    }
  }
}

}  // namespace ergometer::engine
