#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "spec/job/job.h"
#include "workload/expert_loads.h"

namespace ergometer::engine {

/// How much the ranks of a stage have to do, beside what the plan is lowered for: how full their
/// experts are in a layer, in even shares of the tokens, or what their micro batch holds. Ranks are
/// given by their index in the stage, and loads stand in rows: of a layer, or of a micro batch in
/// one measure of it.
class RankLoads {
 public:
  /// `work` is kept by reference; null: all are even.
  RankLoads(const spec::Job& job, const workload::UnevenWork* work);

  bool even() const { return work_ == nullptr; }
  bool of_documents() const { return !even() && !work_->sequences.even(); }
  /// Of an operator, for `row`.
  int32_t measure(const workload::Operator& op) const {
    return of_documents() ? static_cast<int32_t>(work_->sequences.measure(op)) : 0;
  }
  /// Which row an instruction follows; -1: none, its load is 1.
  int32_t row(const plan::Instruction& it, int32_t measure) const;
  int32_t rows() const { return static_cast<int32_t>(most_.size()); }
  double of(int32_t row, int64_t index) const;
  /// Of the rank that a step waits for: the fullest of a layer; the replica with most work.
  double telling(int32_t row) const { return at(telling_, row); }
  double most(int32_t row) const { return at(most_, row); }
  /// Of a rank that has the mean of all over the step, and has it when the telling one has.
  double average(int32_t row) const { return at(average_, row); }
  /// The first rank of the replica with most work, by its index in the stage; 0 of even documents.
  int64_t slowest_rank() const { return of_documents() ? work_->sequences.slowest * stride_ : 0; }
  /// Whether a collective is as long as on the fullest of all ranks: its group holds several that
  /// are told apart.
  bool is_shared(workload::GroupKind kind) const { return shared_[static_cast<size_t>(kind)]; }

 private:
  static double at(const std::vector<double>& values, int32_t row) {
    return row < 0 ? 1 : values[static_cast<size_t>(row)];
  }
  void set_experts(const spec::Job& job);
  void set_documents(const spec::Job& job);

  const workload::UnevenWork* work_;
  int64_t size_ = 1, stride_ = 1;  ///< of the ranks that are told apart: experts' or data-parallel
  std::vector<double> telling_, most_, average_;  ///< by row
  std::array<bool, workload::kGroupKindCount> shared_{};
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

/// Whether an instruction is of a micro batch that replicas on nodes of this group do not have
/// (`Parallelism::group_micro_batches`): it takes no time there. Of a replica that has fewer, the
/// last ones are left out; what replicas do together is done by all.
inline bool is_left_out(const spec::Job& job, size_t group, const plan::Instruction& it,
                        const workload::Operator& op) {
  using enum workload::GroupKind;
  const std::vector<int64_t>& batches = job.parallelism.group_micro_batches;
  if (batches.empty() || it.micro_batch < batches[group]) return false;
  return op.kind != workload::OperatorKind::kCollective || op.group == kTensor ||
         op.group == kContext || op.group == kExpertTensor || op.group == kPipeline;
}

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
