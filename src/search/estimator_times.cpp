#include <algorithm>
#include <utility>

#include "search/block_walk.h"
#include "search/estimator.h"
#include "workload/graphs.h"

// When a pipeline's slots are done, for all data options of a family.

namespace ergometer::search {
namespace {

/// A chunk's gradients are scattered block by block; of long chunks in so many parts.
constexpr size_t kMostPieces = 4;
/// Of a slot's time: so little beside it hides nearly wholly. Twice as much would save an eighth of
/// an estimate's time and bring one job in 300 out of 2 % of the engine.
constexpr double kQuiet = 0.15;

}  // namespace

DataOption Estimator::option_of(Family family) {
  switch (family) {
    case kBucketed: return {};
    case kScattering: return {Sharding::kZero2, false, false};
    case kGathering: return {Sharding::kZero3, false, false};
    case kFsdpFamily: return {Sharding::kFsdp, true, true};
  }
  return {};
}

/// Lanes whose transfers are no more than hides beside their slots are played together, the others
/// one by one and only when asked for.
const Estimator::FamilyTimes& Estimator::times(Family family, size_t lane) {
  FamilyTimes& times = times_[family];
  if (!times.ready) {
    times.ready = true;
    times.costs.resize(division_->chunks.size());
    times.pieces.assign(division_->chunks.size(), {});
    if (layout_.pp > 1 && family == kScattering) {
      demands_.gradients = data_of(option_of(family)).by_kind.front().unit_demand;
      for (size_t stage = 0; stage < transfers_.size(); ++stage) {
        const LinkDemand& transfer = demands_.transfers[stage];
        transfers_[stage].slow_data = stretch_beside(transfer, demands_.gradients);
        transfers_[stage].slows_data = stretch_beside(demands_.gradients, transfer);
      }
    }
    bool any_quiet = false;
    for (size_t i = 0; i < recomputations_.size(); ++i) {
      set_costs(i, pass(i, family), family, times);
      any_quiet |= !times.crowded[i];
    }
    if (layout_.pp > 1 && any_quiet) play(family, times, nullptr, 0, times.ends);
  }
  if (!times.crowded[lane]) return times;
  times.crowded[lane] = false;
  play(family, times, &demands_, lane, lane_ends_);
  times.ends.by_kind.resize(lane_ends_.by_kind.size());
  for (size_t kind = 0; kind < lane_ends_.by_kind.size(); ++kind)
    times.ends.by_kind[kind][lane] = lane_ends_.by_kind[kind][lane];
  return times;
}

void Estimator::play(Family family, const FamilyTimes& times, const PipelineDemands* sharing,
                     size_t lane, PipelineEnds& ends) {
  const PipelineShape shape{.stages = layout_.pp,
                            .chunks = layout_.vpp,
                            .micro_batches = micro_batches_,
                            .schedule = layout_.schedule,
                            .overlap = overlap_.pipeline,
                            .sync = job_.training.batch_p2p_sync && !overlap_.pipeline};
  pipelines_.find(job_, shape, *division_, times.costs, transfers_, family == kScattering, sharing,
                  lane, ends);
}

/// Whether transfers that go beside the slots of a pipeline are more than hides there.
bool Estimator::is_crowded(const Pass& of_pass) const {
  const double transfers_s = overlap_.pipeline ? 4 * transfers_.front().send_s : 0;
  for (const ChunkPass& chunk : of_pass.chunks)
    if (transfers_s > kQuiet * (chunk.forward.tt + chunk.backward.tt)) return true;
  return false;
}

/// The units of every chunk kind; empty where there are none.
Estimator::ChunkUnits Estimator::units_of(Family family) {
  ChunkUnits found;
  found.units.resize(division_->chunks.size());
  if (family == kBucketed) return found;
  const SavedData& data = data_of(option_of(family));
  for (size_t kind = 0; kind < data.by_kind.size(); ++kind) {
    const auto stage = static_cast<size_t>(division_->first_stage[kind]);
    for (size_t c = 0; c < data.by_kind[kind].units.size(); ++c) {
      const auto chunk = static_cast<size_t>(division_->chunk_kinds[stage][c]);
      found.units[chunk] = data.by_kind[kind].units[c];
    }
  }
  return found;
}

/// One stage whose parameters are gathered and gradients scattered block by block: what they add to
/// a chunk's slots, and what is left behind the last one.
void Estimator::walk_units(size_t lane, const Pass& of_pass, Family family, FamilyTimes& times,
                           ChunkUnits& found) {
  const DataCosts& data = data_of(option_of(family)).by_kind.front();
  found.more_forward_s.assign(found.units.size(), 0);
  found.more_backward_s.assign(found.units.size(), 0);
  const std::vector<int>& chunks = division_->chunk_kinds.front();
  DataLane busy;
  double left_s[2] = {};
  // The second micro batch finds the lane as all later ones do.
  for (double& left : left_s) {
    const bool forwards = &left == left_s || layout_.schedule != spec::Schedule::kGpipe;
    for (size_t c = 0; forwards && c < chunks.size(); ++c) {
      const auto chunk = static_cast<size_t>(chunks[c]);
      const double begin_s = busy.now_s();
      forward_along(*of_pass.blocks, of_pass.division->chunks[chunk], data.units[c], busy);
      found.more_forward_s[chunk] =
          std::max(0.0, busy.now_s() - begin_s - of_pass.chunks[chunk].forward.tt);
    }
    for (size_t c = chunks.size(); c-- > 0;) {
      const auto chunk = static_cast<size_t>(chunks[c]);
      const double begin_s = busy.now_s();
      backward_along(*of_pass.blocks, of_pass.division->chunks[chunk], data.units[c], busy);
      found.more_backward_s[chunk] =
          std::max(0.0, busy.now_s() - begin_s - of_pass.chunks[chunk].backward.tt);
    }
    left = busy.left_s();
  }
  // What a micro batch cannot send beside its kernels waits behind the last one.
  times.left_s[lane][0] =
      left_s[1] + data.replica_sums_s +
      static_cast<double>(std::max<int64_t>(0, micro_batches_ - 2)) * (left_s[1] - left_s[0]);
}

/// What every slot of a lane costs.
void Estimator::set_costs(size_t lane, const Pass& of_pass, Family family, FamilyTimes& times) {
  times.left_s[lane].assign(static_cast<size_t>(division_->kinds()), 0);
  ChunkUnits units = units_of(family);
  const bool pipelined = layout_.pp > 1;
  times.crowded[lane] = pipelined && is_crowded(of_pass);
  if (!pipelined && family != kBucketed) walk_units(lane, of_pass, family, times, units);
  for (size_t kind = 0; kind < of_pass.chunks.size(); ++kind) {
    const ChunkPass& chunk = of_pass.chunks[kind];
    ChunkCosts& costs = times.costs[kind];
    if (pipelined) set_beside(lane, of_pass, kind, costs);
    MaxPlus forward = chunk.forward, backward = chunk.backward;
    MaxPlus input_grad = chunk.input_grad, weight_grad = chunk.weight_grad;
    if (!units.more_forward_s.empty()) {
      forward = lengthened(forward, units.more_forward_s[kind]);
      backward = lengthened(backward, units.more_backward_s[kind]);
    }
    if (pipelined && family == kScattering)
      set_scattered(lane, of_pass, kind, units.units[kind], times);
    if (pipelined && overlap_.pipeline && !times.crowded[lane]) {
      // For each slot one message in and one out, beside which it is slower.
      const double more_s =
          2 * transfers_.front().send_s * chunk.slows_transfer * (1 - 1 / chunk.slow_transfer);
      for (MaxPlus* slot : {&forward, &backward, &input_grad}) *slot = lengthened(*slot, more_s);
    }
    MaxPlus paired_forward = forward, paired_backward = backward;
    if (overlap_.expert) pair_up(of_pass, kind, units.units[kind], paired_forward, paired_backward);
    const auto set = [&](Slot slot, const MaxPlus& cost) {
      costs[static_cast<size_t>(slot)].set(static_cast<int>(lane), cost);
    };
    set(Slot::kForward, forward);
    set(Slot::kBackward, backward);
    set(Slot::kInputGrad, input_grad);
    set(Slot::kWeightGrad, weight_grad);
    set(Slot::kPairedForward, paired_forward);
    set(Slot::kPairedBackward, paired_backward);
    if (pipelined) continue;
    // One stage: the step is a plain row of slots.
    MaxPlus step = repeat(then(paired_backward, paired_forward), micro_batches_ - 1);
    step = then(then(forward, step), backward);
    double t = 0, h = 0;
    step.apply(t, h);
    times.ends.by_kind.resize(1);
    times.ends.by_kind[0][lane] = t;
  }
}

/// What slots do to the collectives beside them, and those to the slots.
void Estimator::set_beside(size_t lane, const Pass& of_pass, size_t kind, ChunkCosts& costs) const {
  double alone_s[2] = {}, slow_s[2] = {}, slows_s[2] = {};
  for (const int block : of_pass.division->chunks[kind].blocks) {
    const BlockCost& cost = of_pass.blocks->blocks[static_cast<size_t>(block)];
    const PassCost* passes[2] = {&cost.forward, &cost.backward};
    for (int i = 0; i < 2; ++i) {
      alone_s[i] += passes[i]->time.tt;
      slow_s[i] += passes[i]->time.tt * passes[i]->slow_data;
      slows_s[i] += passes[i]->time.tt * passes[i]->slows_data;
    }
  }
  const ChunkPass& chunk = of_pass.chunks[kind];
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const auto which = static_cast<Slot>(slot);
    const int i = which == Slot::kForward || which == Slot::kPairedForward ? 0 : 1;
    BatchCost& cost = costs[slot];
    cost.pieces = {};
    cost.slow_transfer[lane] = overlap_.pipeline ? chunk.slow_transfer : 1;
    cost.slows_transfer[lane] = overlap_.pipeline ? chunk.slows_transfer : 1;
    cost.set_beside_data(static_cast<int>(lane), alone_s[i] > 0 ? slow_s[i] / alone_s[i] : 1,
                         alone_s[i] > 0 ? slows_s[i] / alone_s[i] : 1);
  }
}

