#include "search/pipeline/pipeline_time.h"

#include <algorithm>

namespace ergometer::search {
namespace {

/// Stages and chunks of the short pipelines that stand for longer ones: the first, the last and, of
/// stages, one between them.
constexpr int64_t kShort = 3;
constexpr int64_t kFewChunks = 2;
/// So many of them are played as fast as they are stood for.
constexpr int64_t kChunksAsFast = 4;

/// Micro batches between two that meet the schedule alike.
int64_t group(const PipelineShape& shape) { return shape.chunks > 1 ? shape.stages : 1; }

/// So many that warm-up and cool-down of all stages are over.
int64_t enough_micro_batches(const PipelineShape& shape) { return 2 * shape.stages; }

/// Whether all transfers between stages cost the same.
bool alike_inside(std::span<const TransferCost> next) {
  for (size_t stage = 1; stage + 1 < next.size(); ++stage)
    for (const bool forward : {true, false})
      if (next[stage].message(forward).send_s != next[0].message(forward).send_s) return false;
  return true;
}

/// Whether all chunks but the first and the last of a stage are of one kind.
bool chunks_alike_inside(const Division& division) {
  return std::ranges::all_of(division.chunk_kinds, [](const auto& of) {
    return std::all_of(of.begin() + 1, of.end() - 1, [&](int kind) { return kind == of[1]; });
  });
}

/// Whether launching some chunk takes longer than its kernels.
bool waits_for_host(std::span<const ChunkCosts> chunks, size_t lane) {
  return std::ranges::any_of(chunks, [&](const ChunkCosts& chunk) {
    const BatchCost& forward = chunk[static_cast<size_t>(Slot::kForward)];
    const BatchCost& backward = chunk[static_cast<size_t>(Slot::kBackward)];
    return forward.hh[lane] + backward.hh[lane] > forward.tt[lane] + backward.tt[lane];
  });
}

/// Whether the messages of some chunk's slots, one in and one out each, take longer than these.
bool waits_for_transfers(std::span<const ChunkCosts> chunks, std::span<const TransferCost> next,
                         size_t lane) {
  return std::ranges::any_of(chunks, [&](const ChunkCosts& chunk) {
    return 2 * next.front().both_s() > chunk[static_cast<size_t>(Slot::kForward)].tt[lane] +
                                           chunk[static_cast<size_t>(Slot::kBackward)].tt[lane];
  });
}

void add(const Batch& to, double factor, const Batch& more, const Batch& less, Batch& sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = to[i] + factor * (more[i] - less[i]);
}

void add(double factor, const PipelineEnds& more, const PipelineEnds& less, PipelineEnds& sum) {
  for (size_t k = 0; k < sum.by_kind.size(); ++k)
    add(sum.by_kind[k], factor, more.by_kind[k], less.by_kind[k], sum.by_kind[k]);
}

}  // namespace

const PipelineScript& PipelineTimes::script(const PipelineShape& shape) {
  constexpr size_t kMostSteps = 2'000'000;
  const auto known = scripts_.find(shape);
  if (known != scripts_.end()) return known->second;
  if (steps_ > kMostSteps) {
    scripts_.clear();
    steps_ = 0;
  }
  const PipelineScript& made = scripts_.emplace(shape, make_script(*job_, shape)).first->second;
  steps_ += made.steps.size();
  return made;
}

void PipelineTimes::play_script(const PipelineScript& script) {
  if (sharing_ == nullptr) return play(script, costs_, next_, scatters_, stage_ends_);
  stage_ends_.assign(static_cast<size_t>(script.shape.stages), Batch{});
  play_sharing(script, costs_, next_, demands_, lane_, lane_ends_);
  for (size_t s = 0; s < lane_ends_.size(); ++s) stage_ends_[s][lane_] = lane_ends_[s];
}

/// Plays `shape`, whose first and last stage are the division's and whose inner stages are its
/// second one where there are fewer of them; so with its chunks.
void PipelineTimes::play_short(const PipelineShape& shape, PipelineEnds& ends) {
  const Division& division = *division_;
  const auto origin = [](size_t i, size_t count, size_t all) {
    return i + 1 == count ? all - 1 : count < all && i > 0 ? 1 : i;
  };
  const auto stages = static_cast<size_t>(shape.stages), chunks = static_cast<size_t>(shape.chunks);
  costs_.clear();
  next_.clear();
  demands_.transfers.clear();
  if (sharing_ != nullptr) {
    demands_.gradients = sharing_->gradients;
    demands_.lines_are_of_ends = sharing_->lines_are_of_ends;
  }
  for (size_t s = 0; s < stages; ++s) {
    const size_t stage = origin(s, stages, division.stages.size());
    const std::vector<int>& kinds = division.chunk_kinds[stage];
    for (size_t c = 0; c < chunks; ++c)
      costs_.push_back(&chunk_costs_[static_cast<size_t>(kinds[origin(c, chunks, kinds.size())])]);
    // The link to the last stage is what it is beside the one that closes the ring.
    const size_t link = s + 2 == stages ? division.stages.size() - 2 : stage;
    next_.push_back(transfers_[link]);
    if (sharing_ != nullptr) demands_.transfers.push_back(sharing_->transfers[link]);
  }
  play_script(script(shape));
  ends.by_kind.assign(static_cast<size_t>(division.kinds()), Batch{});
  for (size_t s = 0; s < stages; ++s) {
    const size_t stage = origin(s, stages, division.stages.size());
    Batch& of_kind = ends.by_kind[static_cast<size_t>(division.stage_kinds[stage])];
    for (size_t i = 0; i < of_kind.size(); ++i)
      of_kind[i] = std::max(of_kind[i], stage_ends_[s][i]);
  }
}

void PipelineTimes::find(const spec::Job& job, const PipelineShape& shape, const Division& division,
                         std::span<const ChunkCosts> chunk_costs,
                         std::span<const TransferCost> next, bool scatters,
                         const PipelineDemands* sharing, size_t lane, PipelineEnds& ends) {
  job_ = &job;
  division_ = &division;
  chunk_costs_ = chunk_costs;
  transfers_ = next;
  scatters_ = scatters;
  sharing_ = sharing;
  lane_ = lane;
  // Lane by lane: what is found for one must not depend on what is played beside it.
  std::array<bool, kLanes> all_chunks{};
  bool some = false, others = false;
  const bool may_be_fewer = shape.chunks > kChunksAsFast && chunks_alike_inside(division);
  for (size_t i = 0; i < kLanes; ++i) {
    if (sharing != nullptr && i != lane) continue;
    all_chunks[i] = !may_be_fewer || waits_for_host(chunk_costs, i) ||
                    (sharing != nullptr && waits_for_transfers(chunk_costs, next, i));
    (all_chunks[i] ? some : others) = true;
  }
  if (others) extrapolate(shape, true, ends);
  if (!some) return;
  if (!others) return extrapolate(shape, false, ends);
  extrapolate(shape, false, all_chunks_);
  for (size_t kind = 0; kind < ends.by_kind.size(); ++kind)
    for (size_t i = 0; i < kLanes; ++i)
      if (all_chunks[i]) ends.by_kind[kind][i] = all_chunks_.by_kind[kind][i];
}

void PipelineTimes::extrapolate(const PipelineShape& shape, bool fewer_chunks, PipelineEnds& ends) {
  const bool fewer_stages = shape.stages > kShort + 1 && division_->alike_inside &&
                            alike_inside(transfers_) && shape.micro_batches >= shape.stages;
  PipelineShape first = shape;
  if (fewer_stages) first.stages = kShort;
  const int64_t unit = group(first);
  const int64_t enough = enough_micro_batches(first);
  const bool fewer_batches = fewer_stages || shape.micro_batches > enough + unit;
  // From a number that a whole number of groups leads from to the job's.
  if (fewer_batches)
    first.micro_batches = enough + (fewer_stages ? 0 : (shape.micro_batches - enough) % unit);
  if (fewer_chunks) first.chunks = kFewChunks;
  play_short(first, base_);
  ends = base_;
  const auto units = [&](double micro_batches) {
    return micro_batches / static_cast<double>(unit);
  };
  PipelineShape second = first;
  second.micro_batches += unit;
  if (fewer_batches) play_short(second, more_batches_);
  double batches = static_cast<double>(shape.micro_batches - first.micro_batches);
  if (fewer_chunks) {
    PipelineShape deeper = first;
    deeper.chunks += 1;
    play_short(deeper, more_chunks_);
    const double longer = static_cast<double>(shape.stages) / static_cast<double>(first.stages);
    const double chunks = longer * static_cast<double>(shape.chunks - first.chunks);
    add(chunks, more_chunks_, base_, ends);
    if (fewer_batches) {
      deeper.micro_batches = second.micro_batches;
      play_short(deeper, more_both_);
      const double further = chunks * units(static_cast<double>(shape.micro_batches) / longer -
                                            static_cast<double>(first.micro_batches));
      add(further, more_both_, more_batches_, ends);
      add(-further, more_chunks_, base_, ends);
    }
  }
  if (fewer_stages) {
    // One stage more, and so many micro batches more as keep whole groups.
    PipelineShape longer = first;
    longer.stages += 1;
    longer.micro_batches = longer.chunks > 1 ? 2 * longer.stages : first.micro_batches;
    play_short(longer, more_stages_);
    const double extra = static_cast<double>(shape.stages - first.stages);
    add(extra, more_stages_, base_, ends);
    batches -= extra * static_cast<double>(longer.micro_batches - first.micro_batches);
  }
  if (fewer_batches) add(units(batches), more_batches_, base_, ends);
}

}  // namespace ergometer::search
