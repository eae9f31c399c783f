#include "search/estimate/parts.h"

#include "plan/placement_cache.h"
#include "search/estimate/pieces.h"
#include "workload/block/linear.h"

namespace ergometer::search {
namespace {

using workload::GroupKind;

double number(int64_t value) { return static_cast<double>(value); }

void add(const plan::GroupPlacement& placement, std::vector<double>& key) {
  key.insert(
      key.end(),
      {number(placement.size), number(placement.nodes), number(placement.ranks_per_node),
       placement.nic_bytes_per_s, number(placement.tiers), placement.ring_uplink,
       placement.exchange_uplink, placement.tree_uplink, placement.ring_hop_s, placement.tree_hop_s,
       placement.exchange_hop_s, placement.ring_crosses_rails, placement.exchange_crosses_rails});
}

/// Links that the cache has as one are of a kind.
void find_links(int64_t stages, plan::PlacementCache& cache, Ranks& ranks) {
  std::map<std::array<const plan::GroupPlacement*, 2>, size_t> kinds;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const int64_t next = (stage + 1) % stages;
    const plan::GroupPlacement& forth = cache.pipeline(stage, next);
    const plan::GroupPlacement& back = cache.pipeline(next, stage);
    const auto [kind, is_new] = kinds.try_emplace({&forth, &back}, ranks.links.size());
    if (is_new) ranks.links.push_back({forth, back});
    ranks.link_kinds.push_back(kind->second);
  }
}

}  // namespace

Result<const Ranks*> Parts::ranks(const Layout& layout, bool fsdp) {
  const Key key = {number(layout.base), number(layout.tp),  number(layout.cp), number(layout.pp),
                   number(layout.ep),   number(layout.etp), number(fsdp)};
  std::unique_ptr<Ranks>& found = ranks_[key];
  if (found) return found.get();
  Candidate candidate;
  candidate.layout = layout;
  if (fsdp) candidate.data.sharding = Sharding::kFsdp;
  const spec::Job job = space_.job(candidate);
  ERGOMETER_ASSIGN(cost::CostModel model, cost::CostModel::make(job));
  auto made = std::make_unique<Ranks>(Ranks{std::move(model), {}, {}, {}, {}});
  if (auto energy = cost::EnergyModel::make(job)) made->energy = *energy;
  plan::PlacementCache cache(job);
  for (int kind = 0; kind < workload::kGroupKindCount; ++kind) {
    const auto group = static_cast<GroupKind>(kind);
    // Groups of one rank lie nowhere in particular; pipeline neighbours are `links`.
    const bool experts = job.model.experts.count > 0;
    const bool unused = group == GroupKind::kPipeline || group == GroupKind::kStages ||
                        plan::rank_group(job, group).size == 1 ||
                        (group == GroupKind::kExpertData && !experts) ||
                        (group == GroupKind::kEmbedding && layout.pp == 1);
    made->placements.push_back(unused ? plan::GroupPlacement{} : cache.of(group, 0));
  }
  find_links(layout.pp, cache, *made);
  found = std::move(made);
  return found.get();
}

void Parts::begin(const Layout& layout) {
  constexpr size_t kMostRanks = 256, kMostDivisions = 1024;
  // A piece of work has all layouts of the same blocks; who has none takes them in any order.
  constexpr size_t kManyOperators = 100'000, kMostOperators = 1'000'000;
  if (ranks_.size() > kMostRanks) ranks_.clear();
  if (divisions_.size() > kMostDivisions) divisions_.clear();
  const size_t most = have_same_blocks(layout, layout_) ? kMostOperators : kManyOperators;
  if (operators_ > most) forget_blocks();
  layout_ = layout;
}

void Parts::forget_blocks() {
  blocks_.clear();
  stretches_.clear();
  workloads_.clear();
  contents_.clear();  // they point to workloads
  operators_ = 0;
}

