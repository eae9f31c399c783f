#include "search/overlap/block_costs.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "engine/time/timeline.h"
#include "plan/plan.h"
#include "plan/program.h"
#include "search/overlap/link_demand.h"
#include "workload/block/graphs.h"

namespace ergometer::search {
namespace {

using workload::GroupKind;
using workload::Item;
using workload::Operator;
using workload::OperatorKind;
using workload::Pass;
using workload::Stream;

constexpr std::string_view kToHost = "_to_host";  // as in plan/program.cpp

/// One layer of every kind, on one stage, one micro batch, nothing of data parallelism: the
/// smallest job whose program has the blocks' side streams.
spec::Job smallest(const spec::Job& job) {
  spec::Job small = job;
  std::vector<spec::Layer> kinds;
  for (const spec::Layer& layer : job.model.layers)
    if (!base::contains(kinds, layer)) kinds.push_back(layer);
  // Two of each: what runs beside what at a block's border shows.
  small.model.layers.clear();
  for (const spec::Layer& layer : kinds)
    small.model.layers.insert(small.model.layers.end(), 2, layer);
  spec::Parallelism& p = small.parallelism;
  small.gpus = job.stage_ranks();
  p.pp = p.vpp = 1;
  p.schedule = spec::Schedule::kOneFOneB;
  p.zero_stage = 0;
  p.fsdp = false;
  p.stage_layers.clear();
  p.first_stage_layers = p.last_stage_layers = 0;
  p.embedding_counts_as_layer = p.loss_counts_as_layer = false;
  spec::Training& t = small.training;
  t.global_batch = t.micro_batch * p.dp;
  t.overlap_grad_reduce = t.overlap_param_gather = t.overlap_expert_parallel = false;
  if (t.offloaded_layers > 0)  // the same share of the layers
    t.offloaded_layers = std::max<int64_t>(
        1, t.offloaded_layers * small.model.layer_count() / job.model.layer_count());
  t.recompute_layers = 0;
  t.recompute_stage_layers.clear();
  return small;
}

bool has_side_streams(const workload::Workload& workload) {
  for (const workload::Block& block : workload.blocks)
    for (const auto* list : {&block.forward, &block.backward})
      for (const Item& item : *list)
        if (item.kind == Item::Kind::kOperator && item.stream != Stream::kCompute) return true;
  return false;
}

/// `plan::make_plan` of one stage whose groups lie where `placements` says: finding that out takes
/// longer than all else here.
plan::Plan one_stage(const spec::Job& job, const workload::Workload& workload,
                     const Placements& placements) {
  plan::Plan plan;
  plan.stages = plan::divide(job, workload);
  plan.ranks_per_role = job.stage_ranks();
  plan::OperatorTable operators(workload);
  plan.roles.push_back(
      plan::write_role(job, workload, job.micro_batches(), plan.stages.front(), 0, operators));
  plan.operators = operators.take();
  std::vector<plan::GroupPlacement>& placed = plan.placements.emplace_back();
  for (const Operator& op : plan.operators) placed.push_back(where(placements, op));
  return plan;
}

/// How contention stretches every operator of the workload: the mean over where the smallest job's
/// program runs it.
std::vector<double> stretches(const spec::Job& job, const cost::CostModel& model,
                              const workload::Workload& workload, const Placements& placements) {
  std::vector<double> stretch(workload.operators.size(), 1.0);
  // Rings of hundreds of ranks have thousands of steps, of which each pair would be looked at.
  constexpr size_t kMostOperators = 1000;
  if (!has_side_streams(workload) || workload.operators.size() > kMostOperators) return stretch;
  const spec::Job small = smallest(job);
  const workload::Workload lowered = workload::lower(small);
  plan::Plan plan = one_stage(small, lowered, placements);
  // The step's end is of data parallelism, which is another one in every layout.
  std::erase_if(plan.roles[0].program, [&](const plan::Instruction& instruction) {
    return instruction.op >= static_cast<int32_t>(lowered.operators.size());
  });
  const cost::CostTable costs = cost::price_plan(model, plan, small);
  const engine::Stretch settled = engine::settle_contention(small, plan, model, costs);
  if (settled.empty()) return stretch;
  std::vector<double> sums(plan.operators.size()), counts(plan.operators.size());
  for (size_t i = 0; i < plan.roles[0].program.size(); ++i) {
    const int32_t op = plan.roles[0].program[i].op;
    if (op < 0) continue;
    sums[static_cast<size_t>(op)] += static_cast<double>(settled[0][i]);
    counts[static_cast<size_t>(op)] += 1;
  }
  // Layers of one kind share a block, so both workloads have the same operators in the same order.
  for (size_t i = 0; i < stretch.size() && i < sums.size(); ++i)
    if (counts[i] > 0) stretch[i] = sums[i] / counts[i];
  return stretch;
}

/// A stream's readiness by what it came from: the compute stream at the start, or the host.
struct Ready {
  double from_t = MaxPlus::kNever, from_h = MaxPlus::kNever;
  void raise(const Ready& other) {
    from_t = std::max(from_t, other.from_t);
    from_h = std::max(from_h, other.from_h);
  }
};

class PassCosts {
 public:
  PassCosts(const spec::Job& job, const cost::CostModel& model, const cost::EnergyModel* energy,
            const Placements& placements, const LinkDemand& data,
            const workload::Workload& workload, std::vector<double>& stretch)
      : job_(job),
        model_(model),
        energy_(energy),
        placements_(placements),
        data_(data),
        workload_(workload) {
    collective_slowdown_ = model.collective_slowdown(collective(GroupKind::kData), Operator{});
    if (stretch.empty()) stretch = stretches(job, model, workload, placements);
    find_exchange(job);
    for (size_t i = 0; i < workload.operators.size(); ++i) prices_.push_back(priced(i, stretch[i]));
  }

