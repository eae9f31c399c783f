#include <algorithm>

#include "base/check.h"
#include "search/estimate/estimator.h"
#include "search/overlap/block_walk.h"

// What a recomputation costs a chunk.

namespace ergometer::search {

void Estimator::set_passes(std::span<const PassVariant> variants) {
  for (FamilyTimes& times : times_) times.ready = false;
  overlap_ = variants.empty() ? Overlap{} : variants.front().overlap;
  for (const PassVariant& each : variants)
    ERGOMETER_CHECK(played_alike(each.overlap, overlap_), "variants that are not played alike");
  // Transfers between stages go beside a pass and change nothing of it.
  const auto same_pass = [](const PassVariant& a, PassVariant b) {
    b.overlap.pipeline = a.overlap.pipeline;
    return a == b;
  };
  const bool same_passes =
      std::equal(variants.begin(), variants.end(), variants_.begin(), variants_.end(), same_pass);
  variants_.assign(variants.begin(), variants.end());
  if (same_passes) return;
  for (PassSet& set : passes_) set.filled = false;
}

BlockCosts& Estimator::blocks_of(const Candidate& candidate, Family kernels) {
  const auto choice = static_cast<size_t>(candidate.recomputation.choice);
  BlockCosts*& found = blocks_[choice][index_of(candidate.overlap)][kernels];
  if (found == nullptr)
    found = &parts_.blocks(candidate, parts_.job_of(candidate), ranks_of(candidate.data.sharding),
                           data_demand_);
  return *found;
}

void Estimator::fill(PassSet& set, Family kernels) {
  set.filled = true;
  set.passes.resize(std::max(set.passes.size(), variants_.size()));
  for (size_t i = 0; i < variants_.size(); ++i) {
    Pass& pass = set.passes[i];
    pass.candidate = {layout_, variants_[i].recomputation, variants_[i].overlap,
                      option_of(kernels)};
    pass.blocks = &blocks_of(pass.candidate, kernels);
    fill_pass(pass);
  }
}

/// FSDP runs other kernels and keeps other tensors, so it has passes of its own; so have ZeRO 2 and
/// 3 where they run other kernels than 0 and 1.
Estimator::Pass& Estimator::pass(size_t i, Family of_family) {
  of_family = kernels_of(of_family, scatters_);
  PassSet& set = passes_[of_family];
  if (!set.filled) fill(set, of_family);
  return set.passes[i];
}

Estimator::ChunkPass Estimator::chunk_pass(const Pass& pass, size_t kind) const {
  BlockCosts& costs = *pass.blocks;
  const std::vector<BlockRun>& runs = pass.division->runs[kind];
  ChunkPass sum;
  double beside_s = 0, slows_s = 0;
  const auto add = [&](const PassCost& cost, double times) {
    sum.compute_s += times * cost.compute_s;
    sum.clocked_s += times * cost.clocked_s;
    sum.energy += times * cost.energy;
    beside_s += times * cost.compute_s * cost.slow_transfer[transfer_link_];
    slows_s += times * cost.compute_s * cost.slows_transfer[transfer_link_];
  };
  const auto recomputable = [&](const BlockRun& run) {
    return costs.workload->blocks[run.block].recompute.empty() ? 0 : run.count;
  };
  int64_t before = 0;  // recomputable blocks before the run
  for (const BlockRun& run : runs) {
    const PassCost& cost = costs.blocks[run.block].forward;
    const auto count = static_cast<double>(run.count);
    sum.forward = then(sum.forward, costs.row(run.block, static_cast<size_t>(run.count)).forward);
    sum.expert_forward_s += count * cost.expert_s;
    add(cost, count);
    before += recomputable(run);
  }
  const auto add_backwards = [&](size_t block, int64_t blocks, bool recomputed) {
    if (blocks == 0) return;
    const auto count = static_cast<double>(blocks);
    const BlockCost& cost = costs.blocks[block];
    const BlockRow& row = costs.row(block, static_cast<size_t>(blocks));
    sum.backward = then(sum.backward, row.backward[recomputed ? 1 : 0]);
    sum.input_grad = then(sum.input_grad, row.input_grad[recomputed ? 1 : 0]);
    sum.weight_grad = then(sum.weight_grad, row.weight_grad);
    if (recomputed) {
      add(cost.recompute, count);
      sum.expert_backward_s += count * cost.recompute.expert_s;
    }
    sum.expert_backward_s += count * cost.backward.expert_s;
    add(cost.backward, count);
  };
  // The first blocks of a chunk are recomputed, and the last are first in a backward.
  for (size_t i = runs.size(); i-- > 0;) {
    const int64_t most = recomputable(runs[i]);
    before -= most;
    const int64_t recomputed =
        std::clamp<int64_t>(pass.division->chunks[kind].recomputed_blocks - before, 0, most);
    add_backwards(runs[i].block, runs[i].count - recomputed, false);
    add_backwards(runs[i].block, recomputed, true);
  }
  sum.slow_transfer = sum.compute_s > 0 ? beside_s / sum.compute_s : 1;
  sum.slows_transfer = sum.compute_s > 0 ? slows_s / sum.compute_s : 1;
  return sum;
}

double Estimator::host_slack_s(const ChunkPass& chunk) {
  const bool waits = chunk.forward.ht > MaxPlus::kNever || chunk.backward.ht > MaxPlus::kNever;
  if (waits) return 0;
  return chunk.forward.hh + chunk.backward.hh - chunk.forward.tt - chunk.backward.tt;
}

void Estimator::fill_pass(Pass& pass) {
  pass.division = &parts_.division(pass.candidate, *pass.blocks->workload);
  const Division& division = *pass.division;
  pass.chunks.clear();
  for (size_t kind = 0; kind < division.chunks.size(); ++kind)
    pass.chunks.push_back(chunk_pass(pass, kind));
  pass.micro_batch_energy = transfer_energy_;
  pass.least_s = pass.clocked_s = pass.slack_s = 0;
  stage_sums_.assign(division.first_stage.size(), {});
  for (size_t kind = 0; kind < stage_sums_.size(); ++kind) {
    StageSums& sums = stage_sums_[kind];
    const std::vector<int>& chunks =
        division.chunk_kinds[static_cast<size_t>(division.first_stage[kind])];
    for (const int& chunk_kind : chunks) {
      const ChunkPass& chunk = pass.chunks[static_cast<size_t>(chunk_kind)];
      const double hidden_s =
          overlap_.expert ? chunk.expert_forward_s + chunk.expert_backward_s : 0;
      sums.busy_s += chunk.compute_s - hidden_s;
      if (&chunk_kind == chunks.data()) sums.first_chunk_s = sums.busy_s;
      sums.clocked_s += chunk.clocked_s;
      sums.slack_s += host_slack_s(chunk);
      for (const MaxPlus* part : {&chunk.forward, &chunk.backward}) {
        sums.host_s += part->hh;
        sums.tail_s = std::max(sums.tail_s, part->hh - part->th);
      }
      sums.energy += chunk.energy;
    }
  }
  double way_s = 0, most_j = 0;  // of a micro batch: to the stage and back; of one stage
  const auto batches = static_cast<double>(micro_batches_);
  const double stage_share = 1 / static_cast<double>(layout_.pp);
  const bool puts_off = layout_.schedule == spec::Schedule::kZbH1;
  for (const int kind : division.stage_kinds) {
    const StageSums& sums = stage_sums_[static_cast<size_t>(kind)];
    pass.micro_batch_energy += stage_share * sums.energy;
    most_j = std::max(most_j, transfer_energy_.total_j() + sums.energy.total_j());
    pass.least_s = std::max(pass.least_s, way_s + batches * sums.busy_s);
    // The host launches everything, one behind the other; of its last pass the launches behind the
    // last kernel's start are not waited for. Passes in turns are estimated without it.
    if (!overlap_.expert && !puts_off)
      pass.least_s = std::max(pass.least_s, batches * sums.host_s - sums.tail_s);
    // ZB-H1 may put off a micro batch's weight gradients.
    if (!puts_off) way_s += sums.first_chunk_s;
    if (batches * sums.clocked_s <= pass.clocked_s) continue;
    pass.clocked_s = batches * sums.clocked_s;
    pass.slack_s = std::max(0.0, batches * sums.slack_s);
  }
  const double mean_j = pass.micro_batch_energy.total_j();
  pass.most_work = mean_j > 0 ? most_j / mean_j : 1;
}

}  // namespace ergometer::search
