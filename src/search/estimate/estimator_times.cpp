#include <algorithm>
#include <utility>

#include "search/estimate/estimator.h"
#include "search/overlap/block_walk.h"
#include "workload/block/graphs.h"

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

const Estimator::PassTimes& Estimator::play_anchor(Family family, size_t anchor) {
  FamilyTimes& times = times_[family];
  PassTimes& found = times.played[anchor];
  if (found.ready) return found;
  const Pass& of_pass = pass(static_cast<size_t>(times.anchors.points[anchor]), family);
  found.left_s.assign(static_cast<size_t>(division_->kinds()), 0);
  if (layout_.pp > 1) {
    const size_t group = anchor / kLanes;
    if (!times.groups[group].filled) play_group(family, group);
    if (!found.ready) {
      play(family, times.groups[group], &demands_, anchor % kLanes);
      keep_ends(anchor % kLanes, found);
    }
  } else if (family != kBucketed || overlap_.expert) {
    play_stage(of_pass, family, found);
  } else {
    play_row(of_pass, found);
  }
  found.ready = true;
  return found;
}

/// Anchors whose transfers are no more than hides beside their slots are played together, the
/// others one by one and only when asked for.
void Estimator::play_group(Family family, size_t number) {
  FamilyTimes& times = times_[family];
  LaneGroup& group = times.groups[number];
  group.filled = true;
  group.costs.resize(division_->chunks.size());
  group.pieces.assign(division_->chunks.size(), {});
  if (family == kScattering) meet_gradients();
  const size_t first = number * kLanes;
  const size_t count = std::min<size_t>(kLanes, times.anchors.points.size() - first);
  std::array<bool, kLanes> quiet{};
  for (size_t lane = 0; lane < count; ++lane) {
    const Pass& of_pass = pass(static_cast<size_t>(times.anchors.points[first + lane]), family);
    quiet[lane] = !is_crowded(of_pass);
    set_costs(lane, of_pass, family, group);
  }
  if (std::ranges::none_of(quiet, [](bool each) { return each; })) return;
  play(family, group, nullptr, 0);
  for (size_t lane = 0; lane < count; ++lane)
    if (quiet[lane]) keep_ends(lane, times.played[first + lane]);
}

/// What transfers between stages and the gradients that slots scatter do to each other.
void Estimator::meet_gradients() {
  demands_.gradients = data_of(option_of(kScattering)).by_kind.front().unit_demand;
  for (size_t stage = 0; stage < transfers_.size(); ++stage) {
    for (size_t way = 0; way < 2; ++way) {
      const LinkDemand& transfer = demands_.transfers[stage][way];
      TransferCost::Message& message = transfers_[stage].messages[way];
      message.slow_data = stretch_beside(transfer, demands_.gradients);
      message.slows_data = stretch_beside(demands_.gradients, transfer);
    }
  }
}

void Estimator::play(Family family, const LaneGroup& group, const PipelineDemands* sharing,
                     size_t lane) {
  const PipelineShape shape{.stages = layout_.pp,
                            .chunks = layout_.vpp,
                            .micro_batches = micro_batches_,
                            .schedule = layout_.schedule,
                            .overlap = overlap_.pipeline,
                            .sync = base_->training.batch_p2p_sync && !overlap_.pipeline};
  pipelines_.find(*base_, shape, *division_, group.costs, transfers_, family == kScattering,
                  sharing, lane, ends_);
}

/// Of what was played last.
void Estimator::keep_ends(size_t lane, PassTimes& times) const {
  times.ready = true;
  times.ends_s.clear();
  for (const Batch& of_kind : ends_.by_kind) times.ends_s.push_back(of_kind[lane]);
  times.left_s.assign(times.ends_s.size(), 0);
}

