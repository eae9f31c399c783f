#include "engine/outcome/limiter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/collection.h"
#include "cost/network_load.h"
#include "engine/outcome/circuit_waits.h"
#include "engine/outcome/summary.h"
#include "engine/time/rank_loads.h"
#include "plan/allocator.h"
#include "plan/step_end.h"
#include "spec/job/job_words.h"
#include "spec/job/matrix_peak.h"
#include "spec/job/node_groups.h"
#include "spec/job/vocabulary_order.h"
#include "workload/flops.h"

namespace ergometer::engine {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::Operator;
using workload::OperatorKind;

/// Something the step could do without, and the sentence that says so.
struct Loss {
  double seconds = 0;
  std::string text;
};

/// The compute stream's own work, mean over roles.
struct Work {
  double matrix_s = 0, memory_s = 0, recompute_s = 0;
  double reading_s = 0;    ///< of the matrix work, what waits for the memory
  double allocator_s = 0;  ///< waits for memory
  double circuits_s = 0;   ///< waits for circuits of the compute stream
};

/// Of the ranks whose prices a role's are, those on its slowest nodes.
bool is_left_out(const EngineInput& input, size_t role, const plan::Instruction& it) {
  return !input.costs.slowest_group.empty() &&
         engine::is_left_out(input.job, input.costs.slowest_group[role], it,
                             input.plan.operators[static_cast<size_t>(it.op)]);
}

void add_matrix(bool reads, double seconds, Work& work) {
  work.matrix_s += seconds;
  if (reads) work.reading_s += seconds;
}

/// How much longer what follows the clock takes than at the reference clock, mean over ranks.
double clocked_longer(const EngineInput& input) {
  const double sum = base::sum(
      input.clocks_hz, [&](double clock_hz) { return input.costs.reference_clock_hz / clock_hz; });
  return sum / static_cast<double>(input.clocks_hz.size());
}

Work work_of(const EngineInput& input) {
  Work work;
  const double longer = clocked_longer(input);
  const double share = 1.0 / static_cast<double>(input.plan.roles.size());
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const plan::Role& source = input.plan.roles[role];
    for (size_t i = 0; i < source.program.size(); ++i) {
      const plan::Instruction& it = source.program[i];
      if (it.kind != plan::InstructionKind::kCompute || it.op < 0 || is_left_out(input, role, it))
        continue;
      // Copies to the host and back count where compute waits for them.
      if (it.stream == workload::Stream::kHostCopies) continue;
      const Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
      const cost::Price& price = input.costs.prices[role][static_cast<size_t>(it.op)];
      const bool stretched = !input.stretch.empty() && !input.stretch[role].empty();
      const double stretch = stretched ? input.stretch[role][i] : 1;
      const double seconds = share * input.plan.times(source, i) * stretch *
                             (price.fixed_s + longer * price.clocked_s);
      if (op.pass == workload::Pass::kOptimizer) {
        if (op.name == plan::kAllocatorWait) work.allocator_s += seconds;
        if (op.name == plan::kReconfiguration && it.stream == workload::Stream::kCompute)
          work.circuits_s += seconds;
        continue;
      }
      if (op.pass == workload::Pass::kRecompute)
        work.recompute_s += seconds;
      else if (op.kind == OperatorKind::kMemory)
        work.memory_s += seconds;
      else
        add_matrix(price.limit == cost::Limit::kMemory, seconds, work);
    }
  }
  return work;
}

std::string_view group_words(GroupKind group) {
  switch (group) {
    case GroupKind::kTensor: return "tensor parallelism";
    case GroupKind::kContext: return "context parallelism";
    case GroupKind::kExpert: return "expert parallelism";
    case GroupKind::kExpertTensor: return "expert tensor parallelism";
    case GroupKind::kData:
    case GroupKind::kExpertData: return "data parallelism";
    case GroupKind::kShard:
    case GroupKind::kReplica: return "sharded data parallelism";
    case GroupKind::kPipeline: return "pipeline transfers";
    case GroupKind::kEmbedding: return "tied embeddings";
    case GroupKind::kWorld: return "the gradient norm";
    case GroupKind::kStages: return "the vocabulary";
  }
  return "communication";
}

