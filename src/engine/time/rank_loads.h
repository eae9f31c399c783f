#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"
#include "workload/expert_loads.h"

namespace ergometer::engine {

/// How full the experts of the ranks of a stage are, in even shares of the tokens. Ranks are given
/// by their index in the stage.
class RankLoads {
 public:
  /// `loads` is kept by reference; null: all are even.
  RankLoads(const spec::Job& job, const workload::ExpertLoads* loads);

  bool even() const { return loads_ == nullptr; }
  double of(int64_t layer, int64_t index) const {
    return even() ? 1 : loads_->of(layer, index / stride_ % size_);
  }
  double fullest(int64_t layer) const {
    return layer < 0 || layer >= std::ssize(fullest_) ? 1 : fullest_[static_cast<size_t>(layer)];
  }

 private:
  const workload::ExpertLoads* loads_;
  int64_t size_ = 1, stride_ = 1;  ///< of an expert-parallel group
  std::vector<double> fullest_;    ///< by layer
};

/// On which group of the cluster's nodes each rank of a stage runs, by its index there.
class RankGroups {
 public:
  RankGroups(const spec::Job& job, int64_t stage);

  /// Whether the stage's ranks run on nodes of several kinds.
  bool mixed() const { return !group_of_.empty(); }
  size_t of(int64_t index) const {
    return mixed() ? group_of_[static_cast<size_t>(index)] : first_;
  }

 private:
  size_t first_ = 0;
  std::vector<size_t> group_of_;  ///< empty: all run on `first_`
};

/// The classes of ranks that power looks at, one for all where routing is even: ranks that are
/// equally full in every layer, or where these are more than 16, as many ranks each, by how full
/// they are over all layers; a class is as full as its ranks are on average.
class LoadClasses {
 public:
  LoadClasses(const spec::Job& job, const workload::ExpertLoads& loads);

  int32_t count() const { return count_; }
  /// Of a rank, by its index in the stage.
  int32_t of(int64_t index) const {
    return class_of_[static_cast<size_t>(index / stride_ % size_)];
  }
  /// How full class `number` is, in even shares.
  double load(int64_t layer, int32_t number) const { return loads_.of(layer, number); }

 private:
  int32_t count_ = 1;
  int64_t size_ = 1, stride_ = 1;
  std::vector<int32_t> class_of_ = {0};  ///< by member of an expert-parallel group
  workload::ExpertLoads loads_;          ///< by layer and class
};

}  // namespace ergometer::engine
