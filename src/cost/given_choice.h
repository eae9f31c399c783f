#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "spec/collective/algorithm.h"

namespace ergometer::cost {

/// Chunks that a thread block sends in a loop.
struct Sending {
  int from = 0, to = 0, channel = 0;
  double chunks = 0;
};
std::vector<Sending> sendings(const spec::Algorithm& algorithm);

/// Which of the algorithms that a job's nodes are given (`collectives_from`) a collective runs, and
/// the bytes that this moves (given_choice.cpp).
class GivenChoice {
 public:
  GivenChoice() = default;  ///< none are given
  explicit GivenChoice(const spec::Job& job);

  const std::vector<std::shared_ptr<const spec::Algorithm>>& algorithms() const {
    return algorithms_;
  }
  /// That of a collective of this kind, size, bytes and place: the first that fits.
  std::optional<size_t> index_of(const workload::Operator& op,
                                 const plan::GroupPlacement& where) const;
  bool fits(const workload::Operator& op, const plan::GroupPlacement& where) const {
    return index_of(op, where).has_value();
  }
  /// What a collective is asked one after the other before it runs an algorithm.
  enum class Asked : uint8_t { kTask, kEvenParts, kSize, kBytes, kPlace, kAll };
  /// The first of these that it is not; kAll: it could run it.
  Asked fits_until(size_t index, const workload::Operator& op,
                   const plan::GroupPlacement& where) const;
  /// Why a collective that fits until there does not run it, a sentence part.
  std::string why_not(size_t index, Asked until) const;

  /// What one rank sends: what the file says, of a collective that runs none `cost::traffic`.
  Traffic traffic(const workload::Operator& op, const plan::GroupPlacement& where) const;
  /// Bytes of HBM traffic of what a rank copies and adds up within its GPU, beside what goes with
  /// sending and receiving; none of a collective that runs no file.
  double local_memory_bytes(const workload::Operator& op, const plan::GroupPlacement& where) const;

 protected:
  bool lies_as_written(const workload::Operator& op, const plan::GroupPlacement& where) const;

  spec::Node node_;
  spec::FabricKind fabric_kind_{};
  int64_t segment_ = 1;                  ///< GPUs of a domain that the job takes
  bool mapped_ = false;                  ///< ranks lie on GPUs as a map says
  std::vector<plan::RankGroup> groups_;  ///< by kind
  std::vector<std::shared_ptr<const spec::Algorithm>> algorithms_;
};

/// What one rank of a role sends by an operator of a plan. On unlike nodes as those are given whose
/// prices the role has (`CostTable::slowest_group`). Plan and groups must outlive it.
class PlanTraffic {
 public:
  PlanTraffic(const spec::Job& job, const plan::Plan& plan,
              std::span<const size_t> slowest_group = {});
  Traffic of(size_t role, size_t op) const;

 private:
  const plan::Plan& plan_;
  std::span<const size_t> slowest_group_;
  std::vector<GivenChoice> choices_;  ///< by group of nodes
};

/// Of each algorithm that a job is given: the collectives of its step that run it by their
/// operators' names, or why none does. Of unlike nodes what each group of them is given, each once.
struct GivenUse {
  std::shared_ptr<const spec::Algorithm> algorithm;
  std::vector<std::string> operators;
  std::string why_none;
};
std::vector<GivenUse> given_uses(const spec::Job& job, const plan::Plan& plan);

}  // namespace ergometer::cost
