#include "search/overlap/data_costs.h"

#include <algorithm>
#include <optional>

#include "plan/data_parallel.h"
#include "plan/sharded_units.h"
#include "plan/step_end.h"

namespace ergometer::search {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::GroupKind;
using workload::OperatorKind;
using workload::Stream;

/// Reads what the plan writes for a stage and prices it.
class Reader {
 public:
  Reader(const spec::Job& job, const workload::Workload& workload, const plan::Stage& stage,
         int64_t stage_index, const cost::CostModel& model, const cost::EnergyModel* energy,
         const Placements& placements)
      : job_(job),
        workload_(workload),
        stage_(stage),
        stage_index_(stage_index),
        model_(model),
        energy_(energy),
        placements_(placements),
        operators_(no_operators()),
        writer_(role_, operators_),
        data_(job, workload, stage, stage_index, operators_, writer_),
        units_(job, workload, stage, operators_, writer_) {}

  DataCosts read() {
    read_units();
    read_buckets();
    read_step_end();
    return std::move(costs_);
  }

 private:
  /// The plan's own operators are looked for among themselves only, so the workload's need not be
  /// there.
  static const workload::Workload& no_operators() {
    static const workload::Workload kNone;
    return kNone;
  }

  static const workload::Operator& scatter() {
    static const workload::Operator kScatter = [] {
      workload::Operator op;
      op.kind = OperatorKind::kCollective;
      op.collective = workload::CollectiveKind::kReduceScatter;
      op.group = GroupKind::kData;
      return op;
    }();
    return kScatter;
  }

  struct Sum {
    double compute_s = 0, data_s = 0, host_s = 0;
    double slowed_s = 0, slows_s = 0;  ///< of compute, beside a collective, and it beside compute
    LinkDemand demand;                 ///< of the latter, times seconds
    physics::Energy energy;
  };
  /// What was written since `begin`.
  Sum sum_since(size_t begin) const {
    Sum sum;
    for (size_t i = begin; i < role_.program.size(); ++i) {
      const Instruction& it = role_.program[i];
      if (it.op < 0 || it.kind == InstructionKind::kWait || it.kind == InstructionKind::kJoin)
        continue;
      const workload::Operator& op = operators_.at(it.op);
      const double seconds = model_.price(op, where(placements_, op)).seconds();
      sum.host_s += model_.host().host_s(op);
      (it.stream == Stream::kCompute ? sum.compute_s : sum.data_s) += seconds;
      if (it.stream == Stream::kCompute) {
        sum.slowed_s += seconds * model_.compute_slowdown(op, scatter());
        sum.slows_s += seconds * model_.collective_slowdown(scatter(), op);
      }
      const LinkDemand demand = link_demand(job_, op, where(placements_, op), seconds);
      for (size_t link = 0; link < demand.share.size(); ++link)
        sum.demand.share[link] += seconds * demand.share[link];
      if (energy_ != nullptr) sum.energy += energy_->energy(op, where(placements_, op));
    }
    return sum;
  }
  template <class Write>
  Sum written(Write write) {
    const size_t begin = writer_.position();
    write();
    return sum_since(begin);
  }

  void read_units() {
    if (!plan::reduces_every_micro_batch(job_)) return;
    struct UnitSums {
      Sum gather, wait, reduce, last;
    };
    std::vector<std::optional<UnitSums>> by_block(workload_.blocks.size());
    double all_s = 0;
    for (size_t chunk = 0; chunk < stage_.chunks.size(); ++chunk) {
      std::vector<DataCosts::Unit>& row = costs_.units.emplace_back();
      for (size_t i = 0; i < stage_.chunks[chunk].blocks.size(); ++i) {
        // The same block is the same unit, wherever it stands.
        std::optional<UnitSums>& known =
            by_block[static_cast<size_t>(stage_.chunks[chunk].blocks[i])];
        if (!known)
          known = {.gather = written([&] { units_.gather(chunk, i); }),
                   .wait = written([&] { units_.wait(chunk, i); }),
                   .reduce = written([&] { units_.reduce(chunk, i, false); }),
                   .last = written([&] { units_.reduce(chunk, i, true); })};
        const auto& [gather, wait, reduce, last] = *known;
        const double copies_s = wait.compute_s + reduce.compute_s;
        const auto mean = [&](double wait_s, double reduce_s) {
          return copies_s > 0 ? (wait_s + reduce_s) / copies_s : 1;
        };
        row.push_back({.gather_s = gather.data_s,
                       .scatter_s = reduce.data_s,
                       .copy_out_s = wait.compute_s,
                       .copy_in_s = reduce.compute_s,
                       .copy_slow = mean(wait.slowed_s, reduce.slowed_s),
                       .copy_slows = mean(wait.slows_s, reduce.slows_s),
                       .gather_host_s = gather.host_s + wait.host_s,
                       .scatter_host_s = reduce.host_s});
        all_s += reduce.data_s;
        for (size_t link = 0; link < reduce.demand.share.size(); ++link)
          costs_.unit_demand.share[link] += reduce.demand.share[link];
        // What only the last micro batch reduces hides beside its backward, but for its copies.
        const bool once = plan::adds_whole_gradients(job_);
        costs_.last_sums_s += once ? last.compute_s : last.data_s - reduce.data_s;
        if (once) costs_.step_energy += last.energy;
        for (const Sum* part : {&gather, &wait, &gather, &wait, &reduce})
          costs_.micro_batch_energy += part->energy;
      }
    }
    for (double& share : costs_.unit_demand.share) share /= all_s > 0 ? all_s : 1;
  }