  const LinkDemand& exchange() const { return exchange_demand_; }

  /// `keep`: which operators run.
  template <class Keep>
  PassCost of(const std::vector<Item>& items, Keep keep) const {
    PassCost cost;
    for (const Item& item : items) {
      if (item.kind == Item::Kind::kJoin || !keep(operator_of(item))) continue;
      add(item, cost);
    }
    cost.time = walk(items, keep, kNothing).time;
    if (cost.time.tt <= 0) return cost;
    const auto find = [&](Beside other, double& slow, double& slows) {
      const Walk beside = walk(items, keep, other);
      if (other == kData) cost.beside_data = beside.time;
      slow = std::max(1.0, beside.time.tt / cost.time.tt);
      slows = 1 + std::min(1.0, beside.slows_s / beside.time.tt);
    };
    find(kData, cost.slow_data, cost.slows_data);
    find(kNear, cost.slow_transfer[0], cost.slows_transfer[0]);
    find(kFar, cost.slow_transfer[1], cost.slows_transfer[1]);
    if (cost.expert_s > 0) pair(items, keep, cost);
    return cost;
  }

 private:
  /// What else may be at work on a rank: data parallelism's collectives, a pipeline transfer inside
  /// the domain or out of it, or an exchange between experts. A transfer asks for all of its link.
  enum Beside : uint8_t { kNothing, kData, kNear, kFar, kExperts };
  static constexpr size_t kBesides = 5;
  struct Priced {
    cost::Price price;
    /// How much longer it takes beside another, and how much that falls behind meanwhile.
    std::array<double, kBesides> slow{1, 1, 1, 1, 1}, slows{1, 1, 1, 1, 1};
    double hidden_s = 0, open_s = 0;  ///< an exchange: its parts beside another micro batch's work
  };
  struct Walk {
    MaxPlus time;
    double slows_s = 0;  ///< what the other falls behind in all
  };

  const Operator& operator_of(const Item& item) const {
    return workload_.operators[static_cast<size_t>(item.op)];
  }

  /// A rank that is as full as a layer's fullest is on average: the others wait for it.
  cost::Price price(size_t index) const {
    const Operator& op = workload_.operators[index];
    cost::Price price = model_.price(op, where(placements_, op));
    if (workload_.uneven == nullptr) return price;
    const workload::ExpertLoads& loads = workload_.uneven->loads;
    const Operator& full = workload_.uneven->operators[index];
    const cost::Price most = model_.price(full, where(placements_, full));
    const double along = (loads.mean_fullest() - 1) / (loads.most - 1);
    price.fixed_s += along * (most.fixed_s - price.fixed_s);
    price.clocked_s += along * (most.clocked_s - price.clocked_s);
    return price;
  }

