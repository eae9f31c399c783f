#include "search/estimator.h"

#include <algorithm>
#include <cmath>

#include "plan/memory.h"
#include "search/block_walk.h"
#include "search/link_demand.h"
#include "workload/graphs.h"

namespace ergometer::search {
namespace {

/// Two sums of the same terms may differ in their last digits: so close to the limit the plan's own
/// sum decides.
constexpr double kRounding = 1e-9;

double slowdown_of_collectives(const cost::CostModel& model) {
  workload::Operator collective, kernel;
  collective.kind = workload::OperatorKind::kCollective;
  return model.collective_slowdown(collective, kernel);
}

workload::Operator transfer(double bytes) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.collective = workload::CollectiveKind::kSendRecv;
  op.group = workload::GroupKind::kPipeline;
  op.comm_bytes = bytes;
  return op;
}

/// What a stage's kind needs beside activations.
double least_bytes(double states, double buffers, double step, double activations) {
  return states + buffers + std::max(step, activations);
}

}  // namespace

Estimator::Estimator(const Space& space) : space_(space), parts_(space) {
  for (const Space::Base& base : space.bases())
    power_.push_back(PowerEstimate::make(base.megatron));
}

Estimator::Family Estimator::family(Sharding sharding) {
  switch (sharding) {
    case Sharding::kZero0:
    case Sharding::kZero1: return kBucketed;
    case Sharding::kZero2: return kScattering;
    case Sharding::kZero3: return kGathering;
    case Sharding::kFsdp: return kFsdpFamily;
  }
  return kBucketed;
}

spec::Job& Estimator::job_of(const Candidate& candidate) {
  spec::Job& job = candidate.data.sharding == Sharding::kFsdp ? fsdp_job_ : job_;
  space_.apply(candidate, job);
  return job;
}

base::Result<void> Estimator::set_layout(const Layout& layout) {
  layout_ = layout;
  parts_.trim();
  if (jobs_base_ != layout.base) {
    job_ = space_.base_of(layout).megatron;
    fsdp_job_ = space_.base_of(layout).fsdp;
    jobs_base_ = layout.base;
  }
  ERGOMETER_ASSIGN(ranks_, parts_.ranks(layout, false));
  // Sharded parameters and pipelines do not go together.
  fsdp_ranks_ = nullptr;
  if (layout.pp == 1) {
    ERGOMETER_ASSIGN(fsdp_ranks_, parts_.ranks(layout, true));
  }
  Candidate plain;
  plain.layout = layout;
  const spec::Job& job = job_of(plain);
  micro_batches_ = job.micro_batches();
  capacity_ =
      job.cluster.node.gpu.memory_bytes - job.cluster.node.parameters.value_or("memory_reserve", 0);
  blocks_ = &parts_.blocks(plain, *ranks_);
  division_ = &parts_.division(plain, blocks_->workload);
  collective_slowdown_ = slowdown_of_collectives(ranks_->model);
  data_.clear();
  find_transfers();
  return {};
}

void Estimator::find_transfers() {
  const spec::Job& job = job_;
  transfers_.clear();
  transfer_energy_ = {};
  if (layout_.pp == 1) return;
  const bool scatters = job.training.scatter_gather_p2p;
  const double whole = blocks_->workload.boundary_bytes;
  const workload::Operator op =
      transfer(scatters ? whole / static_cast<double>(layout_.tp) : whole);
  double gather_s = 0;
  if (scatters) {
    workload::Operator gather = transfer(whole);
    gather.collective = workload::CollectiveKind::kAllGather;
    gather.group = workload::GroupKind::kTensor;
    gather_s = ranks_->model.price(gather, ranks_->placements[static_cast<size_t>(gather.group)])
                   .seconds();
  }
  for (const plan::GroupPlacement& link : ranks_->links) {
    const double alone_s = ranks_->model.price(op, link).seconds();
    const LinkDemand demand = link_demand(job.cluster.node, op, link, alone_s);
    transfers_.push_back({.send_s = alone_s + gather_s,
                          .shared_s = alone_s * stretch_beside(demand, demand) + gather_s,
                          .host_s = ranks_->model.collective_launch_s()});
  }
  const double sent =
      2 * (static_cast<double>(layout_.pp * layout_.vpp) - 1) / static_cast<double>(layout_.pp);
  if (ranks_->energy) transfer_energy_ = sent * ranks_->energy->energy(op, ranks_->links.front());
}

