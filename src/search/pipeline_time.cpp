#include "search/pipeline_time.h"

#include <algorithm>

namespace ergometer::search {
namespace {

/// Stages of the short pipelines that stand for longer ones.
constexpr int64_t kShort = 4;

/// Micro batches between two that meet the schedule alike.
int64_t group(const PipelineShape& shape) { return shape.chunks > 1 ? shape.stages : 1; }

/// So many that warm-up and cool-down of all stages are over.
int64_t enough_micro_batches(const PipelineShape& shape) { return 2 * shape.stages; }

/// Whether all transfers between stages cost the same.
bool alike_inside(std::span<const TransferCost> next) {
  for (size_t stage = 1; stage + 1 < next.size(); ++stage)
    if (next[stage].send_s != next[0].send_s) return false;
  return true;
}

void add(const Batch& to, double factor, const Batch& more, const Batch& less, Batch& sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = to[i] + factor * (more[i] - less[i]);
}

void add(double factor, const PipelineEnds& more, const PipelineEnds& less, PipelineEnds& sum) {
  for (size_t k = 0; k < sum.by_kind.size(); ++k)
    add(sum.by_kind[k], factor, more.by_kind[k], less.by_kind[k], sum.by_kind[k]);
}

}  // namespace

const PipelineScript& PipelineTimes::script(const spec::Job& job, const PipelineShape& shape) {
  constexpr size_t kMostSteps = 2'000'000;
  const auto known = scripts_.find(shape);
  if (known != scripts_.end()) return known->second;
  if (steps_ > kMostSteps) {
    scripts_.clear();
    steps_ = 0;
  }
  const PipelineScript& made = scripts_.emplace(shape, make_script(job, shape)).first->second;
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
/// second one where there are fewer of them.
void PipelineTimes::play_short(const spec::Job& job, PipelineShape shape, const Division& division,
                               std::span<const ChunkCosts> chunk_costs,
                               std::span<const TransferCost> next, PipelineEnds& ends) {
  const auto stages = static_cast<size_t>(shape.stages), all = division.stages.size();
  const auto origin = [&](size_t s) {
    return s + 1 == stages ? all - 1 : stages < all && s > 0 ? 1 : s;
  };
  costs_.clear();
  next_.clear();
  for (size_t s = 0; s < stages; ++s) {
    for (const int kind : division.chunk_kinds[origin(s)])
      costs_.push_back(&chunk_costs[static_cast<size_t>(kind)]);
    next_.push_back(next[origin(s)]);
  }
  if (sharing_ != nullptr) {
    demands_.gradients = sharing_->gradients;
    demands_.transfers.clear();
    for (size_t s = 0; s < stages; ++s)
      demands_.transfers.push_back(sharing_->transfers[origin(s)]);
  }
  play_script(script(job, shape));
  ends.by_kind.assign(static_cast<size_t>(division.kinds()), Batch{});
  for (size_t s = 0; s < stages; ++s) {
    Batch& of_kind = ends.by_kind[static_cast<size_t>(division.stage_kinds[origin(s)])];
    for (size_t i = 0; i < of_kind.size(); ++i)
      of_kind[i] = std::max(of_kind[i], stage_ends_[s][i]);
  }
}

void PipelineTimes::find(const spec::Job& job, const PipelineShape& shape, const Division& division,
                         std::span<const ChunkCosts> chunk_costs,
                         std::span<const TransferCost> next, bool scatters,
                         const PipelineDemands* sharing, size_t lane, PipelineEnds& ends) {
  scatters_ = scatters;
  sharing_ = sharing;
  lane_ = lane;
  const bool fewer_stages = shape.stages > kShort + 1 && division.alike_inside &&
                            alike_inside(next) && shape.micro_batches >= shape.stages;
  PipelineShape first = shape;
  if (fewer_stages) first.stages = kShort;
  const int64_t unit = group(first);
  const int64_t enough = enough_micro_batches(first);
  const bool fewer_batches = fewer_stages || shape.micro_batches > enough + unit;
  if (!fewer_batches) return play_short(job, shape, division, chunk_costs, next, ends);
  // From a number that a whole number of groups leads from to the job's.
  const int64_t rest = fewer_stages ? 0 : (shape.micro_batches - enough) % unit;
  first.micro_batches = enough + rest;
  PipelineShape second = first;
  second.micro_batches += unit;
  play_short(job, first, division, chunk_costs, next, ends);
  play_short(job, second, division, chunk_costs, next, short_ends_[0]);
  short_ends_[1] = ends;
  double batches = static_cast<double>(shape.micro_batches - first.micro_batches);
  if (fewer_stages) {
    // One stage more, and so many micro batches more as keep whole groups.
    PipelineShape longer = first;
    longer.stages += 1;
    longer.micro_batches = longer.chunks > 1 ? 2 * longer.stages : first.micro_batches;
    play_short(job, longer, division, chunk_costs, next, short_ends_[2]);
    const double extra = static_cast<double>(shape.stages - first.stages);
    add(extra, short_ends_[2], short_ends_[1], ends);
    batches -= extra * static_cast<double>(longer.micro_batches - first.micro_batches);
  }
  add(batches / static_cast<double>(unit), short_ends_[0], short_ends_[1], ends);
}

}  // namespace ergometer::search