  Priced priced(size_t index, double stretch) const {
    const Operator& op = workload_.operators[index];
    Priced result;
    result.price = price(index);
    const LinkDemand own = link_demand(job_, op, where(placements_, op), result.price.seconds());
    result.price.fixed_s *= stretch;
    result.price.clocked_s *= stretch;
    const bool is_collective = op.kind == OperatorKind::kCollective;
    if (op.kernels == 0 && !is_collective) return result;  // a copy or a wait slows nothing
    for (const Beside other : {kData, kNear, kFar}) {
      LinkDemand demand = data_;
      if (other != kData) demand.share = {other == kNear ? 1.0 : 0.0, other == kFar ? 1.0 : 0.0};
      const GroupKind group = other == kData ? GroupKind::kData : GroupKind::kPipeline;
      const double slow = is_collective ? stretch_beside(own, demand)
                                        : model_.compute_slowdown(op, collective(group));
      // On top of what the block's own streams do to each other.
      result.slow[other] = (stretch + slow - 1) / stretch;
      result.slows[other] = is_collective ? stretch_beside(demand, own) : collective_slowdown_;
    }
    if (exchange_ == nullptr) return result;
    const double slow = is_collective ? stretch_beside(own, exchange_demand_)
                                      : model_.compute_slowdown(op, *exchange_);
    result.slow[kExperts] = (stretch + slow - 1) / stretch;
    result.slows[kExperts] =
        is_collective ? stretch_beside(exchange_demand_, own) : collective_slowdown_;
    if (!is_exchange(op)) return result;
    // As the plan divides it (`plan/program.cpp`): either part has a latency of its own.
    Operator hidden = op, open = op;
    hidden.comm_bytes *= hidden_share_;
    open.comm_bytes -= hidden.comm_bytes;
    const auto seconds = [&](const Operator& part) {
      return model_.price(part, where(placements_, part)).seconds();
    };
    if (hidden_share_ > 0) result.hidden_s = seconds(hidden);
    if (hidden_share_ < 1) result.open_s = seconds(open);
    return result;
  }

  bool is_exchange(const Operator& op) const { return plan::exchanges_tokens(job_, op); }

  /// The workload's largest exchange between experts stands for all.
  void find_exchange(const spec::Job& job) {
    hidden_share_ = workload::captures_everything(job.training)
                        ? 1
                        : job.software.parameters.value_or("overlap.expert_share", 1);
    for (const Operator& op : workload_.operators)
      if (is_exchange(op) && (exchange_ == nullptr || op.comm_bytes > exchange_->comm_bytes))
        exchange_ = &op;
    if (exchange_ == nullptr) return;
    const plan::GroupPlacement& placed = where(placements_, *exchange_);
    exchange_demand_ =
        link_demand(job_, *exchange_, placed, model_.price(*exchange_, placed).seconds());
  }

  /// The pass taking turns with another micro batch's.
  template <class Keep>
  void pair(const std::vector<Item>& items, Keep keep, PassCost& cost) const {
    cost.paired_time = walk(items, keep, kNothing, true).time;
    PairedPart part;
    double alone_s = 0, open_s = 0;
    const auto finish = [&](double hidden_s, double part_open_s, double shared) {
      part.hidden_s = hidden_s;
      part.open_s = part_open_s;
      part.shared = shared;
      alone_s += part.alone_s;
      open_s += part_open_s;
      cost.paired.push_back(part);
      part = {};
    };
    for (const Item& item : items) {
      if (item.kind == Item::Kind::kJoin || item.stream != Stream::kCompute) continue;
      const Operator& op = operator_of(item);
      if (!keep(op)) continue;
      const Priced& priced = prices_[static_cast<size_t>(item.op)];
      if (is_exchange(op))
        finish(priced.hidden_s, priced.open_s, priced.slow[kExperts]);
      else
        part.alone_s += priced.price.seconds();
    }
    finish(0, 0, 1);
    // What the compute stream waits for inside the pass is spread over its parts, and so is what an
    // exchange does to the pass and its side streams.
    const double closed_s = cost.paired_time.tt - open_s;
    if (alone_s <= 0 || closed_s <= 0) return;
    const Walk beside = walk(items, keep, kExperts, true);
    const double slow = std::max(1.0, (beside.time.tt - open_s) / closed_s);
    const double slows = 1 + std::min(1.0, beside.slows_s / (closed_s * slow));
    for (PairedPart& each : cost.paired) {
      each.alone_s *= closed_s / alone_s;
      each.slow = slow;
      each.slows = slows;
    }
  }

