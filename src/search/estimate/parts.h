#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cost/cost.h"
#include "cost/energy.h"
#include "plan/memory_parts.h"
#include "search/overlap/block_costs.h"
#include "search/pipeline/division.h"
#include "search/pipeline/pipeline.h"
#include "search/space/space.h"

namespace ergometer::search {

/// The groups that blocks talk in.
inline constexpr std::array kBlockGroups = {
    workload::GroupKind::kTensor, workload::GroupKind::kContext, workload::GroupKind::kExpert,
    workload::GroupKind::kExpertTensor};

/// What candidates share that divide the ranks alike: prices and where groups lie.
struct Ranks {
  cost::CostModel model;
  std::optional<cost::EnergyModel> energy;
  Placements placements;  ///< by group kind, of the first stage
  /// By kind of link: of messages to the following stage, and of those back.
  std::vector<std::array<plan::GroupPlacement, 2>> links;
  std::vector<size_t> link_kinds;  ///< by stage, of the link to the following one
};

/// What the chunks of a candidate hold, by chunk kind of its division.
using ChunkMemories = std::vector<plan::ChunkMemory>;

/// What candidates consist of that differ in the depths of their recomputation, and in transfers
/// beside compute, which hold nothing of their own. What nobody asked for yet is empty.
struct Contents {
  const workload::Workload* workload = nullptr;
  std::vector<ChunkMemories> chunks;  ///< by depth
};
/// All overlaps that contents and blocks can tell apart.
inline constexpr size_t kOverlaps = 4;
inline size_t index_of(const Overlap& overlap) {
  return (overlap.tensor ? 2u : 0u) + (overlap.shared_expert ? 1u : 0u);
}
/// The same by choice of recomputation and overlap.
using ContentsRow = std::vector<std::array<Contents, kOverlaps>>;

/// Sub-results that many candidates share, each made when it is first asked for. One for each
/// thread.
class Parts {
 public:
  explicit Parts(const Space& space) : space_(space), jobs_(space) {}

  /// `fsdp`: with the software of FSDP.
  Result<const Ranks*> ranks(const Layout& layout, bool fsdp);
  /// `job`: of the candidate.
  BlockCosts& blocks(const Candidate& candidate, const spec::Job& job, const Ranks& ranks,
                     const LinkDemand& data);
  /// What the candidate's blocks consist of, without their costs.
  const workload::Workload& workload(const Candidate& candidate, const spec::Job& job) {
    return *shared_workload(candidate, job);
  }
  const Division& division(const Candidate& candidate, const workload::Workload& workload);
  /// Of the candidate, whatever it overlaps and recomputes.
  ContentsRow& contents_row(const Candidate& candidate, const spec::Job& job);
  /// `contents`: the candidate's.
  const ChunkMemories& chunk_memories(const Candidate& candidate, Contents& contents);
  /// The candidate's job, until the next one is asked for.
  spec::Job& job_of(const Candidate& candidate) { return jobs_.of(candidate); }
  /// Before anything of a layout is asked for: forgets what is unlikely to be asked for again,
  /// where much is kept. Everything handed out before is then gone.
  void begin(const Layout& layout);

 private:
  using Key = std::vector<double>;
  bool recomputes_layers(const Candidate& candidate) const;
  const std::shared_ptr<const workload::Workload>& shared_workload(const Candidate& candidate,
                                                                   const spec::Job& job);
  void forget_blocks();
  Key sizes_key(const Candidate& candidate, const spec::Job& job) const;
  Key workload_key(const Candidate& candidate, const spec::Job& job) const;
  Key blocks_key(const Candidate& candidate, const spec::Job& job, const Ranks& ranks) const;

  const Space& space_;
  Layout layout_;         ///< the last one that was begun
  size_t operators_ = 0;  ///< of all workloads: most of the memory
  CandidateJobs jobs_;
  std::map<Key, std::unique_ptr<Ranks>> ranks_;
  std::map<Key, std::shared_ptr<const workload::Workload>> workloads_;
  std::map<Key, std::unique_ptr<BlockCosts>> blocks_;
  std::map<Key, std::vector<double>> stretches_;  ///< of blocks' operators
  /// By base, stages, chunks, split, and of what is recomputed in full: whether, and the depth.
  std::map<std::array<int64_t, 6>, std::unique_ptr<Division>> divisions_;
  std::map<Key, ContentsRow> contents_;
};

}  // namespace ergometer::search