  void read_buckets() {
    const bool gathers = data_.overlaps_parameters(), reduces = data_.overlaps_gradients();
    costs_.buckets.resize(stage_.chunks.size());
    if (!gathers && !reduces) return;
    for (const bool expert : {false, true}) {
      const GroupKind group = expert ? GroupKind::kExpertData : GroupKind::kData;
      if (plan::rank_group(job_, group).size == 1) continue;
      for (size_t chunk = 0; chunk < stage_.chunks.size(); ++chunk)
        for (const plan::Bucket& bucket : plan::gradient_buckets(
                 job_.training, workload_, stage_.chunks[chunk], expert, plan::bucket_size(job_))) {
          DataCosts::Bucket& costs = costs_.buckets[chunk].emplace_back();
          costs.lowest = bucket.lowest;
          if (reduces) read_reduction(expert, bucket.elements, costs);
          if (gathers) costs.gather_s = gathered_s(group, bucket);
        }
    }
  }

  /// Of a bucket's gradients, with the kernels before it where they are compressed; those behind it
  /// come at the step's end.
  void read_reduction(bool expert, double elements, DataCosts::Bucket& costs) {
    const workload::PackedReduction reduction = plan::gradient_reduction(job_, expert, elements);
    costs.reduce_s = priced_s(reduction.sum);
    if (!reduction.packing) return;
    const workload::Operator& pack = reduction.packing->pack;
    costs.pack_s = priced_s(pack);
    costs.pack_slow = model_.compute_slowdown(pack, reduction.sum);
    costs.pack_slows = model_.collective_slowdown(reduction.sum, pack);
    costs.pack_host_s = model_.host().host_s(pack);
  }

  double gathered_s(GroupKind group, const plan::Bucket& bucket) {
    return priced_s(plan::data_collective("bucket", workload::CollectiveKind::kAllGather, group,
                                          bucket.elements, bucket.sent_bytes / bucket.elements));
  }

  double priced_s(const workload::Operator& op) {
    if (energy_ != nullptr) costs_.step_energy += energy_->energy(op, where(placements_, op));
    return model_.price(op, where(placements_, op)).seconds();
  }

  /// Plays the end of the step on one rank, from where its last backward ends.
  void read_step_end() {
    const Sum begin =
        written([&] { plan::write_step_begin(job_, workload_, stage_, operators_, writer_); });
    costs_.begin_s = begin.compute_s;
    const size_t first = writer_.position();
    plan::write_step_end(job_, workload_, stage_, stage_index_, operators_, writer_, data_, units_);
    double t = 0, h = 0, met = 0;
    for (size_t i = first; i < role_.program.size(); ++i) {
      const Instruction& it = role_.program[i];
      if (it.kind == InstructionKind::kHostSync) h = std::max(h, t);
      if (it.op < 0 || it.kind == InstructionKind::kJoin) continue;
      const workload::Operator& op = operators_.at(it.op);
      const double seconds = model_.price(op, where(placements_, op)).seconds();
      t = std::max(t, h);
      if (op.group == GroupKind::kWorld && op.kind == OperatorKind::kCollective) {
        costs_.before_norm_s = t;
        costs_.norm_s = seconds;
        met = t + seconds;
      }
      t += seconds;
      h += model_.host().host_s(op);
    }
    costs_.after_norm_s = t - met;
    costs_.step_energy += begin.energy;
    costs_.step_energy += sum_since(first).energy;
  }

  const spec::Job& job_;
  const workload::Workload& workload_;
  const plan::Stage& stage_;
  int64_t stage_index_;
  const cost::CostModel& model_;
  const cost::EnergyModel* energy_;
  const Placements& placements_;
  plan::Role role_;
  plan::OperatorTable operators_;
  plan::ProgramWriter writer_;
  plan::DataParallel data_;
  plan::ShardedUnits units_;
  DataCosts costs_;
};

}  // namespace

DataCosts data_costs(const spec::Job& job, const workload::Workload& workload,
                     const plan::Stage& stage, int64_t stage_index, const cost::CostModel& model,
                     const cost::EnergyModel* energy, const Placements& placements) {
  return Reader(job, workload, stage, stage_index, model, energy, placements).read();
}

}  // namespace ergometer::search
