#include "search/estimate/estimator.h"

#include <algorithm>

#include "plan/allocator.h"
#include "search/overlap/link_demand.h"
#include "spec/job/compression.h"
#include "workload/block/linear.h"
#include "workload/packing.h"
#include "workload/shapes.h"

namespace ergometer::search {
namespace {

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

}  // namespace

Estimator::Estimator(const Space& space) : space_(space), parts_(space), memory_(space, parts_) {
  for (const Space::Base& base : space.bases())
    power_.push_back(PowerEstimate::make(base.megatron));
}

Result<void> Estimator::set_layout(const Layout& layout) {
  layout_ = layout;
  parts_.begin(layout);
  base_ = &space_.base_of(layout).megatron;
  has_allocator_ = base_->software.parameters.has("allocator.rate");
  ERGOMETER_ASSIGN(ranks_, parts_.ranks(layout, false));
  // Sharded parameters and pipelines do not go together.
  fsdp_ranks_ = nullptr;
  if (layout.pp == 1) {
    ERGOMETER_ASSIGN(fsdp_ranks_, parts_.ranks(layout, true));
  }
  Candidate plain;
  plain.layout = layout;
  plain.data = option_of(kScattering);
  scatters_ = workload::scatters_gradients(parts_.job_of(plain));
  plain.data = {};
  const spec::Job& job = parts_.job_of(plain);
  micro_batches_ = job.micro_batches();
  workload_ = &parts_.workload(plain, job);
  division_ = &parts_.division(plain, *workload_);
  memory_.set_layout(layout, *division_, scatters_);
  collective_slowdown_ = slowdown_of_collectives(ranks_->model);
  constexpr size_t kMostData = 512;
  if (saved_data_.size() > kMostData) saved_data_.clear();
  data_ = &saved_data_[{layout.base, layout.tp, layout.cp, layout.pp, layout.vpp,
                        static_cast<int64_t>(layout.split), layout.dp, layout.ep, layout.etp,
                        layout.sequence_parallel}];
  data_demand_ = data_demand(job);
  blocks_.assign(space_.recomputations().size(), {});
  variants_.clear();
  gather_delay_s_ = -1;
  find_transfers(job);
  return {};
}

bool Estimator::blocks_stay_in_domain() const {
  const auto stays = [](const Ranks& ranks) {
    return std::ranges::all_of(kBlockGroups, [&](workload::GroupKind kind) {
      return ranks.placements[static_cast<size_t>(kind)].nodes <= 1;
    });
  };
  return stays(*ranks_) && (fsdp_ranks_ == nullptr || stays(*fsdp_ranks_));
}

void Estimator::find_transfers(const spec::Job& job) {
  transfers_.clear();
  demands_ = {};
  demands_.lines_are_of_ends = spec::has_tiers(job.cluster.fabric.kind);
  transfer_link_ = 0;
  transfer_energy_ = {};
  if (layout_.pp == 1) return;
  const bool scatters = job.training.scatter_gather_p2p;
  double whole = workload_->boundary_bytes, around_s = 0;
  // A compressed border's kernels stand around the message.
  if (const spec::Compression how = spec::activation_compression(job); !how.none()) {
    const double value_bytes = workload::shapes_of(job).element;
    const workload::Packing packing = workload::border_packing(how, whole, value_bytes);
    for (const workload::Operator& kernel : {packing.pack, packing.unpack})
      around_s += ranks_->model.price(kernel, where(ranks_->placements, kernel)).seconds();
    whole *= spec::wire_bytes(how, value_bytes) / value_bytes;
  }
  const workload::Operator op =
      transfer(scatters ? whole / static_cast<double>(layout_.tp) : whole);
  if (scatters) {
    workload::Operator gather = transfer(whole);
    gather.collective = workload::CollectiveKind::kAllGather;
    gather.group = workload::GroupKind::kTensor;
    around_s += ranks_->model.price(gather, ranks_->placements[static_cast<size_t>(gather.group)])
                    .seconds();
  }
  price_links(job, op, around_s);
  meet_transfers(around_s);
  const double sent =
      2 * (static_cast<double>(layout_.pp * layout_.vpp) - 1) / static_cast<double>(layout_.pp);
  if (ranks_->energy)
    transfer_energy_ = sent * ranks_->energy->energy(op, ranks_->links.front()[0]);
}

/// `message`: what every link carries; `around_s`: kernels beside it.
void Estimator::price_links(const spec::Job& job, const workload::Operator& message,
                            double around_s) {
  std::vector<TransferCost> costs;
  std::vector<std::array<LinkDemand, 2>> demands;
  for (const auto& link : ranks_->links) {
    TransferCost& cost = costs.emplace_back();
    std::array<LinkDemand, 2>& asked = demands.emplace_back();
    cost.host_s = ranks_->model.host().collective_launch_s;
    for (size_t way = 0; way < link.size(); ++way) {
      const double alone_s = ranks_->model.price(message, link[way]).seconds();
      asked[way] = link_demand(job, message, link[way], alone_s);
      if (asked[way].share[LinkDemand::kCards] > 0) transfer_link_ = 1;
      cost.messages[way].send_s = alone_s + around_s;
    }
  }
  for (const size_t kind : ranks_->link_kinds) {
    transfers_.push_back(costs[kind]);
    demands_.transfers.push_back(demands[kind]);
  }
}

/// What messages that go forward and back do to each other. `around_s`: of each, kernels.
void Estimator::meet_transfers(double around_s) {
  const size_t links = transfers_.size();
  const std::vector<size_t>& kinds = ranks_->link_kinds;
  for (size_t s = 0; s < links; ++s) {
    // Most links lie between their like.
    if (s > 1 && kinds[s - 2] == kinds[s - 1] && kinds[s - 1] == kinds[s] &&
        kinds[s] == kinds[(s + 1) % links]) {
      transfers_[s].messages = transfers_[s - 1].messages;
      continue;
    }
    // The links on which what meets it at either stage comes or goes.
    const std::array<size_t, 2> beside = {(s + links - 1) % links, (s + 1) % links};
    for (size_t way = 0; way < 2; ++way) {
      const LinkDemand& own = demands_.transfers[s][way];
      TransferCost::Message& message = transfers_[s].messages[way];
      const double sent = 1 - around_s / message.send_s;
      const auto slow = [&](const LinkDemand& other) {
        return 1 + sent * (stretch_beside(own, other) - 1);
      };
      for (size_t end = 0; end < beside.size(); ++end) {
        const std::array<LinkDemand, 2>& others = demands_.transfers[beside[end]];
        message.slow_shared[end] = slow(others[1 - way]);
        // The ends of a tree's lines are apart.
        if (!demands_.lines_are_of_ends) message.slow_followed[end] = slow(only_lines(others[way]));
      }
      if (!demands_.lines_are_of_ends)
        message.slow_met = slow(only_lines(demands_.transfers[s][1 - way]));
    }
  }
}

/// Gradients of the stage that scatters most, which leave one after the other in every micro batch.
/// FSDP gathers beside what it scatters, over lanes of their own.
double Estimator::scattered_s(Sharding sharding) {
  if (sharding != Sharding::kZero2 || layout_.pp == 1) return 0;
  double most_s = 0;
  for (const DataCosts& stage : data_of(option_of(kScattering)).by_kind) {
    double sent_s = 0;
    for (const auto& chunk : stage.units)
      for (const DataCosts::Unit& unit : chunk) sent_s += unit.scatter_s;
    most_s = std::max(most_s, static_cast<double>(micro_batches_) * sent_s);
  }
  return most_s;
}

const Estimator::SavedData& Estimator::data_of(const DataOption& data) {
  for (const SavedData& saved : *data_)
    if (saved.option == data) return saved;
  SavedData& saved = data_->emplace_back();
  saved.option = data;
  Candidate candidate;
  candidate.layout = layout_;
  candidate.data = data;
  const spec::Job& job = parts_.job_of(candidate);
  std::vector<double> stages(static_cast<size_t>(division_->kinds()));
  for (const int kind : division_->stage_kinds) stages[static_cast<size_t>(kind)] += 1;
  const Ranks& ranks = ranks_of(data.sharding);
  const cost::EnergyModel* energy = ranks.energy ? &*ranks.energy : nullptr;
  for (size_t kind = 0; kind < stages.size(); ++kind) {
    const int64_t first = division_->first_stage[kind];
    saved.by_kind.push_back(data_costs(job, *workload_,
                                       division_->stages[static_cast<size_t>(first)], first,
                                       ranks.model, energy, ranks.placements));
    const double share = stages[kind] / static_cast<double>(layout_.pp);
    saved.energy += share * saved.by_kind.back().step_energy;
    saved.unit_energy += share * saved.by_kind.back().micro_batch_energy;
  }
  return saved;
}

LeastCost Estimator::least(size_t i, Sharding sharding) {
  const Pass& of_pass = pass(i, family_of(sharding));
  const double scatter_s = scattered_s(sharding);
  const auto& power = power_[static_cast<size_t>(layout_.base)];
  const physics::Energy work = static_cast<double>(micro_batches_) * of_pass.micro_batch_energy;
  return {.step_s = std::max(of_pass.least_s, scatter_s),
          .blocks_s = of_pass.least_s,
          .energy_j = power ? power->least_energy_j(work, of_pass.least_s) : 0};
}

double Estimator::allocator_wait_s(size_t kind, const Candidate& candidate, Sharding sharding) {
  if (!has_allocator_) return 0;
  const auto stage = static_cast<size_t>(division_->first_stage[kind]);
  const double bytes =
      memory_.stage_bytes(kind, candidate.overlap, candidate.recomputation, sharding);
  return plan::allocator_wait_s(parts_.job_of(candidate), division_->stages[stage], bytes);
}

Estimate Estimator::estimate(size_t i, const DataOption& data) {
  const Family of_family = family_of(data.sharding);
  const Pass& of_pass = pass(i, of_family);
  const PassTimes& played = times(of_family, i);
  const SavedData& costs = data_of(data);
  const bool buckets = of_family == kBucketed && data.overlap_gradients;
  const bool gathers = of_family <= kScattering && data.overlap_parameters;
  // A host that is late catches up while its GPU waits for parameters.
  const double around_s =
      gathers ? std::max(0.0, gather_delay_s(of_pass, costs) - of_pass.slack_s) : 0;
  const Reduced* reduces = buckets ? &reduced(i, costs) : nullptr;
  // A stage's last backward waits for those of the stages behind it, but not for their weights'
  // gradients where these are made apart.
  double slow_behind_s = 0, meet_s = 0, norm_s = 0, after_s = 0;
  for (size_t s = division_->stages.size(); s-- > 0;) {
    const auto kind = static_cast<size_t>(division_->stage_kinds[s]);
    const DataCosts& stage = costs.by_kind[kind];
    if (weights_apart()) slow_behind_s = 0;
    if (reduces != nullptr) slow_behind_s += reduces->slow_s[kind];
    if (division_->first_stage[kind] != static_cast<int64_t>(s)) continue;
    // What is left to be sent goes on while the stage waits for memory.
    const double left_s =
        std::max(allocator_wait_s(kind, of_pass.candidate, data.sharding),
                 reduces != nullptr ? reduces->left_s[kind] : played.left_s[kind]);
    meet_s = std::max(meet_s, played.ends_s[kind] + slow_behind_s + left_s + stage.before_norm_s);
    norm_s = std::max(norm_s, stage.norm_s);
    after_s = std::max(after_s, stage.after_norm_s);
  }
  Estimate result;
  result.step_s = costs.by_kind.front().begin_s + around_s + meet_s + norm_s + after_s;
  // Nor does the line between two anchors undercut what nothing can.
  result.step_s = std::max(result.step_s, of_pass.least_s);
  result.memory_bytes = memory_bytes(i, data);
  const auto& power = power_[static_cast<size_t>(layout_.base)];
  if (!power) return result;
  physics::Energy work = static_cast<double>(micro_batches_) * of_pass.micro_batch_energy;
  work += static_cast<double>(micro_batches_) * costs.unit_energy;
  work += costs.energy;
  const PowerEstimate::Result found =
      power->of(work, result.step_s, std::min(1.0, of_pass.clocked_s / result.step_s),
                of_pass.slack_s / result.step_s, of_pass.most_work);
  result.step_s = found.step_s;
  result.energy_j = found.energy_j;
  result.gpu_w = found.gpu_w;
  result.max_gpu_c = found.max_gpu_c;
  return result;
}

Result<Estimate> Estimator::estimate(const Candidate& candidate) {
  ERGOMETER_TRY(set_layout(candidate.layout));
  const PassVariant variant{candidate.overlap, candidate.recomputation};
  set_passes(std::span(&variant, 1));
  return estimate(0, candidate.data);
}

}  // namespace ergometer::search