  /// The pass beside `other` from its begin to its end.
  template <class Keep>
  Walk walk(const std::vector<Item>& items, Keep keep, Beside other, bool paired = false) const {
    std::array<Ready, workload::kStreamCount> streams;
    Ready host{MaxPlus::kNever, 0};
    streams[0] = {0, MaxPlus::kNever};
    Walk result;
    for (const Item& item : items) {
      Ready& stream = streams[static_cast<size_t>(item.stream)];
      if (item.kind == Item::Kind::kJoin) {
        stream.raise(streams[static_cast<size_t>(item.on)]);
        continue;
      }
      const Operator& op = operator_of(item);
      if (!keep(op)) continue;
      const Priced& priced = prices_[static_cast<size_t>(item.op)];
      const bool hides = paired && item.stream == Stream::kCompute && is_exchange(op);
      const double seconds = hides ? priced.open_s : priced.price.seconds() * priced.slow[other];
      if (!hides) result.slows_s += seconds * (priced.slows[other] - 1);
      stream.raise(host);
      stream.from_t += seconds;
      stream.from_h += seconds;
      // Divided, it is launched twice.
      const double launches = hides && hidden_share_ > 0 && hidden_share_ < 1 ? 2 : 1;
      const double host_s = launches * model_.host().host_s(op);
      host.from_t += host_s;
      host.from_h += host_s;
      if (op.name.ends_with(kToHost)) host.raise(streams[0]);
    }
    result.time = {streams[0].from_t, streams[0].from_h, host.from_t, host.from_h};
    return result;
  }

  void add(const Item& item, PassCost& cost) const {
    const Operator& op = operator_of(item);
    if (energy_ != nullptr) cost.energy += energy_->energy(op, where(placements_, op));
    if (item.stream != Stream::kCompute) return;
    const cost::Price& price = prices_[static_cast<size_t>(item.op)].price;
    cost.compute_s += price.seconds();
    cost.clocked_s += price.clocked_s;
    if (is_exchange(op)) cost.expert_s += price.seconds();
  }

  static const Operator& collective(GroupKind group) {
    static const std::array<Operator, 2> kOperators = [] {
      std::array<Operator, 2> made;
      for (Operator& op : made) op.kind = OperatorKind::kCollective;
      made[0].collective = workload::CollectiveKind::kReduceScatter;
      made[0].group = GroupKind::kData;
      made[1].collective = workload::CollectiveKind::kSendRecv;
      made[1].group = GroupKind::kPipeline;
      return made;
    }();
    return kOperators[group == GroupKind::kPipeline ? 1 : 0];
  }

  const spec::Job& job_;
  const cost::CostModel& model_;
  const cost::EnergyModel* energy_;
  const Placements& placements_;
  const LinkDemand data_;
  const workload::Workload& workload_;
  double collective_slowdown_ = 1;
  const Operator* exchange_ = nullptr;  ///< between experts; null: there is none
  LinkDemand exchange_demand_;
  double hidden_share_ = 1;
  std::vector<Priced> prices_;
};

}  // namespace

const plan::GroupPlacement& where(const Placements& placements, const Operator& op) {
  static const plan::GroupPlacement kAlone;
  return op.kind == OperatorKind::kCollective ? placements[static_cast<size_t>(op.group)] : kAlone;
}

void BlockCosts::add_rows(size_t block, size_t count) {
  const BlockCost& cost = blocks[block];
  const MaxPlus& again = cost.recompute.time;
  std::vector<BlockRow>& of_block = rows[block];
  while (of_block.size() <= count) {
    const auto row = [times = static_cast<long>(of_block.size())](const MaxPlus& one) {
      return repeat(one, times);
    };
    of_block.push_back(
        {.forward = row(cost.forward.time),
         .weight_grad = row(cost.weight_grad.time),
         .backward = {row(cost.backward.time), row(then(again, cost.backward.time))},
         .input_grad = {row(cost.input_grad.time), row(then(again, cost.input_grad.time))}});
  }
}

BlockCosts block_costs(std::shared_ptr<const workload::Workload> workload, const spec::Job& job,
                       const cost::CostModel& model, const cost::EnergyModel* energy,
                       const Placements& placements, const LinkDemand& data,
                       std::vector<double>& stretch) {
  BlockCosts costs;
  costs.workload = std::move(workload);
  const PassCosts passes(job, model, energy, placements, data, *costs.workload, stretch);
  costs.exchange = passes.exchange();
  const auto all = [](const Operator&) { return true; };
  const auto weight = [](const Operator& op) { return op.pass == Pass::kWeight; };
  const auto input = [](const Operator& op) { return op.pass != Pass::kWeight; };
  for (const workload::Block& block : costs.workload->blocks)
    costs.blocks.push_back({.forward = passes.of(block.forward, all),
                            .recompute = passes.of(block.recompute, all),
                            .backward = passes.of(block.backward, all),
                            .input_grad = passes.of(block.backward, input),
                            .weight_grad = passes.of(block.backward, weight)});
  costs.rows.resize(costs.blocks.size());
  return costs;
}

}  // namespace ergometer::search