/// Of the groups that a collective kind is over, the one that communicates longest in the step,
/// all its operators together; of it the longest operator, and on which role.
struct Heaviest {
  const Operator* op = nullptr;
  const plan::GroupPlacement* where = nullptr;
  double longest_s = 0;    ///< that operator, in the step
  double group_s = 0;      ///< all operators of the group, over roles, if nobody waited
  double transfers_s = 0;  ///< all operators of the kind, mean over roles
};

void take_longer(const Heaviest& other, Heaviest& found) {
  found.group_s += other.longest_s;
  if (other.longest_s <= found.longest_s) return;
  found.longest_s = other.longest_s;
  found.op = other.op;
  found.where = other.where;
}

/// An operator's seconds in a role's step, by its number.
std::vector<double> transfers_of(const EngineInput& input, size_t role, CollectiveKind kind) {
  std::vector<double> seconds(input.plan.operators.size(), 0);
  const plan::Role& source = input.plan.roles[role];
  for (size_t i = 0; i < source.program.size(); ++i) {
    const plan::Instruction& it = source.program[i];
    if (it.op < 0 || it.kind == plan::InstructionKind::kJoin ||
        it.kind == plan::InstructionKind::kWait || is_left_out(input, role, it))
      continue;
    const auto op = static_cast<size_t>(it.op);
    if (input.plan.operators[op].kind == OperatorKind::kCollective &&
        input.plan.operators[op].collective == kind)
      seconds[op] += input.plan.times(source, i) * input.costs.prices[role][op].seconds();
  }
  return seconds;
}

Heaviest heaviest(const EngineInput& input, CollectiveKind kind) {
  std::map<std::string_view, Heaviest> groups;
  double transfers_s = 0;
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const std::vector<double> seconds = transfers_of(input, role, kind);
    for (size_t op = 0; op < seconds.size(); ++op) {
      if (seconds[op] <= 0) continue;
      const Operator& it = input.plan.operators[op];
      take_longer({.op = &it, .where = &input.plan.placements[role][op], .longest_s = seconds[op]},
                  groups[group_words(it.group)]);
      transfers_s += seconds[op] / static_cast<double>(input.plan.roles.size());
    }
  }
  if (groups.empty()) return {};
  Heaviest found = std::ranges::max_element(groups, {}, [](const auto& it) {
                     return it.second.group_s;
                   })->second;
  found.transfers_s = transfers_s;
  return found;
}

/// Over what a collective goes, and what of a network without a tree of switches holds it up.
std::string way_of(const spec::Job& job, const Heaviest& heavy) {
  if (heavy.where->nodes <= 1) return "inside the scale-up domain";
  const spec::Fabric& fabric = job.cluster.fabric;
  const plan::FabricLoad load = cost::network_load(job, *heavy.op, *heavy.where);
  const plan::LinkLoad* link = load.fullest();
  const bool plain = spec::has_tiers(fabric.kind) && fabric.planes.count == 1;
  if (plain || link == nullptr || link->slowdown <= 1) return "over the network";
  return fmt::format(
      "over the network, {:.2g} times as long as its cards take: {} links of the {}",
      link->slowdown, link->link,
      fabric.kind == spec::FabricKind::kOptical ? "optical network" : spec::to_word(fabric.kind));
}

/// Why ranks come to a collective at different times, as far as the job says.
std::string_view late_ranks(const spec::Job& job) {
  if (!job.loads_experts_evenly()) return "those whose experts get more tokens";
  if (!job.training.sequence_lengths.is_even()) return "those whose documents are more work";
  if (!job.conditions.overrides.empty() || job.conditions.seed != 0) return "those on slower GPUs";
  if (spec::is_mixed(job.cluster)) return "those on slower nodes";
  return "those that come later";
}

Loss exposed(const EngineInput& input, double seconds, double step_s, CollectiveKind kind,
             std::string_view words) {
  if (seconds <= 0) return {};
  const Heaviest heavy = heaviest(input, kind);
  if (heavy.op == nullptr) return {};
  // More than half of it is no transfer, whatever was hidden of these.
  if (seconds > 2 * heavy.transfers_s)
    return {seconds, fmt::format("exposed {} {:.1f} % of the step: ranks of {} wait for {}", words,
                                 100 * seconds / step_s, group_words(heavy.op->group),
                                 late_ranks(input.job))};
  return {seconds, fmt::format("exposed {} {:.1f} % of the step: mostly {}, {}", words,
                               100 * seconds / step_s, group_words(heavy.op->group),
                               way_of(input.job, heavy))};
}

