#include <algorithm>

#include "search/block_walk.h"
#include "search/estimator.h"

// What a recomputation costs a chunk.

namespace ergometer::search {

void Estimator::set_passes(const Overlap& overlap, std::span<const Recomputation> recomputations) {
  overlap_ = overlap;
  for (PassSet& set : passes_) set.filled = false;
  recomputations_.assign(recomputations.begin(), recomputations.end());
  gather_delay_s_ = -1;
  for (FamilyTimes& times : times_) times.ready = false;
}

void Estimator::fill(PassSet& set, const DataOption& data) {
  set.filled = true;
  set.passes.resize(std::max(set.passes.size(), recomputations_.size()));
  for (size_t i = 0; i < recomputations_.size(); ++i) {
    set.passes[i].candidate = {layout_, recomputations_[i], overlap_, data};
    fill_pass(set.passes[i]);
  }
}

/// FSDP runs other kernels and keeps other tensors, so it has passes of its own; so have ZeRO 2 and
/// 3 where they run other kernels than 0 and 1.
Estimator::Pass& Estimator::pass(size_t i, Family of_family) {
  of_family = kernels_of(of_family, scatters_);
  PassSet& set = passes_[of_family];
  if (!set.filled) fill(set, option_of(of_family));
  return set.passes[i];
}

Estimator::ChunkPass Estimator::chunk_pass(const Pass& pass, const plan::Chunk& chunk) const {
  const std::vector<BlockCost>& blocks = pass.blocks->blocks;
  ChunkPass sum;
  double beside_s = 0, slows_s = 0;
  const auto add = [&](const PassCost& cost, double times) {
    sum.compute_s += times * cost.compute_s;
    sum.clocked_s += times * cost.clocked_s;
    sum.energy += times * cost.energy;
    beside_s += times * cost.compute_s * cost.slow_transfer[transfer_link_];
    slows_s += times * cost.compute_s * cost.slows_transfer[transfer_link_];
  };
  const auto same_run = [&](size_t a, size_t b) { return chunk.blocks[a] == chunk.blocks[b]; };
  for (size_t i = 0; i < chunk.blocks.size();) {
    size_t end = i + 1;
    while (end < chunk.blocks.size() && same_run(i, end)) ++end;
    const BlockCost& block = blocks[static_cast<size_t>(chunk.blocks[i])];
    const auto count = static_cast<double>(end - i);
    sum.forward = then(sum.forward, repeat(block.forward.time, static_cast<long>(end - i)));
    sum.expert_forward_s += count * block.forward.expert_s;
    add(block.forward, count);
    i = end;
  }
  int run_block = -1, run_recomputed = 0;
  long run_length = 0;
  const auto finish_run = [&] {
    if (run_length == 0) return;
    const BlockCost& block = blocks[static_cast<size_t>(run_block)];
    const auto count = static_cast<double>(run_length);
    MaxPlus whole = block.backward.time, input = block.input_grad.time;
    if (run_recomputed != 0) {
      whole = then(block.recompute.time, whole);
      input = then(block.recompute.time, input);
      add(block.recompute, count);
      sum.expert_backward_s += count * block.recompute.expert_s;
    }
    sum.backward = then(sum.backward, repeat(whole, run_length));
    sum.input_grad = then(sum.input_grad, repeat(input, run_length));
    sum.weight_grad = then(sum.weight_grad, repeat(block.weight_grad.time, run_length));
    sum.expert_backward_s += count * block.backward.expert_s;
    add(block.backward, count);
    run_length = 0;
  };
  backwards(*pass.blocks, chunk, [&](size_t i, bool recomputed) {
    if (run_length > 0 && (chunk.blocks[i] != run_block || recomputed != (run_recomputed != 0)))
      finish_run();
    run_block = chunk.blocks[i];
    run_recomputed = recomputed ? 1 : 0;
    ++run_length;
  });
  finish_run();
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
  pass.blocks = &parts_.blocks(pass.candidate, parts_.job_of(pass.candidate),
                               ranks_of(pass.candidate.data.sharding), data_demand_);
  pass.division = &parts_.division(pass.candidate, *pass.blocks->workload);
  pass.chunks.clear();
  for (const plan::Chunk& chunk : pass.division->chunks)
    pass.chunks.push_back(chunk_pass(pass, chunk));
  pass.micro_batch_energy = transfer_energy_;
  pass.least_s = pass.clocked_s = pass.slack_s = 0;
  double way_s = 0;  // of a micro batch to the stage and back
  const auto batches = static_cast<double>(micro_batches_);
  const double stage_share = 1 / static_cast<double>(layout_.pp);
  for (size_t stage = 0; stage < pass.division->stages.size(); ++stage) {
    double busy_s = 0, clocked_s = 0, first_chunk_s = 0, slack_s = 0, host_s = 0, tail_s = 0;
    const std::vector<int>& kinds = pass.division->chunk_kinds[stage];
    for (const int& kind : kinds) {
      const ChunkPass& chunk = pass.chunks[static_cast<size_t>(kind)];
      const double hidden_s =
          overlap_.expert ? chunk.expert_forward_s + chunk.expert_backward_s : 0;
      busy_s += batches * (chunk.compute_s - hidden_s);
      if (&kind == kinds.data()) first_chunk_s = chunk.compute_s - hidden_s;
      clocked_s += batches * chunk.clocked_s;
      slack_s += batches * host_slack_s(chunk);
      for (const MaxPlus* part : {&chunk.forward, &chunk.backward}) {
        host_s += batches * part->hh;
        tail_s = std::max(tail_s, part->hh - part->th);
      }
      pass.micro_batch_energy += stage_share * chunk.energy;
    }
    pass.least_s = std::max(pass.least_s, way_s + busy_s);
    // The host launches everything, one behind the other; of its last pass the launches behind the
    // last kernel's start are not waited for. Passes in turns are estimated without it.
    if (!overlap_.expert && layout_.schedule != spec::Schedule::kZbH1)
      pass.least_s = std::max(pass.least_s, host_s - tail_s);
    // ZB-H1 may put off a micro batch's weight gradients.
    if (layout_.schedule != spec::Schedule::kZbH1) way_s += first_chunk_s;
    if (clocked_s <= pass.clocked_s) continue;
    pass.clocked_s = clocked_s;
    pass.slack_s = std::max(0.0, slack_s);
  }
}

}  // namespace ergometer::search