/// What a chunk's backward scatters while a pipeline is played.
void Estimator::set_scattered(size_t lane, const Pass& of_pass, size_t kind,
                              std::span<const DataCosts::Unit> units, FamilyTimes& times) {
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const bool apart = layout_.schedule == spec::Schedule::kZbH1;
  ChunkCosts& costs = times.costs[kind];
  std::vector<Piece>& pieces = times.pieces[kind];
  double all_s = 0;
  size_t count = 0;
  const auto piece = [&]() -> Piece& {
    if (count == pieces.size()) pieces.emplace_back();
    return pieces[count];
  };
  double share_s = 0, sent_s = 0;
  backwards(*of_pass.blocks, chunk, [&](size_t i, bool recomputed) {
    const BlockCost& cost = of_pass.blocks->blocks[static_cast<size_t>(chunk.blocks[i])];
    const double block_s = apart
                               ? cost.weight_grad.time.tt
                               : cost.backward.time.tt + (recomputed ? cost.recompute.time.tt : 0);
    all_s += block_s;
    share_s += block_s;
    sent_s += units[i].scatter_s;
    // What the last two blocks send is what most often shows.
    if (i > 1 && i % (chunk.blocks.size() / kMostPieces + 1) != 0) return;
    piece().share[lane] = std::exchange(share_s, 0);
    piece().sent_s[lane] = std::exchange(sent_s, 0);
    ++count;
  });
  for (Piece& each : pieces) each.share[lane] /= std::max(all_s, 1e-12);
  costs[static_cast<size_t>(apart ? Slot::kWeightGrad : Slot::kBackward)].pieces = pieces;
  if (!apart) costs[static_cast<size_t>(Slot::kPairedBackward)].pieces = pieces;
}