/// A stage's own compute in a step, s.
struct StageWork {
  double all_s = 0;
  double head_s = 0;   ///< of it, the head's and the loss's
  double again_s = 0;  ///< of it, what is computed again
  bool has_layers = false;
};

bool is_of_head(const Operator& op) {
  return op.module == workload::Module::kHead || op.module == workload::Module::kLoss;
}
bool is_of_layers(const Operator& op) {
  using workload::Module;
  return op.module == Module::kAttention || op.module == Module::kMlp ||
         op.module == Module::kMoe || op.module == Module::kMamba;
}

void add_work(const Operator& op, double seconds, StageWork& work) {
  work.all_s += seconds;
  if (is_of_head(op)) work.head_s += seconds;
  if (op.pass == workload::Pass::kRecompute) work.again_s += seconds;
  work.has_layers = work.has_layers || is_of_layers(op);
}

/// Of all stages, at their slowest ranks' clocks or at one clock.
std::vector<StageWork> work_of_stages(const EngineInput& input, bool at_one_clock) {
  std::vector<StageWork> work(static_cast<size_t>(input.job.parallelism.pp));
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const plan::Role& source = input.plan.roles[role];
    const auto stage = static_cast<size_t>(source.stage);
    const auto ranks = static_cast<size_t>(input.job.stage_ranks());
    const bool each = !at_one_clock && input.clocks_hz.size() == work.size() * ranks;
    const double longer = each ? input.costs.reference_clock_hz /
                                     std::ranges::min(input.clocks_hz.subspan(stage * ranks, ranks))
                               : clocked_longer(input);
    for (size_t i = 0; i < source.program.size(); ++i) {
      const plan::Instruction& it = source.program[i];
      if (it.kind != plan::InstructionKind::kCompute || it.op < 0) continue;
      const Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
      if (op.pass == workload::Pass::kOptimizer) continue;
      const cost::Price& price = input.costs.prices[role][static_cast<size_t>(it.op)];
      add_work(op, input.plan.times(source, i) * (price.fixed_s + longer * price.clocked_s),
               work[stage]);
    }
  }
  return work;
}

/// How long hosts keep each stage waiting for launches.
std::vector<double> launches_of_stages(const EngineInput& input, const Timeline& timeline) {
  std::vector<double> launches_s(static_cast<size_t>(input.job.parallelism.pp), 0);
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    double& longest_s = launches_s[static_cast<size_t>(input.plan.roles[role].stage)];
    longest_s = std::max(longest_s, timeline.host_gaps_s[role]);
  }
  return launches_s;
}

/// A part of the stages' work, of one stage beyond the mean of all.
template <class Part>
double beyond_mean_s(const std::vector<StageWork>& work, size_t stage, Part part) {
  return std::invoke(part, work[stage]) - base::sum(work, part) / static_cast<double>(work.size());
}

/// What makes a stage that is heavier than the others like them, and what of it is unlike.
std::string evened_out(const EngineInput& input, const std::vector<StageWork>& work, size_t stage) {
  const spec::Parallelism& layout = input.job.parallelism;
  const double half_s = beyond_mean_s(work, stage, &StageWork::all_s) / 2;
  const bool by_head =
      !layout.divides_vocabulary() && beyond_mean_s(work, stage, &StageWork::head_s) > half_s;
  const bool by_recompute = input.job.training.recompute == spec::Recompute::kFull &&
                            beyond_mean_s(work, stage, &StageWork::again_s) > half_s;
  std::vector<std::string_view> remedies;
  if (by_recompute)
    remedies.emplace_back("fewer layers computed again on it (--recompute-stage-layers)");
  if (work[stage].has_layers) remedies.emplace_back("fewer layers on it (--stage-layers)");
  if (by_head && !layout.trains_apart() && spec::why_vocabulary_is_whole(input.job).empty())
    remedies.emplace_back("parts of the vocabulary on all stages (--vocabulary-parallel)");
  std::string text = by_head ? "it has the head" : by_recompute ? "it computes most again" : "";
  if (!remedies.empty())
    text += fmt::format("{}{} shrink it", text.empty() ? "" : "; ", fmt::join(remedies, " or "));
  return text;
}

