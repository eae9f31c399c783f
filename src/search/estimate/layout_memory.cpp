#include "search/estimate/layout_memory.h"

#include <algorithm>
#include <cmath>

#include "plan/memory.h"

namespace ergometer::search {
namespace {

/// Two sums of the same terms may differ in their last digits: so close to the limit the plan's own
/// sum decides.
constexpr double kSumRounding = 1e-9;

}  // namespace

Family family_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::kZero0:
    case Sharding::kZero1: return kBucketed;
    case Sharding::kZero2: return kScattering;
    case Sharding::kZero3: return kGathering;
    case Sharding::kFsdp: return kFsdpFamily;
  }
  return kBucketed;
}

Family kernels_of(Family family, bool scatters) {
  if (family != kScattering && family != kGathering) return family;
  return scatters ? kScattering : kBucketed;
}

void LayoutMemory::set_layout(const Layout& layout, const Division& division, bool scatters) {
  layout_ = layout;
  division_ = &division;
  scatters_ = scatters;
  const spec::Node& node = space_.base_of(layout).megatron.cluster.node;
  capacity_ = node.gpu.memory_bytes - node.parameters.value_or("memory_reserve", 0);
  bytes_.resize(space_.recomputations().size());
  for (auto& of_choice : bytes_) of_choice.clear();
  contents_ = {};
  holdings_.clear();
  for (auto& of_overlap : states_)
    for (States& states : of_overlap) states.ready = false;
  for (Activations& activations : activations_) activations.ready = false;
}

Contents& LayoutMemory::contents_of(const Candidate& candidate, Family kernels) {
  ContentsRow*& row = contents_[kernels];
  if (row == nullptr) row = &parts_.contents_row(candidate, parts_.job_of(candidate));
  Contents& found =
      (*row)[static_cast<size_t>(candidate.recomputation.choice)][index_of(candidate.overlap)];
  if (found.workload == nullptr)
    found.workload = &parts_.workload(candidate, parts_.job_of(candidate));
  return found;
}

const LayoutMemory::States& LayoutMemory::states_of(const Overlap& overlap,
                                                    const Recomputation& recomputation,
                                                    Sharding sharding) {
  States& found = states_[index_of(overlap)][static_cast<size_t>(sharding)];
  if (found.ready) return found;
  found.ready = true;
  const Candidate candidate{layout_, recomputation, overlap, {.sharding = sharding}};
  const workload::Workload& workload =
      *contents_of(candidate, kernels_of(family_of(sharding), scatters_)).workload;
  const spec::Job& job = parts_.job_of(candidate);
  found.always.clear();
  found.step.clear();
  found.reserve.clear();
  found.gradients.clear();
  for (const int64_t first : division_->first_stage) {
    const plan::Stage& stage = division_->stages[static_cast<size_t>(first)];
    const plan::StateMemory state = plan::state_memory(job, workload, stage);
    found.always.push_back(state.weights + state.gradients + state.optimizer +
                           plan::buffer_memory(job, workload, stage).total());
    found.step.push_back(state.step);
    found.reserve.push_back(plan::memory_reserve(job, stage));
    found.gradients.push_back(
        plan::cached_gradients(job, plan::stage_parameters(workload, stage), 0));
  }
  return found;
}

const LayoutMemory::Activations& LayoutMemory::activations_of(const Overlap& overlap,
                                                              const Recomputation& recomputation,
                                                              Sharding sharding) {
  const Family kernels = kernels_of(family_of(sharding), scatters_);
  Activations& found = activations_[kernels];
  const size_t held = index_of(overlap);
  if (found.ready && found.overlap == held && found.recomputation == recomputation) return found;
  found.ready = true;
  found.overlap = held;
  found.recomputation = recomputation;
  const Candidate candidate{layout_, recomputation, overlap, {.sharding = sharding}};
  const ChunkMemories& chunks = parts_.chunk_memories(candidate, contents_of(candidate, kernels));
  // Of stages that are alike the first holds most micro batches.
  if (holdings_.empty()) {
    const spec::Job& job = parts_.job_of(candidate);
    for (const int64_t stage : division_->first_stage)
      holdings_.push_back(
          &known_holdings_.of(job, stage, division_->chunk_kinds[static_cast<size_t>(stage)]));
  }
  found.peak.clear();
  for (const std::vector<Holding>* holdings : holdings_)
    found.peak.push_back(activation_peak(*holdings, chunks));
  found.gradient_lift = chunks.front().gradient_lift;
  return found;
}

const LayoutMemory::Most& LayoutMemory::most(const Overlap& overlap,
                                             const Recomputation& recomputation,
                                             Sharding sharding) {
  std::vector<Known>& of_choice = bytes_[static_cast<size_t>(recomputation.choice)];
  const auto depth = static_cast<size_t>(recomputation.depth);
  if (of_choice.size() <= depth) of_choice.resize(depth + 1);
  Most& most = of_choice[depth][index_of(overlap)][static_cast<size_t>(sharding)];
  if (most.needed > 0) return most;
  const States& states = states_of(overlap, recomputation, sharding);
  const Activations& active = activations_of(overlap, recomputation, sharding);
  const std::vector<double>& peak = active.peak;
  for (size_t kind = 0; kind < peak.size(); ++kind) {
    const double holes = states.reserve[kind].bytes(peak[kind]);
    const double cached = states.gradients[kind] - active.gradient_lift;
    const double needed =
        states.always[kind] + std::max(states.step[kind], peak[kind] + holes) + cached;
    if (needed > most.needed)
      most = {states.always[kind] + std::max(states.step[kind], peak[kind]), needed};
  }
  return most;
}

double LayoutMemory::bytes(const Overlap& overlap, const Recomputation& recomputation,
                           Sharding sharding) {
  return most(overlap, recomputation, sharding).bytes;
}

double LayoutMemory::stage_bytes(size_t kind, const Overlap& overlap,
                                 const Recomputation& recomputation, Sharding sharding) {
  const States& states = states_of(overlap, recomputation, sharding);
  const std::vector<double>& peak = activations_of(overlap, recomputation, sharding).peak;
  return states.always[kind] + std::max(states.step[kind], peak[kind]);
}

bool LayoutMemory::fits(const Overlap& overlap, const Recomputation& recomputation,
                        const DataOption& data) {
  const double needed = most(overlap, recomputation, data.sharding).needed;
  if (std::abs(needed - capacity_) > kSumRounding * capacity_) return needed <= capacity_;
  const spec::Job job = space_.job({layout_, recomputation, overlap, data});
  const workload::Workload workload = workload::lower(job);
  return plan::memory(job, workload, plan::divide(job, workload)).fits;
}

}  // namespace ergometer::search
