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

RankLoads::RankLoads(const spec::Job& job, const workload::UnevenWork* work) : work_(work) {
  if (even()) return;
  if (of_documents())
    set_documents(job);
  else
    set_experts(job);
}

void RankLoads::set_experts(const spec::Job& job) {
  const plan::RankGroup group = plan::rank_group(job, workload::GroupKind::kExpert);
  size_ = group.size;
  stride_ = group.stride;
  shared_.fill(true);
  for (int64_t layer = 0; layer < std::ssize(work_->loads.by_layer); ++layer)
    most_.push_back(work_->loads.fullest(layer));
  telling_ = most_;
  average_.assign(most_.size(), 1);
}

void RankLoads::set_documents(const spec::Job& job) {
  const workload::SequenceLoads& loads = work_->sequences;
  size_ = loads.replicas;
  stride_ = job.parallelism.tp * job.parallelism.cp;
  for (const auto kind : {workload::GroupKind::kExpert, workload::GroupKind::kExpertTensor}) {
    const plan::RankGroup group = plan::rank_group(job, kind);
    shared_[static_cast<size_t>(kind)] = group.size * group.stride > stride_;
  }
  for (size_t measure = 0; measure < loads.loads.size(); ++measure) {
    const double over = loads.over_mean(measure, loads.slowest);
    const double share = over > 0 ? 1 / over : 1;
    for (int64_t batch = 0; batch < loads.micro_batches; ++batch) {
      telling_.push_back(loads.of(measure, batch, loads.slowest));
      most_.push_back(loads.largest(measure, batch));
      average_.push_back(telling_.back() * share);
    }
  }
}

int32_t RankLoads::row(const plan::Instruction& it, int32_t measure) const {
  if (even()) return -1;
  if (!of_documents()) return it.layer >= 0 && it.layer < rows() ? it.layer : -1;
  if (it.micro_batch < 0) return -1;
  return measure * static_cast<int32_t>(work_->sequences.micro_batches) + it.micro_batch;
}

double RankLoads::of(int32_t row, int64_t index) const {
  if (row < 0) return 1;
  const int64_t member = index / stride_ % size_;
  if (!of_documents()) return work_->loads.of(row, member);
  const int64_t batches = work_->sequences.micro_batches;
  return work_->sequences.of(static_cast<size_t>(row / batches), row % batches, member);
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
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return sums[a] > sums[b]; });
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