void Estimator::set_passes(const Overlap& overlap, std::span<const Recomputation> recomputations) {
  overlap_ = overlap;
  pass_count_ = recomputations.size();
  passes_.resize(std::max(passes_.size(), pass_count_));
  for (size_t i = 0; i < pass_count_; ++i) {
    passes_[i].candidate = {layout_, recomputations[i], overlap, {}};
    fill_pass(passes_[i]);
  }
  fsdp_filled_ = false;
  gather_delay_s_ = -1;
  for (SavedStates& states : states_) states.ready = false;
  for (FamilyTimes& times : times_) times.ready = false;
}

Estimator::ChunkPass Estimator::chunk_pass(const Pass& pass, const plan::Chunk& chunk) const {
  const std::vector<BlockCost>& blocks = pass.blocks->blocks;
  ChunkPass sum;
  double beside_s = 0;
  const auto add = [&](const PassCost& cost, double times) {
    sum.compute_s += times * cost.compute_s;
    sum.clocked_s += times * cost.clocked_s;
    sum.energy += times * cost.energy;
    beside_s += times * cost.compute_s * cost.slow_transfer;
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
  return sum;
}

void Estimator::fill_pass(Pass& pass) {
  pass.blocks = &parts_.blocks(pass.candidate, ranks_of(pass.candidate.data.sharding));
  pass.division = &parts_.division(pass.candidate, pass.blocks->workload);
  pass.reduced = {};
  pass.chunks.clear();
  for (const plan::Chunk& chunk : pass.division->chunks)
    pass.chunks.push_back(chunk_pass(pass, chunk));
  fill_activations(pass);
  pass.micro_batch_energy = transfer_energy_;
  pass.least_s = pass.clocked_s = 0;
  double way_s = 0;  // of a micro batch to the stage and back
  const auto batches = static_cast<double>(micro_batches_);
  const double stage_share = 1 / static_cast<double>(layout_.pp);
  for (size_t stage = 0; stage < pass.division->stages.size(); ++stage) {
    double busy_s = 0, clocked_s = 0, first_chunk_s = 0;
    const std::vector<int>& kinds = pass.division->chunk_kinds[stage];
    for (const int& kind : kinds) {
      const ChunkPass& chunk = pass.chunks[static_cast<size_t>(kind)];
      const double hidden_s =
          overlap_.expert ? chunk.expert_forward_s + chunk.expert_backward_s : 0;
      busy_s += batches * (chunk.compute_s - hidden_s);
      if (&kind == kinds.data()) first_chunk_s = chunk.compute_s - hidden_s;
      clocked_s += batches * chunk.clocked_s;
      pass.micro_batch_energy += stage_share * chunk.energy;
    }
    pass.least_s = std::max(pass.least_s, way_s + busy_s);
    // ZB-H1 may put off a micro batch's weight gradients.
    if (layout_.schedule != spec::Schedule::kZbH1) way_s += first_chunk_s;
    pass.clocked_s = std::max(pass.clocked_s, clocked_s);
  }
}

void Estimator::fill_activations(Pass& pass) {
  const spec::Job& job = job_of(pass.candidate);
  std::vector<plan::ChunkMemory> chunks;
  for (const plan::Chunk& chunk : pass.division->chunks)
    chunks.push_back(plan::chunk_memory(job, pass.blocks->workload, chunk));
  pass.activations.clear();
  // Of stages that are alike the first holds most micro batches.
  for (const int64_t stage : pass.division->first_stage)
    pass.activations.push_back(activation_peak(
        holdings_.of(job, stage), pass.division->chunk_kinds[static_cast<size_t>(stage)], chunks));
}

const Estimator::SavedStates& Estimator::states_of(Sharding sharding) {
  SavedStates& saved = states_[static_cast<size_t>(sharding)];
  if (saved.ready) return saved;
  Candidate candidate = passes_.front().candidate;
  candidate.data.sharding = sharding;
  const workload::Workload& workload = pass(0, family(sharding)).blocks->workload;
  const spec::Job& job = job_of(candidate);
  saved.states.clear();
  saved.step.clear();
  saved.buffers.clear();
  for (const int64_t first : division_->first_stage) {
    const plan::Stage& stage = division_->stages[static_cast<size_t>(first)];
    const plan::StateMemory state = plan::state_memory(job, workload, stage);
    saved.states.push_back(state.weights + state.gradients + state.optimizer);
    saved.step.push_back(state.step);
    saved.buffers.push_back(plan::buffer_memory(job, workload, stage).total());
  }
  saved.ready = true;
  return saved;
}

double Estimator::memory_bytes(size_t i, const DataOption& data) {
  const SavedStates& saved = states_of(data.sharding);
  const Pass& of_pass = pass(i, family(data.sharding));
  double most = 0;
  for (size_t kind = 0; kind < saved.states.size(); ++kind)
    most = std::max(most, least_bytes(saved.states[kind], saved.buffers[kind], saved.step[kind],
                                      of_pass.activations[kind]));
  return most;
}

bool Estimator::fits(size_t i, const DataOption& data) {
  const double bytes = memory_bytes(i, data);
  if (std::abs(bytes - capacity_) <= kRounding * capacity_) return fits_exactly(passes_[i], data);
  return bytes <= capacity_;
}

bool Estimator::fits_exactly(const Pass& of_pass, const DataOption& data) {
  Candidate candidate = of_pass.candidate;
  candidate.data = data;
  const spec::Job job = space_.job(candidate);
  const workload::Workload workload = workload::lower(job);
  return plan::memory(job, workload, plan::divide(job, workload)).fits;
}

const Estimator::SavedData& Estimator::data_of(const DataOption& data) {
  for (const SavedData& saved : data_)
    if (saved.option == data) return saved;
  SavedData& saved = data_.emplace_back();
  saved.option = data;
  Candidate candidate;
  candidate.layout = layout_;
  candidate.data = data;
  const spec::Job& job = job_of(candidate);
  std::vector<double> stages(static_cast<size_t>(division_->kinds()));
  for (const int kind : division_->stage_kinds) stages[static_cast<size_t>(kind)] += 1;
  const Ranks& ranks = ranks_of(data.sharding);
  const cost::EnergyModel* energy = ranks.energy ? &*ranks.energy : nullptr;
  for (size_t kind = 0; kind < stages.size(); ++kind) {
    const int64_t first = division_->first_stage[kind];
    saved.by_kind.push_back(data_costs(job, blocks_->workload,
                                       division_->stages[static_cast<size_t>(first)], first,
                                       ranks.model, energy, ranks.placements));
    const double share = stages[kind] / static_cast<double>(layout_.pp);
    saved.energy += share * saved.by_kind.back().step_energy;
    saved.unit_energy += share * saved.by_kind.back().micro_batch_energy;
  }
  return saved;
}

/// Two slots that run beside each other take as long as their kernels or their transfers between
/// experts, whichever is more; what they gain is taken off both.
void Estimator::pair_up(const ChunkPass& chunk, double units_s, MaxPlus& forward,
                        MaxPlus& backward) const {
  const double share = workload::captures_everything(job_.training)
                           ? 1
                           : job_.software.parameters.value_or("overlap.expert_share", 1);
  const double sent_s = share * (chunk.expert_forward_s + chunk.expert_backward_s);
  const double alone_s = forward.tt + backward.tt;
  DataLane lane;
  const double mark = lane.issue(sent_s);
  lane.compute(alone_s - sent_s, chunk.slow_transfer, collective_slowdown_);
  lane.wait(mark);
  // Where sharded parameters take the same links, the two kinds of transfers take turns on them.
  const auto leaves = [&](workload::GroupKind group) {
    return ranks_->placements[static_cast<size_t>(group)].nodes > 1;
  };
  const bool same_links =
      leaves(workload::GroupKind::kExpert) == leaves(workload::GroupKind::kData);
  const double paired_s = std::max(lane.now_s(), same_links && units_s > 0 ? sent_s + units_s : 0);
  const double gain_s = alone_s - paired_s;
  const double forward_share = alone_s > 0 ? forward.tt / alone_s : 0;
  forward = lengthened(forward, -gain_s * forward_share);
  backward = lengthened(backward, -gain_s * (1 - forward_share));
}

/// What a chunk's backward scatters while a pipeline is played.
void Estimator::set_scattered(size_t lane, const Pass& of_pass, size_t kind, double units_s,
                              ChunkCosts& costs) const {
  const plan::Chunk& chunk = of_pass.division->chunks[kind];
  const bool apart = layout_.schedule == spec::Schedule::kZbH1;
  double all_s = 0, slow_s[2] = {}, slows_s[2] = {}, alone_s[2] = {};
  for (const int block : chunk.blocks) {
    const BlockCost& cost = of_pass.blocks->blocks[static_cast<size_t>(block)];
    const PassCost* passes[2] = {&cost.forward, &cost.backward};
    for (int i = 0; i < 2; ++i) {
      alone_s[i] += passes[i]->time.tt;
      slow_s[i] += passes[i]->time.tt * passes[i]->slow_data;
      slows_s[i] += passes[i]->time.tt * passes[i]->slows_data;
    }
    all_s += 1;
  }
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const auto which = static_cast<Slot>(slot);
    const bool forward = which == Slot::kForward || which == Slot::kPairedForward;
    const int i = forward ? 0 : 1;
    const bool sends = which == Slot::kWeightGrad ||
                       (!apart && (which == Slot::kBackward || which == Slot::kPairedBackward));
    BatchCost& cost = costs[slot];
    cost.sent[lane] = sends ? units_s : 0;
    cost.beside[lane] = sends ? units_s * (1 - 1 / all_s) : 0;  // the last block's is issued last
    cost.slow[lane] = alone_s[i] > 0 ? std::max(1.0, slow_s[i] / alone_s[i]) : 1;
    cost.slows[lane] = alone_s[i] > 0 ? std::max(1.0, slows_s[i] / alone_s[i]) : 1;
  }
}

