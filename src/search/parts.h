#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "cost/cost.h"
#include "cost/energy.h"
#include "plan/memory_parts.h"
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

/// What the chunks of a candidate hold, by chunk kind of its division.
using ChunkMemories = std::vector<plan::ChunkMemory>;
/// The same for every depth of a recomputation; empty: nobody asked yet.
using DepthMemories = std::vector<ChunkMemories>;

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
  const workload::Workload& workload(const Candidate& candidate, const spec::Job& job) {
    return *shared_workload(candidate, job);
  }
  const Division& division(const Candidate& candidate, const workload::Workload& workload);
  /// Of candidates that differ in their depths alone. `workload`: theirs, as handed out.
  DepthMemories& depth_memories(const Layout& layout, const workload::Workload& workload);
  /// `known`: the candidate's.
  const ChunkMemories& chunk_memories(const Candidate& candidate,
                                      const workload::Workload& workload, DepthMemories& known);
  /// The candidate's job, until the next one is asked for.
  spec::Job& job_of(const Candidate& candidate);
  /// Forgets what is unlikely to be asked for again, where much is kept: neighbouring layouts share
  /// most. Everything handed out before is then gone.
  void trim();

 private:
  using Key = std::vector<double>;
  bool recomputes_layers(const Candidate& candidate) const;
  const std::shared_ptr<const workload::Workload>& shared_workload(const Candidate& candidate,
                                                                   const spec::Job& job);
  Key workload_key(const Candidate& candidate, const spec::Job& job) const;
  Key blocks_key(const Candidate& candidate, const spec::Job& job, const Ranks& ranks) const;

  const Space& space_;
  std::map<std::pair<int32_t, bool>, spec::Job> jobs_;  ///< by base and whether FSDP
  std::map<Key, std::unique_ptr<Ranks>> ranks_;
  std::map<Key, std::shared_ptr<const workload::Workload>> workloads_;
  std::map<Key, std::unique_ptr<BlockCosts>> blocks_;
  std::map<Key, std::vector<double>> stretches_;  ///< of blocks' operators
  std::map<Key, std::unique_ptr<Division>> divisions_;
  /// By workload and number of stages and chunks.
  std::map<std::tuple<const workload::Workload*, int64_t, int64_t>, DepthMemories> chunks_;
};

}  // namespace ergometer::search
