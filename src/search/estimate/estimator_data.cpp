#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/data_parallel.h"
#include "search/estimate/estimator.h"
#include "search/overlap/block_walk.h"

// Buckets of gradients and parameters beside the first forwards and the last backwards.

namespace ergometer::search {
namespace {

size_t kind_of_reduction(const DataOption& data) {
  return data.sharding == Sharding::kZero0 ? 0 : 1;
}

}  // namespace

/// What scattering the gradients of the largest block asks of the links. In sixteenths, so that
/// layouts share blocks' costs.
LinkDemand Estimator::data_demand(const spec::Job& job) const {
  constexpr double kSixteenths = 16;
  const workload::Workload& workload = *workload_;
  const auto weight = [](const workload::Block& block) {
    return block.parameters.trainable_dense + block.parameters.trainable_expert;
  };
  const workload::ParameterShare* most = nullptr;
  for (const int block : workload.layer_blocks) {
    const workload::Block& layer = workload.blocks[static_cast<size_t>(block)];
    if (most == nullptr || weight(layer) > most->trainable_dense + most->trainable_expert)
      most = &layer.parameters;
  }
  LinkDemand all;
  double all_s = 0;
  const auto add = [&](workload::GroupKind group, double elements) {
    const plan::GroupPlacement& where = ranks_->placements[static_cast<size_t>(group)];
    if (elements <= 0 || where.size <= 1) return;
    const workload::Operator op =
        plan::data_collective("gradients", workload::CollectiveKind::kReduceScatter, group,
                              elements, plan::gradient_bytes(base_->training));
    const double seconds = ranks_->model.price(op, where).seconds();
    const LinkDemand demand = link_demand(job, op, where, seconds);
    for (size_t link = 0; link < all.share.size(); ++link)
      all.share[link] += seconds * demand.share[link];
    all_s += seconds;
  };
  if (most != nullptr) {
    add(workload::GroupKind::kData, most->trainable_dense);
    add(workload::GroupKind::kExpertData, most->trainable_expert);
  }
  for (double& share : all.share)
    share = all_s > 0 ? std::round(kSixteenths * share / all_s) / kSixteenths : 0;
  return all;
}

/// What gathering parameters bucket by bucket adds to the step. The first micro batch passes all
/// stages one after the other, and each begins to gather when it arrives; interleaving gathers
/// whole chunks on all stages at the start, so that only the first stage waits.
double Estimator::gather_delay_s(const Pass& of_pass, const SavedData& data) {
  // What is recomputed seldom changes a forward.
  bool known = gather_delay_s_ >= 0;
  const std::vector<BlockCost>& blocks = of_pass.blocks->blocks;
  constexpr size_t kValues = 6;
  gathered_beside_.resize(kValues * blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    const PassCost& forward = blocks[b].forward;
    const MaxPlus& time = forward.time;
    const double now[kValues] = {time.tt, time.th,           time.ht,
                                 time.hh, forward.slow_data, forward.slows_data};
    for (size_t i = 0; i < kValues; ++i)
      known &= std::exchange(gathered_beside_[kValues * b + i], now[i]) == now[i];
  }
  if (known) return gather_delay_s_;
  const bool aligned = layout_.pp > 1 && layout_.vpp > 1;
  double delay_s = 0;
  for (size_t s = 0; s < (aligned ? 1 : division_->stages.size()); ++s) {
    const auto& buckets = data.by_kind[static_cast<size_t>(division_->stage_kinds[s])].buckets;
    const std::vector<int>& chunks = division_->chunk_kinds[s];
    DataLane lane;
    double alone_s = 0, host_s = 0;
    const auto issue_all = [&](size_t c) {
      if (c < buckets.size())
        for (const DataCosts::Bucket& bucket : buckets[c]) lane.issue(bucket.gather_s);
    };
    if (aligned) issue_all(0), issue_all(1);
    for (size_t c = 0; c < chunks.size(); ++c) {
      const auto kind = static_cast<size_t>(chunks[c]);
      if (aligned && c > 0) issue_all(c + 1);
      gather_along(*of_pass.blocks, of_pass.division->chunks[kind], buckets[c], aligned, lane);
      const MaxPlus& forward = of_pass.chunks[kind].forward;
      const auto more = static_cast<long>(aligned ? std::min(layout_.pp, micro_batches_) - 1 : 0);
      const MaxPlus between = repeat(forward, more);
      lane.run(between, between, collective_slowdown_);
      repeat(forward, more + 1).apply(alone_s, host_s);
    }
    delay_s += std::max(0.0, lane.now_s() - alone_s);
  }
  return gather_delay_s_ = delay_s;
}

/// Of a pass, from the line between the two anchors around it, whose times are known.
const Estimator::Reduced& Estimator::reduced(size_t pass, const SavedData& data) {
  FamilyTimes& times = times_[kBucketed];
  const Anchors::Place place = times.anchors.places[pass];
  const Reduced& first = reduced_at(static_cast<size_t>(place.first), data);
  if (place.share == 0) return first;
  const Reduced& second = reduced_at(static_cast<size_t>(place.second), data);
  Reduced& between = times.between.reduced[kind_of_reduction(data.option)];
  set_between(first.slow_s, second.slow_s, place.share, between.slow_s);
  set_between(first.left_s, second.left_s, place.share, between.left_s);
  return between;
}

const Estimator::Reduced& Estimator::reduced_at(size_t anchor, const SavedData& data) {
  FamilyTimes& times = times_[kBucketed];
  Reduced& found = times.played[anchor].reduced[kind_of_reduction(data.option)];
  if (found.ready) return found;
  found.ready = true;
  found.slow_s.clear();
  found.left_s.clear();
  const Pass& of_pass = pass(static_cast<size_t>(times.anchors.points[anchor]), kBucketed);
  for (size_t kind = 0; kind < data.by_kind.size(); ++kind) {
    const auto stage = static_cast<size_t>(division_->first_stage[kind]);
    const std::vector<int>& chunks = division_->chunk_kinds[stage];
    DataLane lane;
    double alone_s = 0, host_s = 0;
    for (size_t c = chunks.size(); c-- > 0;) {
      const auto chunk_kind = static_cast<size_t>(chunks[c]);
      const ChunkPass& alone = of_pass.chunks[chunk_kind];
      const MaxPlus& backward = weights_apart() ? alone.weight_grad : alone.backward;
      // Between the last backwards of two chunks lie the other micro batches of the group.
      if (c + 1 < chunks.size()) {
        const MaxPlus between =
            repeat(backward, static_cast<long>(std::min(layout_.pp, micro_batches_) - 1));
        lane.run(between, between, collective_slowdown_);
        between.apply(alone_s, host_s);
      }
      reduce_along(*of_pass.blocks, of_pass.division->chunks[chunk_kind],
                   data.by_kind[kind].buckets[c], weights_apart(), lane);
      backward.apply(alone_s, host_s);
    }
    found.slow_s.push_back(std::max(0.0, lane.now_s() - alone_s));
    found.left_s.push_back(lane.left_s());
  }
  return found;
}

}  // namespace ergometer::search