void Estimator::set_chunk_costs(size_t lane, const Pass& of_pass, Family family,
                                FamilyTimes& times) {
  const auto kinds = of_pass.chunks.size();
  std::vector<double> more_forward_s(kinds), more_backward_s(kinds), units_s(kinds);
  times.left_s[lane].assign(static_cast<size_t>(division_->kinds()), 0);
  if (family != kBucketed) {
    const DataOption option{family == kScattering  ? Sharding::kZero2
                            : family == kGathering ? Sharding::kZero3
                                                   : Sharding::kFsdp,
                            family == kFsdpFamily, family == kFsdpFamily};
    const SavedData& data = data_of(option);
    for (size_t kind = 0; kind < data.by_kind.size(); ++kind) {
      const auto stage = static_cast<size_t>(division_->first_stage[kind]);
      const std::vector<int>& chunks = division_->chunk_kinds[stage];
      double stage_units_s = 0;
      for (size_t c = 0; c < data.by_kind[kind].units.size(); ++c) {
        double& sum = units_s[static_cast<size_t>(division_->chunk_kinds[stage][c])];
        sum = 0;
        for (const DataCosts::Unit& unit : data.by_kind[kind].units[c])
          sum += 2 * unit.gather_s + unit.scatter_s;
        stage_units_s += sum;
      }
      if (layout_.pp > 1) {
        // The pipeline plays them, slot by slot.
        double alone_s = 0;
        for (const int chunk : chunks) {
          const ChunkPass& alone = of_pass.chunks[static_cast<size_t>(chunk)];
          alone_s += alone.forward.tt + alone.backward.tt;
        }
        if (kind == 0 && alone_s > 0) scattered_share_ = std::min(1.0, stage_units_s / alone_s);
        continue;
      }
      DataLane busy;
      double left_s[2] = {};
      // The second micro batch finds the lane as all later ones do.
      for (double& left : left_s) {
        const bool forwards = &left == left_s || layout_.schedule != spec::Schedule::kGpipe;
        for (size_t c = 0; forwards && c < chunks.size(); ++c) {
          const auto chunk = static_cast<size_t>(chunks[c]);
          const double begin_s = busy.now_s();
          forward_along(*of_pass.blocks, of_pass.division->chunks[chunk],
                        data.by_kind[kind].units[c], busy);
          more_forward_s[chunk] = busy.now_s() - begin_s - of_pass.chunks[chunk].forward.tt;
        }
        for (size_t c = chunks.size(); c-- > 0;) {
          const auto chunk = static_cast<size_t>(chunks[c]);
          const double begin_s = busy.now_s();
          backward_along(*of_pass.blocks, of_pass.division->chunks[chunk],
                         data.by_kind[kind].units[c], busy);
          more_backward_s[chunk] = busy.now_s() - begin_s - of_pass.chunks[chunk].backward.tt;
        }
        left = busy.left_s();
      }
      // What a micro batch cannot send beside its kernels waits behind the last one.
      times.left_s[lane][kind] =
          left_s[1] + data.by_kind[kind].replica_sums_s +
          static_cast<double>(std::max<int64_t>(0, micro_batches_ - 2)) * (left_s[1] - left_s[0]);
    }
  }
  const bool lanes_overlap = overlap_.pipeline && layout_.pp > 1;
  const bool alone = layout_.pp > 1;  // the pipeline plays what is scattered beside its slots
  for (size_t kind = 0; kind < kinds; ++kind) {
    const ChunkPass& chunk = of_pass.chunks[kind];
    // Transfers beside kernels slow them: one message in and one out for each slot.
    const double beside_s =
        lanes_overlap ? 2 * transfers_.front().send_s * (1 - 1 / chunk.slow_transfer) : 0;
    const MaxPlus forward = lengthened(
        chunk.forward, alone ? beside_s : std::max(0.0, more_forward_s[kind]) + beside_s);
    const MaxPlus backward = lengthened(
        chunk.backward, alone ? beside_s : std::max(0.0, more_backward_s[kind]) + beside_s);
    MaxPlus paired_forward = forward, paired_backward = backward;
    if (overlap_.expert) pair_up(chunk, units_s[kind], paired_forward, paired_backward);
    ChunkCosts& costs = chunk_costs_[kind];
    const auto set = [&](Slot slot, const MaxPlus& cost) {
      costs[static_cast<size_t>(slot)].set(static_cast<int>(lane), cost);
    };
    set(Slot::kForward, forward);
    set(Slot::kBackward, backward);
    set(Slot::kInputGrad, lengthened(chunk.input_grad, beside_s));
    set(Slot::kWeightGrad, chunk.weight_grad);
    set(Slot::kPairedForward, paired_forward);
    set(Slot::kPairedBackward, paired_backward);
    if (family == kScattering) set_scattered(lane, of_pass, kind, units_s[kind], costs);
    if (layout_.pp > 1) continue;
    // One stage: the step is a plain row of slots.
    MaxPlus step = repeat(then(paired_backward, paired_forward), micro_batches_ - 1);
    step = then(then(forward, step), backward);
    double t = 0, h = 0;
    step.apply(t, h);
    times.ends.last[lane] = t;
    times.ends.by_kind.resize(1);
    times.ends.by_kind[0][lane] = t;
  }
}