/// One stage with nothing beside its slots.
void Estimator::play_row(const Pass& of_pass, PassTimes& times) const {
  const ChunkPass& chunk = of_pass.chunks.front();
  MaxPlus step = repeat(then(chunk.backward, chunk.forward), micro_batches_ - 1);
  step = then(then(chunk.forward, step), chunk.backward);
  double t = 0, h = 0;
  step.apply(t, h);
  times.ends_s.assign(1, t);
  times.left_s.assign(1, 0);
}

/// Whether transfers that go beside the slots of a pipeline are more than hides there.
bool Estimator::is_crowded(const Pass& of_pass) const {
  const double transfers_s = overlap_.pipeline ? 2 * transfers_.front().both_s() : 0;
  for (const ChunkPass& chunk : of_pass.chunks)
    if (transfers_s > kQuiet * (chunk.forward.tt + chunk.backward.tt)) return true;
  return false;
}

/// The units of every chunk kind; empty where there are none.
std::vector<std::span<const DataCosts::Unit>> Estimator::units_of(Family family) {
  std::vector<std::span<const DataCosts::Unit>> found(division_->chunks.size());
  if (family == kBucketed) return found;
  const SavedData& data = data_of(option_of(family));
  for (size_t kind = 0; kind < data.by_kind.size(); ++kind) {
    const auto stage = static_cast<size_t>(division_->first_stage[kind]);
    for (size_t c = 0; c < data.by_kind[kind].units.size(); ++c) {
      const auto chunk = static_cast<size_t>(division_->chunk_kinds[stage][c]);
      found[chunk] = data.by_kind[kind].units[c];
    }
  }
  return found;
}

/// One stage with something beside its slots: parameters gathered and gradients scattered block by
/// block, or exchanges between experts. A row of slots, and what is left to be sent behind it.
void Estimator::play_stage(const Pass& of_pass, Family family, PassTimes& times) {
  /// Slots in turns, of which all later ones are as the last.
  constexpr int64_t kFew = 3;
  const auto kind = static_cast<size_t>(division_->chunk_kinds.front().front());
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const BlockCosts& blocks = *of_pass.blocks;
  std::span<const DataCosts::Unit> units;
  double sums_s = 0;
  if (family != kBucketed) {
    const DataCosts& data = data_of(option_of(family)).by_kind.front();
    units = data.units.front();
    sums_s = data.last_sums_s;
  }
  const auto play_row = [&](auto& lanes, auto forward, auto backward) {
    forward(false);
    double before_s = 0, before_left_s = 0;
    const int64_t turns = std::min(micro_batches_ - 1, kFew);
    for (int64_t i = 0; i < turns; ++i) {
      before_s = lanes.now_s();
      before_left_s = lanes.left_s();
      backward(true);
      forward(true);
    }
    const auto more = static_cast<double>(micro_batches_ - 1 - turns);
    const double turn_s = lanes.now_s() - before_s, grown_s = lanes.left_s() - before_left_s;
    backward(false);
    times.ends_s.assign(1, lanes.now_s() + more * turn_s);
    times.left_s.assign(1, lanes.left_s() + more * grown_s + sums_s);
  };
  if (overlap_.expert) {
    Turns turns{.exchange = exchange_beside(blocks)};
    TwoLanes lanes({turns.exchange.slows, turns.exchange.slow});
    const auto forward = [&](bool paired) {
      turns.paired = paired;
      forward_along(blocks, chunk, units, turns, lanes);
    };
    const auto backward = [&](bool paired) {
      turns.paired = paired;
      backward_along(blocks, chunk, units, turns, lanes);
    };
    return play_row(lanes, forward, backward);
  }
  DataLane lanes;
  play_row(
      lanes, [&](bool) { forward_along(blocks, chunk, units, lanes); },
      [&](bool) { backward_along(blocks, chunk, units, lanes); });
}

