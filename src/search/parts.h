#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cost/cost.h"
#include "cost/energy.h"
#include "search/block_costs.h"
#include "search/division.h"
#include "search/pipeline.h"
#include "search/space.h"

namespace ergometer::search {

/// What candidates share that divide the ranks alike: prices and where groups lie.
struct Ranks {
  cost::CostModel model;
  std::optional<cost::EnergyModel> energy;
  Placements placements;                    ///< by group kind, of the first stage
  std::vector<plan::GroupPlacement> links;  ///< by stage: to the following one
};

/// Sub-results that many candidates share, each made when it is first asked for. One for each
/// thread.
class Parts {
 public:
  explicit Parts(const Space& space) : space_(space) {}

  /// `fsdp`: with the software of FSDP.
  base::Result<const Ranks*> ranks(const Layout& layout, bool fsdp);
  /// `job`: of the candidate.
  const BlockCosts& blocks(const Candidate& candidate, const spec::Job& job, const Ranks& ranks,
                           const LinkDemand& data);
  /// What the candidate's blocks consist of, without their costs.
  const workload::Workload& workload(const Candidate& candidate, const spec::Job& job,
                                     const Ranks& ranks);
  const Division& division(const Candidate& candidate, const workload::Workload& workload);
  /// Forgets what is unlikely to be asked for again, where much is kept: neighbouring layouts share
  /// most. Everything handed out before is then gone.
  void trim();

 private:
  using Key = std::vector<double>;
  Key blocks_key(const Candidate& candidate, const spec::Job& job, const Ranks& ranks) const;

  const Space& space_;
  std::map<Key, std::unique_ptr<Ranks>> ranks_;
  std::map<Key, std::unique_ptr<workload::Workload>> workloads_;
  std::map<Key, std::unique_ptr<BlockCosts>> blocks_;
  std::map<Key, std::vector<double>> stretches_;  ///< of blocks' operators
  std::map<Key, std::unique_ptr<Division>> divisions_;
};

}  // namespace ergometer::search
