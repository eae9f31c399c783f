#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cost/algorithm_play.h"
#include "cost/parameters.h"
#include "spec/collective/algorithm.h"

namespace ergometer::cost {

/// A given algorithm's time for a collective, and what it is made of (given_collectives.cpp).
struct GivenTime {
  CollectiveTime time;
  std::string name, file, protocol;
  double loops = 1, chunk_bytes = 0;  ///< of a loop
  double hops_s = 0;                  ///< one behind the other on the longest way
  double first_s = 0;                 ///< the first loop's transfers
  double further_s = 0;               ///< those of every further one
};

/// The algorithms that a job's nodes are given (`collectives_from`), and what collectives take
/// that run one of them. Safe from many threads.
class GivenCollectives {
 public:
  /// Null: none are given.
  static std::shared_ptr<const GivenCollectives> make(const spec::Job& job,
                                                      const DomainParameters& domain,
                                                      const FabricParameters& fabric);

  /// Whether a collective of this kind, size, bytes and place runs one: the first that fits.
  bool fits(const workload::Operator& op, const plan::GroupPlacement& where) const {
    return index_of(op, where).has_value();
  }
  /// Of one that fits.
  GivenTime time(const workload::Operator& op, const plan::GroupPlacement& where) const;

  std::optional<size_t> index_of(const workload::Operator& op,
                                 const plan::GroupPlacement& where) const;
  const std::vector<std::shared_ptr<const spec::Algorithm>>& algorithms() const {
    return algorithms_;
  }
  /// What a collective is asked one after the other before it runs an algorithm.
  enum class Asked : uint8_t { kTask, kEvenParts, kSize, kBytes, kPlace, kAll };
  /// The first of these that it is not; kAll: it could run it.
  Asked fits_until(size_t index, const workload::Operator& op,
                   const plan::GroupPlacement& where) const;
  /// Why a collective that fits until there does not run it, a sentence part.
  std::string why_not(size_t index, Asked until) const;

 private:
  GivenCollectives(const spec::Job& job, const DomainParameters& domain,
                   const FabricParameters& fabric);

  /// An algorithm in one place.
  struct Placed {
    double hops_s = 0;  ///< of a loop without bytes
    /// Seconds for each byte of a chunk: of the first loop without hops, of further ones, of the
    /// fullest PCIe link.
    double first = 0, period = 0, pcie = 0;
  };
  using Place = std::tuple<size_t, int, int64_t, double, double, double, double, double>;

  bool lies_as_written(const workload::Operator& op, const plan::GroupPlacement& where) const;
  double pcie_s_per_byte(const spec::Algorithm& algorithm, const workload::Operator& op,
                         const plan::GroupPlacement& where) const;
  const Placed& placed(size_t index, const workload::Operator& op,
                       const plan::GroupPlacement& where) const;
  double fixed_s(const spec::Algorithm& algorithm, const workload::Operator& op,
                 const plan::GroupPlacement& where) const;

  spec::Node node_;
  spec::FabricKind fabric_kind_;
  int64_t segment_ = 1;                  ///< GPUs of a domain that the job takes
  bool mapped_ = false;                  ///< ranks lie on GPUs as a map says
  std::vector<plan::RankGroup> groups_;  ///< by kind
  DomainParameters domain_;
  FabricParameters fabric_;
  std::vector<std::shared_ptr<const spec::Algorithm>> algorithms_;
  mutable std::mutex mutex_;
  mutable std::map<Place, Placed> placed_;
};

/// Of each algorithm that a job is given: the collectives of its step that run it by their
/// operators' names, or why none does. Of unlike nodes what each group of them is given, each once.
struct GivenUse {
  std::shared_ptr<const spec::Algorithm> algorithm;
  std::vector<std::string> operators;
  std::string why_none;
};
Result<std::vector<GivenUse>> given_uses(const spec::Job& job, const plan::Plan& plan);

/// What stands behind a collective's price; nothing: it runs none that is given.
Result<std::optional<GivenTime>> given_time(const spec::Job& job, const workload::Operator& op,
                                            const plan::GroupPlacement& where);

}  // namespace ergometer::cost