/// Transfers as they find the links: beside kernels when overlapped, and beside gradients that are
/// scattered all the time.
std::vector<TransferCost> Estimator::transfers_beside() const {
  std::vector<TransferCost> next = transfers_;
  for (TransferCost& cost : next) {
    const double more_s = cost.shared_s - cost.send_s;
    const double slower = overlap_.pipeline ? collective_slowdown_ : 1;
    cost.send_s = slower * cost.send_s + scattered_share_ * more_s;
    cost.shared_s = slower * cost.shared_s + scattered_share_ * more_s;
  }
  return next;
}

const Estimator::FamilyTimes& Estimator::times(Family family) {
  FamilyTimes& times = times_[family];
  if (times.ready) return times;
  times.ready = true;
  chunk_costs_.resize(division_->chunks.size());
  scattered_share_ = 0;
  for (size_t lane = 0; lane < pass_count_; ++lane)
    set_chunk_costs(lane, pass(lane, family), family, times);
  if (layout_.pp == 1) return times;
  const PipelineShape shape{.stages = layout_.pp,
                            .chunks = layout_.vpp,
                            .micro_batches = micro_batches_,
                            .schedule = layout_.schedule,
                            .overlap = overlap_.pipeline,
                            .sync = job_.training.batch_p2p_sync && !overlap_.pipeline};
  const std::vector<TransferCost> next = transfers_beside();
  pipelines_.find(job_, shape, *division_, chunk_costs_, next, family == kScattering, times.ends);
  return times;
}