std::string heavy_stage(const EngineInput& input, const std::vector<StageWork>& work,
                        size_t stage) {
  const double beyond_s = beyond_mean_s(work, stage, &StageWork::all_s);
  const bool by_clock =
      beyond_mean_s(work_of_stages(input, true), stage, &StageWork::all_s) < beyond_s / 2;
  const std::string why =
      by_clock ? "its GPUs run at lower clocks" : evened_out(input, work, stage);
  return fmt::format(
      "stages wait for stage {}, which takes {:.2f} times as long as the mean stage{}", stage,
      work[stage].all_s / (work[stage].all_s - beyond_s), why.empty() ? "" : ": " + why);
}

/// A bubble that neither one stage's work nor the schedule explains: launches and micro batches
/// that are unlike, or many things together.
std::string why_else(const EngineInput& input, const std::vector<StageWork>& work,
                     const std::vector<double>& launches_s, double bubble_s) {
  const double mean_launches_s = base::sum(launches_s) / static_cast<double>(launches_s.size());
  std::vector<double> busy_s;
  for (size_t stage = 0; stage < work.size(); ++stage)
    busy_s.push_back(work[stage].all_s + launches_s[stage]);
  const auto stage = static_cast<size_t>(std::ranges::max_element(busy_s) - busy_s.begin());
  if (launches_s[stage] - mean_launches_s > bubble_s / 2)
    return fmt::format(
        "stages wait for stage {}, whose host launches kernels more slowly than they run; larger "
        "micro batches shrink it",
        stage);
  if (!input.job.training.sequence_lengths.is_even())
    return "stages wait for each other's micro batches, whose documents are unlike work";
  if (input.job.model.vision != nullptr && input.job.trains())
    return fmt::format(
        "stages wait for each other, mostly for stage {}; micro batches of images are unlike work",
        stage);
  return fmt::format(
      "stages wait for each other, mostly for stage {}, which work and launches keep busy longest",
      stage);
}

/// The bubble that a schedule of stages with equal work has at most.
double schedule_bubble_s(const spec::Job& job, double step_s) {
  const spec::Parallelism& layout = job.parallelism;
  const auto filling = static_cast<double>(layout.pp - 1);
  return step_s * filling / (static_cast<double>(job.micro_batches() * layout.vpp) + filling);
}

/// What more than half of a bubble comes from: one stage whose work or clock is unlike the others',
/// or the schedule; else what these leave.
std::string why_bubble(const EngineInput& input, const Timeline& timeline, double bubble_s,
                       double step_s) {
  const std::vector<StageWork> work = work_of_stages(input, false);
  const auto stage =
      static_cast<size_t>(std::ranges::max_element(work, {}, &StageWork::all_s) - work.begin());
  if (beyond_mean_s(work, stage, &StageWork::all_s) > bubble_s / 2)
    return heavy_stage(input, work, stage);
  if (schedule_bubble_s(input.job, step_s) >= bubble_s / 2)
    return fmt::format(
        "{} stages share {} micro batches; more micro batches, more virtual stages "
        "or fewer stages shrink it",
        input.job.parallelism.pp, input.job.micro_batches());
  return why_else(input, work, launches_of_stages(input, timeline), bubble_s);
}

Loss bubble(const EngineInput& input, const Timeline& timeline,
            const run::Performance& performance) {
  const double fraction = performance.pipeline_bubble_fraction;
  const double bubble_s = fraction * performance.step_time_s;
  if (bubble_s <= 0) return {};
  return {bubble_s,
          fmt::format("pipeline bubble {:.1f} % of the step: {}", 100 * fraction,
                      spec::is_mixed(input.job.cluster)
                          ? "stages on unlike GPUs wait for each other; more layers on the quicker "
                            "ones shrink it (--layers-by-speed, --stage-layers)"
                          : why_bubble(input, timeline, bubble_s, performance.step_time_s))};
}

