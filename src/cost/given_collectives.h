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
#include "cost/given_choice.h"
#include "cost/parameters.h"

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
class GivenCollectives : public GivenChoice {
 public:
  /// Null: none are given.
  static std::shared_ptr<const GivenCollectives> make(const spec::Job& job,
                                                      const DomainParameters& domain,
                                                      const FabricParameters& fabric);

  /// Of one that fits.
  GivenTime time(const workload::Operator& op, const plan::GroupPlacement& where) const;

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

  double pcie_s_per_byte(const spec::Algorithm& algorithm, const workload::Operator& op,
                         const plan::GroupPlacement& where) const;
  const Placed& placed(size_t index, const workload::Operator& op,
                       const plan::GroupPlacement& where) const;
  double fixed_s(const spec::Algorithm& algorithm, const workload::Operator& op,
                 const plan::GroupPlacement& where) const;

  DomainParameters domain_;
  FabricParameters fabric_;
  mutable std::mutex mutex_;
  mutable std::map<Place, Placed> placed_;
};

/// What stands behind a collective's price; nothing: it runs none that is given.
Result<std::optional<GivenTime>> given_time(const spec::Job& job, const workload::Operator& op,
                                            const plan::GroupPlacement& where);

}  // namespace ergometer::cost