/// What gathering parameters bucket by bucket adds to the step. The first micro batch passes all
/// stages one after the other, and each begins to gather when it arrives; interleaving gathers
/// whole chunks on all stages at the start, so that only the first stage waits.
double Estimator::gather_delay_s(const SavedData& data) {
  if (gather_delay_s_ >= 0) return gather_delay_s_;
  const Pass& any = passes_.front();
  const bool aligned = layout_.pp > 1 && layout_.vpp > 1;
  double delay_s = 0;
  for (size_t s = 0; s < (aligned ? 1 : division_->stages.size()); ++s) {
    const auto& buckets = data.by_kind[static_cast<size_t>(division_->stage_kinds[s])].buckets;
    const std::vector<int>& chunks = division_->chunk_kinds[s];
    DataLane lane;
    double alone_s = 0;
    const auto issue_all = [&](size_t c) {
      if (c < buckets.size())
        for (const DataCosts::Bucket& bucket : buckets[c]) lane.issue(bucket.gather_s);
    };
    if (aligned) issue_all(0), issue_all(1);
    for (size_t c = 0; c < chunks.size(); ++c) {
      const auto kind = static_cast<size_t>(chunks[c]);
      if (aligned && c > 0) issue_all(c + 1);
      gather_along(*any.blocks, any.division->chunks[kind], buckets[c], aligned, lane);
      const double forward_s = any.chunks[kind].forward.tt;
      const auto more = static_cast<double>(aligned ? std::min(layout_.pp, micro_batches_) - 1 : 0);
      lane.compute(more * forward_s, 1, collective_slowdown_);
      alone_s += (more + 1) * forward_s;
    }
    delay_s += std::max(0.0, lane.now_s() - alone_s);
  }
  return gather_delay_s_ = delay_s;
}