/// What matrix work takes above the time it would take at the best rate long GEMMs reach on this
/// GPU.
Loss slow_matrices(const EngineInput& input, const Work& work,
                   const run::Performance& performance) {
  const spec::Gpu& gpu = input.job.cluster.node.gpu;
  const spec::Precision precision = input.job.training.precision;
  const double best =
      gpu.parameters.value_or(precision == spec::Precision::kFp8     ? "gemm.fp8_efficiency"
                              : precision == spec::Precision::kNvfp4 ? "gemm.fp4_efficiency"
                                                                     : "gemm.efficiency",
                              1.0) *
      peak_flops_per_s(input.job) * spec::clocked_share(gpu, input.job.training, precision);
  const double flops =
      workload::model_flops_per_step(input.job).value() / static_cast<double>(input.job.gpus);
  if (best <= 0 || work.matrix_s <= 0) return {};
  if (!input.job.trains() && work.reading_s > work.matrix_s / 2)
    return {
        work.matrix_s - flops / best,
        fmt::format("HBM: GEMMs and attention, which read weights and cache for few tokens each, "
                    "take {:.1f} % of the step; more tokens at a time use what is read",
                    100 * work.matrix_s / performance.step_time_s)};
  const double reached = flops / work.matrix_s / peak_flops_per_s(input.job);
  return {work.matrix_s - flops / best,
          fmt::format(
              "GEMMs and attention at {:.0f} % of peak bound the step: they take {:.1f} % of it",
              100 * reached, 100 * work.matrix_s / performance.step_time_s)};
}

Loss simple(double seconds, double step_s, std::string_view what, std::string_view why) {
  return {seconds, fmt::format("{} {:.1f} % of the step: {}", what, 100 * seconds / step_s, why)};
}

}  // namespace

std::string limiter(const EngineInput& input, const Timeline& timeline,
                    const run::Performance& performance) {
  const double step_s = performance.step_time_s;
  if (step_s <= 0) return "nothing to do";
  const run::Breakdown& parts = performance.breakdown_s;
  const Work work = work_of(input);
  const double beside_s = std::min(parts.idle, circuit_waits_s(input));
  const double host_s =
      std::accumulate(timeline.host_gaps_s.begin(), timeline.host_gaps_s.end(), 0.0) /
      static_cast<double>(timeline.host_gaps_s.size());
  const Loss losses[] = {
      slow_matrices(input, work, performance),
      bubble(input, timeline, performance),
      exposed(input, parts.exposed_all_reduce, step_s, CollectiveKind::kAllReduce, "all-reduce"),
      exposed(input, parts.exposed_all_gather, step_s, CollectiveKind::kAllGather, "all-gather"),
      exposed(input, parts.exposed_reduce_scatter, step_s, CollectiveKind::kReduceScatter,
              "reduce-scatter"),
      exposed(input, parts.exposed_all_to_all, step_s, CollectiveKind::kAllToAll, "all-to-all"),
      exposed(input, parts.exposed_send_recv, step_s, CollectiveKind::kSendRecv,
              "send and receive"),
      simple(work.recompute_s, step_s, "recomputation",
             "activations are computed twice to save memory"),
      simple(work.memory_s, step_s, "memory-bound kernels",
             "norms, activations and copies wait for HBM"),
      simple(host_s, step_s, "the host", "kernels are so short that launching them takes longer"),
      simple(input.job.offloads_activations() ? parts.idle - host_s : 0, step_s,
             "copies to the host and back",
             "layers compute faster than the link carries their activations; fewer "
             "--cpu-offloading-num-layers shrink it"),
      simple(work.allocator_s, step_s, "the memory allocator",
             "memory is so full that blocks are handed back to the driver and asked for again"),
      simple(work.circuits_s + beside_s, step_s, "the making of circuits",
             input.job.cluster.fabric.topology.circuits.when == spec::Reconfigure::kPhase
                 ? "phases of the step wait for theirs (reconfigure: phase)"
                 : "every step waits for its own (reconfigure: step)"),
      simple(parts.optimizer - work.allocator_s - work.circuits_s, step_s, "the optimizer",
             "its states are read and written once a step"),
  };
  return std::max_element(std::begin(losses), std::end(losses),
                          [](const Loss& a, const Loss& b) { return a.seconds < b.seconds; })
      ->text;
}

}  // namespace ergometer::engine