/// What the blocks of a job are made of, whatever overlaps or is recomputed.
Parts::Key Parts::sizes_key(const Candidate& candidate, const spec::Job& job) const {
  const Layout& l = candidate.layout;
  return {number(l.base),
          number(l.tp),
          number(l.cp),
          number(l.ep),
          number(l.etp),
          number(l.micro_batch),
          number(l.sequence_parallel),
          number(l.pp > 1),
          number(candidate.data.sharding == Sharding::kFsdp),
          number(workload::scatters_gradients(job))};
}

/// What the blocks of a job are made of: sizes and kernels.
Parts::Key Parts::workload_key(const Candidate& candidate, const spec::Job& job) const {
  Key key = sizes_key(candidate, job);
  key.insert(key.end(), {number(candidate.recomputation.choice),
                         number(static_cast<int64_t>(index_of(candidate.overlap)))});
  return key;
}

/// What blocks see of the job: also where their groups lie, and whether the collectives beside them
/// leave the domain.
Parts::Key Parts::blocks_key(const Candidate& candidate, const spec::Job& job,
                             const Ranks& ranks) const {
  const Layout& l = candidate.layout;
  const int64_t domain = job.cluster.domain_gpus;
  Key key = workload_key(candidate, job);
  key.insert(key.end(), {number(l.tp * l.cp * l.dp > domain), number(job.gpus > domain)});
  for (const GroupKind kind : kBlockGroups) add(ranks.placements[static_cast<size_t>(kind)], key);
  return key;
}

const std::shared_ptr<const workload::Workload>& Parts::shared_workload(const Candidate& candidate,
                                                                        const spec::Job& job) {
  auto& found = workloads_[workload_key(candidate, job)];
  if (found) return found;
  found = std::make_shared<const workload::Workload>(workload::lower(job));
  operators_ += found->operators.size();
  return found;
}

BlockCosts& Parts::blocks(const Candidate& candidate, const spec::Job& job, const Ranks& ranks,
                          const LinkDemand& data) {
  Key key = blocks_key(candidate, job, ranks);
  key.insert(key.end(), data.share.begin(), data.share.end());
  std::unique_ptr<BlockCosts>& found = blocks_[key];
  if (found) return *found;
  key.resize(key.size() - data.share.size());
  std::vector<double>& stretch = stretches_[key];
  found = std::make_unique<BlockCosts>(
      block_costs(shared_workload(candidate, job), job, ranks.model,
                  ranks.energy ? &*ranks.energy : nullptr, ranks.placements, data, stretch));
  return *found;
}

bool Parts::recomputes_layers(const Candidate& candidate) const {
  const auto choice = static_cast<size_t>(candidate.recomputation.choice);
  return space_.recomputations()[choice].granularity == spec::Recompute::kFull;
}

const Division& Parts::division(const Candidate& candidate, const workload::Workload& workload) {
  const Layout& l = candidate.layout;
  const bool full = recomputes_layers(candidate);
  std::unique_ptr<Division>& found =
      divisions_[{l.base, l.pp, l.vpp, static_cast<int64_t>(l.split), full ? 1 : 0,
                  full ? candidate.recomputation.depth : 0}];
  if (!found) found = std::make_unique<Division>(make_division(job_of(candidate), workload));
  return *found;
}

ContentsRow& Parts::contents_row(const Candidate& candidate, const spec::Job& job) {
  Key key = sizes_key(candidate, job);
  const Layout& l = candidate.layout;
  key.insert(key.end(), {number(l.pp), number(l.vpp), number(static_cast<int64_t>(l.split)),
                         plan::gradients_appear_in_backward(job) ? number(l.dp) : 0});
  ContentsRow& found = contents_[key];
  found.resize(space_.recomputations().size());
  return found;
}

const ChunkMemories& Parts::chunk_memories(const Candidate& candidate, Contents& contents) {
  const auto depth = static_cast<size_t>(candidate.recomputation.depth);
  if (contents.chunks.size() <= depth) contents.chunks.resize(depth + 1);
  ChunkMemories& found = contents.chunks[depth];
  if (!found.empty()) return found;
  const spec::Job& job = job_of(candidate);
  for (const plan::Chunk& chunk : division(candidate, *contents.workload).chunks)
    found.push_back(plan::chunk_memory(job, *contents.workload, chunk));
  return found;
}

}  // namespace ergometer::search
