#pragma once

#include <cstdint>
#include <vector>

#include "spec/job.h"
#include "workload/expert_loads.h"

namespace ergometer::engine {

/// How full the experts of the ranks of a stage are, in even shares of the tokens. Power looks at
/// classes of ranks, one for all where routing is even: ranks that are equally full in every layer,
/// or where these are more than 16, as many ranks each, by how full they are over all layers; a
/// class is as full as its ranks are on average. Ranks are given by their index in the stage.
class RankLoads {
 public:
  RankLoads(const spec::Job& job, const workload::ExpertLoads& loads);

  bool even() const { return loads_.even(); }
  double of(int64_t layer, int64_t index) const { return loads_.of(layer, member_of(index)); }
  double fullest(int64_t layer) const { return loads_.fullest(layer); }

  int32_t classes() const { return classes_; }
  int32_t class_of(int64_t index) const { return class_of_[static_cast<size_t>(member_of(index))]; }
  double of_class(int64_t layer, int32_t number) const { return class_loads_.of(layer, number); }

 private:
  int64_t member_of(int64_t index) const { return index / stride_ % size_; }
  void find_classes();

  workload::ExpertLoads loads_;
  int64_t size_ = 1, stride_ = 1;  ///< of an expert-parallel group
  int32_t classes_ = 1;
  std::vector<int32_t> class_of_ = {0};  ///< by member
  workload::ExpertLoads class_loads_;    ///< by layer and class
};

}  // namespace ergometer::engine