const Estimator::Reduced& Estimator::reduced(Pass& of_pass, const SavedData& data) {
  Reduced& found = of_pass.reduced[data.option->sharding == Sharding::kZero0 ? 0 : 1];
  if (found.ready) return found;
  found.ready = true;
  for (size_t kind = 0; kind < data.by_kind.size(); ++kind) {
    const auto stage = static_cast<size_t>(division_->first_stage[kind]);
    const std::vector<int>& chunks = division_->chunk_kinds[stage];
    DataLane lane;
    double alone_s = 0;
    for (size_t c = chunks.size(); c-- > 0;) {
      const auto chunk_kind = static_cast<size_t>(chunks[c]);
      const ChunkPass& alone = of_pass.chunks[chunk_kind];
      const bool apart = layout_.schedule == spec::Schedule::kZbH1 && layout_.pp > 1;
      const double backward_s = (apart ? alone.weight_grad : alone.backward).tt;
      // Between the last backwards of two chunks lie the other micro batches of the group.
      if (c + 1 < chunks.size()) {
        const auto between = static_cast<double>(std::min(layout_.pp, micro_batches_) - 1);
        lane.compute(between * backward_s, 1, collective_slowdown_);
        alone_s += between * backward_s;
      }
      reduce_along(*of_pass.blocks, of_pass.division->chunks[chunk_kind],
                   data.by_kind[kind].buckets[c], apart, lane);
      alone_s += backward_s;
    }
    found.slow_s.push_back(std::max(0.0, lane.now_s() - alone_s));
    found.left_s.push_back(lane.left_s());
  }
  return found;
}