/// Two slots that take turns: exchanges between experts go on a stream of their own, and every
/// backward's end waits for what was issued there. Of one stage sharded parameters go beside both;
/// what a pipeline scatters is part of its play.
void Estimator::pair_up(const Pass& of_pass, size_t kind, std::span<const DataCosts::Unit> units,
                        MaxPlus& forward, MaxPlus& backward) const {
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const BlockCosts& blocks = *of_pass.blocks;
  const bool one_stage = layout_.pp == 1;
  if (!one_stage) units = {};
  const TwoLanes::Beside exchange{stretch_beside(blocks.exchange, data_demand_),
                                  stretch_beside(data_demand_, blocks.exchange)};
  TwoLanes lanes({exchange.slows, exchange.slow});
  double took_s[2] = {};  // forward, backward
  // The second time is as all later ones.
  for (int round = 0; round < 2; ++round) {
    const double begin_s = lanes.now_s();
    paired_backward_along(blocks, chunk, units, exchange, lanes);
    const double between_s = lanes.now_s();
    paired_forward_along(blocks, chunk, units, exchange, lanes);
    took_s[0] = lanes.now_s() - between_s;
    took_s[1] = between_s - begin_s;
  }
  MaxPlus times[2];
  const auto add = [&](int i, const PassCost& cost) {
    times[i] = then(times[i], cost.paired.empty() ? cost.time : cost.paired_time);
  };
  for (const int block : chunk.blocks) add(0, blocks.blocks[static_cast<size_t>(block)].forward);
  backwards(blocks, chunk, [&](size_t i, bool recomputed) {
    const BlockCost& cost = blocks.blocks[static_cast<size_t>(chunk.blocks[i])];
    if (recomputed) add(1, cost.recompute);
    add(1, cost.backward);
  });
  const ChunkPass& unpaired = of_pass.chunks[kind];
  const MaxPlus* alone[2] = {&unpaired.forward, &unpaired.backward};
  MaxPlus* slots[2] = {&forward, &backward};
  for (int i = 0; i < 2; ++i) {
    const double others_s = one_stage ? 0 : slots[i]->tt - alone[i]->tt;
    *slots[i] = lengthened(times[i], took_s[i] - times[i].tt + others_s);
  }
}

}  // namespace ergometer::search