/// What every slot of a lane costs.
void Estimator::set_costs(size_t lane, const Pass& of_pass, Family family, LaneGroup& group) {
  const auto units = units_of(family);
  const bool hides = overlap_.pipeline && !is_crowded(of_pass);
  for (size_t kind = 0; kind < of_pass.chunks.size(); ++kind) {
    const ChunkPass& chunk = of_pass.chunks[kind];
    ChunkCosts& costs = group.costs[kind];
    set_beside(lane, of_pass, kind, costs);
    MaxPlus forward = chunk.forward, backward = chunk.backward;
    MaxPlus input_grad = chunk.input_grad, weight_grad = chunk.weight_grad;
    if (family == kScattering) set_scattered(lane, of_pass, kind, units[kind], group);
    if (hides) {
      // For each slot one message in and one out, beside which it is slower.
      const double more_s =
          transfers_.front().both_s() * chunk.slows_transfer * (1 - 1 / chunk.slow_transfer);
      for (MaxPlus* slot : {&forward, &backward, &input_grad}) *slot = lengthened(*slot, more_s);
    }
    MaxPlus paired_forward = forward, paired_backward = backward;
    if (overlap_.expert) pair_up(of_pass, kind, paired_forward, paired_backward);
    double launches_s = 0;
    for (const DataCosts::Unit& unit : units[kind]) launches_s += unit.scatter_host_s;
    MaxPlus& lasts = layout_.schedule == spec::Schedule::kZbH1 ? weight_grad : backward;
    for (MaxPlus* slot : {&lasts, &paired_backward}) *slot = lengthened(*slot, 0, launches_s);
    const auto set = [&](Slot slot, const MaxPlus& cost) {
      costs[static_cast<size_t>(slot)].set(static_cast<int>(lane), cost);
    };
    set(Slot::kForward, forward);
    set(Slot::kBackward, backward);
    set(Slot::kInputGrad, input_grad);
    set(Slot::kWeightGrad, weight_grad);
    set(Slot::kPairedForward, paired_forward);
    set(Slot::kPairedBackward, paired_backward);
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
                              std::span<const DataCosts::Unit> units, LaneGroup& group) {
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const bool apart = layout_.schedule == spec::Schedule::kZbH1;
  ChunkCosts& costs = group.costs[kind];
  std::vector<Piece>& pieces = group.pieces[kind];
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

TwoLanes::Beside Estimator::exchange_beside(const BlockCosts& blocks) const {
  return {stretch_beside(blocks.exchange, data_demand_),
          stretch_beside(data_demand_, blocks.exchange)};
}

/// Two slots of a pipeline that take turns: exchanges between experts go on a stream of their own,
/// and every backward's end waits for what was issued there.
void Estimator::pair_up(const Pass& of_pass, size_t kind, MaxPlus& forward,
                        MaxPlus& backward) const {
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const BlockCosts& blocks = *of_pass.blocks;
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
  const Turns turns{.exchange = exchange_beside(blocks)};
  TwoLanes lanes({turns.exchange.slows, turns.exchange.slow}, MaxPlus::kNever);
  double more_s[2] = {};  // forward, backward
  // The second time is as all later ones.
  for (int round = 0; round < 2; ++round) {
    const double alone_backward_s = lanes.alone_until_s(times[1]);
    backward_along(blocks, chunk, {}, turns, lanes);
    more_s[1] = lanes.now_s() - alone_backward_s;
    const double alone_forward_s = lanes.alone_until_s(times[0]);
    forward_along(blocks, chunk, {}, turns, lanes);
    more_s[0] = lanes.now_s() - alone_forward_s;
  }
  const ChunkPass& unpaired = of_pass.chunks[kind];
  const MaxPlus* alone[2] = {&unpaired.forward, &unpaired.backward};
  MaxPlus* slots[2] = {&forward, &backward};
  for (int i = 0; i < 2; ++i)
    *slots[i] = lengthened(times[i], more_s[i] + slots[i]->tt - alone[i]->tt);
}

}  // namespace ergometer::search