LeastCost Estimator::least(size_t i, Sharding sharding) {
  const Pass& of_pass = pass(i, family(sharding));
  const auto& power = power_[static_cast<size_t>(layout_.base)];
  const physics::Energy work = static_cast<double>(micro_batches_) * of_pass.micro_batch_energy;
  return {of_pass.least_s, power ? power->least_energy_j(work, of_pass.least_s) : 0};
}

/// FSDP runs other kernels and keeps other tensors, so it has passes of its own.
Estimator::Pass& Estimator::pass(size_t i, Family of_family) {
  if (of_family != kFsdpFamily) return passes_[i];
  if (!fsdp_filled_) {
    fsdp_filled_ = true;
    fsdp_passes_.resize(std::max(fsdp_passes_.size(), pass_count_));
    for (size_t k = 0; k < pass_count_; ++k) {
      fsdp_passes_[k].candidate = passes_[k].candidate;
      fsdp_passes_[k].candidate.data = {Sharding::kFsdp, true, true};
      fill_pass(fsdp_passes_[k]);
    }
  }
  return fsdp_passes_[i];
}

Estimate Estimator::estimate(size_t i, const DataOption& data) {
  const Family of_family = family(data.sharding);
  Pass& of_pass = pass(i, of_family);
  const FamilyTimes& played = times(of_family);
  const SavedData& costs = data_of(data);
  const bool buckets = of_family == kBucketed && data.overlap_gradients;
  const bool gathers = of_family <= kScattering && data.overlap_parameters;
  const double gather_s = gathers ? gather_delay_s(costs) : 0;
  const Reduced* reduces = buckets ? &reduced(of_pass, costs) : nullptr;
  // A stage's last backward waits for those of the stages behind it.
  double slow_behind_s = 0, meet_s = 0, norm_s = 0, after_s = 0;
  for (size_t s = division_->stages.size(); s-- > 0;) {
    const auto kind = static_cast<size_t>(division_->stage_kinds[s]);
    const DataCosts& stage = costs.by_kind[kind];
    if (reduces != nullptr) slow_behind_s += reduces->slow_s[kind];
    if (division_->first_stage[kind] != static_cast<int64_t>(s)) continue;
    const double left_s = reduces != nullptr ? reduces->left_s[kind] : played.left_s[i][kind];
    meet_s = std::max(meet_s,
                      played.ends.by_kind[kind][i] + slow_behind_s + left_s + stage.before_norm_s);
    norm_s = std::max(norm_s, stage.norm_s);
    after_s = std::max(after_s, stage.after_norm_s);
  }
  Estimate result;
  result.step_s = costs.by_kind.front().begin_s + gather_s + meet_s + norm_s + after_s;
  result.memory_bytes = memory_bytes(i, data);
  const auto& power = power_[static_cast<size_t>(layout_.base)];
  if (!power) return result;
  physics::Energy work = static_cast<double>(micro_batches_) * of_pass.micro_batch_energy;
  work += static_cast<double>(micro_batches_) * costs.unit_energy;
  work += costs.energy;
  const PowerEstimate::Result found =
      power->of(work, result.step_s, std::min(1.0, of_pass.clocked_s / result.step_s));
  result.step_s = found.step_s;
  result.energy_j = found.energy_j;
  result.gpu_w = found.gpu_w;
  result.max_gpu_c = found.max_gpu_c;
  return result;
}

base::Result<Estimate> Estimator::estimate(const Candidate& candidate) {
  ERGOMETER_TRY(set_layout(candidate.layout));
  set_passes(candidate.overlap, std::span(&candidate.recomputation, 1));
  return estimate(0, candidate.data);
}

}  // namespace ergometer::search
