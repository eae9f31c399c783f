#include "engine/simulate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "engine/expert_rows.h"
#include "engine/factor_deviation.h"
#include "engine/outcome/circuit_waits.h"
#include "engine/outcome/given_algorithms.h"
#include "engine/outcome/interval.h"
#include "engine/outcome/limiter.h"
#include "engine/outcome/link_use.h"
#include "engine/outcome/powered.h"
#include "engine/outcome/summary.h"
#include "engine/power/run_phases.h"
#include "engine/sequence_rows.h"
#include "engine/views/kernel_list.h"
#include "engine/views/kernel_window.h"
#include "engine/views/step_tasks.h"
#include "spec/job/overrides.h"

namespace ergometer::engine {
namespace {

/// Of it all but how sure the step is.
void take(Powered powered, Simulation& result) {
  result.timeline = std::move(powered.timeline);
  result.played_at = std::move(powered.played_at);
  result.run.has_power = true;
  result.run.power = std::move(powered.power);
  result.run.cluster_power = std::move(powered.cluster_power);
  result.run.thermal = std::move(powered.thermal);
  result.run.telemetry = std::move(powered.telemetry);
  result.run.bands = std::move(powered.bands);
  result.run.ranks = std::move(powered.ranks);
}

/// All whose spans are needed, in order.
std::vector<int64_t> played_ranks(const SimulateOptions& options) {
  if (!options.kernels) return options.task_ranks;
  std::vector<int64_t> ranks;
  std::set_union(options.sampled_ranks.begin(), options.sampled_ranks.end(),
                 options.task_ranks.begin(), options.task_ranks.end(), std::back_inserter(ranks));
  return ranks;
}

/// The rows of `wanted` alone, which are in order.
template <class Row>
std::vector<Row> of_ranks(const std::vector<Row>& rows, const std::vector<int64_t>& wanted) {
  std::vector<Row> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const Row& row) { return std::ranges::binary_search(wanted, row.rank); });
  return kept;
}

/// Plays the step once more, and keeps the spans of some ranks.
void add_spans(const spec::Job& job, std::span<const int64_t> ranks, Simulation& result) {
  result.timeline.spans = sweep({.job = job,
                                 .plan = result.plan,
                                 .costs = result.played_at.costs,
                                 .clocks_hz = result.played_at.clocks_hz,
                                 .sampled_ranks = ranks,
                                 .stretch = result.stretch})
                              .spans;
}

/// Whether GPUs lie in all nodes as in the first.
bool is_one_chassis(const spec::Cluster& cluster) {
  return std::ranges::all_of(cluster.groups, [&](const spec::NodeGroup& group) {
    return std::ranges::equal(group.node.slots, cluster.node.slots,
                              [](auto& a, auto& b) { return a.row == b.row && a.lane == b.lane; });
  });
}

/// From the spans of the ranks asked for.
void add_detail(const spec::Job& job, const SimulateOptions& options, Simulation& result) {
  const EngineInput input{.job = job,
                          .plan = result.plan,
                          .costs = result.costs,
                          .clocks_hz = result.played_at.clocks_hz,
                          .sampled_ranks = {},
                          .stretch = result.stretch};
  const std::vector<Span>& spans = result.timeline.spans;
  run::Run& run = result.run;
  if (options.kernels) run.kernels = kernel_list(input, of_ranks(spans, options.sampled_ranks));
  if (!options.task_ranks.empty()) {
    run.tasks = step_tasks(input, of_ranks(spans, options.task_ranks), result.timeline.step_s);
    run.collectives = collective_use(input, of_ranks(spans, options.task_ranks), result.timeline);
    if (is_one_chassis(job.cluster))
      for (const spec::Slot& slot : job.cluster.node.slots)
        run.slots.push_back({slot.row, slot.lane});
  }
  if (options.most_kernels > 0) keep_windows(run, options.most_kernels);
}

Result<std::vector<run::RunPhase>> phases_of(const spec::Job& job, const run::Power& power) {
  PhaseCost batch;
  if (job.conditions.run.eval_batches > 0) {
    ERGOMETER_ASSIGN(const run::Run evaluation, simulate(evaluation_of(job), {.intervals = false}));
    batch = {evaluation.performance.step_time_s, evaluation.power.cluster_mean_w};
  }
  ERGOMETER_ASSIGN(const StandingPower standing, standing_power(job));
  return run_phases(job.conditions.run, {power.duration_s / power.steps, power.cluster_mean_w},
                    batch, standing.cluster_w);
}

/// Where nothing governs clocks: the reference for all, or one a rank, of a GPU that an override
/// slows its share.
std::vector<double> ungoverned_clocks(const spec::Job& job, double reference_hz) {
  std::vector<double> clocks_hz(1, reference_hz);
  for (const spec::Override& change : job.conditions.overrides) {
    if (change.kind != spec::OverrideKind::kSpeed) continue;
    clocks_hz.resize(static_cast<size_t>(job.gpus), reference_hz);
    for (int64_t rank = 0; rank < job.gpus; ++rank)
      if (spec::is_of_rank(change, job, rank))
        clocks_hz[static_cast<size_t>(rank)] = change.value * reference_hz;
  }
  return clocks_hz;
}

/// Plays the plan and fills all but what needs spans.
Result<void> play(const spec::Job& job, const SimulateOptions& options, const Planned& planned,
                  Simulation& result) {
  const bool events = options.engine == EngineKind::kEvents;
  const std::vector<int64_t> sampled = events ? played_ranks(options) : std::vector<int64_t>{};
  const bool with_power =
      options.clocks_hz.empty() && !job.conditions.constant_clocks && has_power_data(job);
  const double reference_hz = planned.costs.reference_clock_hz;
  const std::vector<double> clocks_hz = !options.clocks_hz.empty() ? options.clocks_hz
                                        : with_power ? std::vector<double>(1, reference_hz)
                                                     : ungoverned_clocks(job, reference_hz);
  const EngineInput input{.job = job,
                          .plan = planned.plan,
                          .costs = planned.costs,
                          .clocks_hz = clocks_hz,
                          .sampled_ranks = sampled,
                          .stretch = planned.stretch};
  run::Interval step_spread = {.low = 1, .high = 1};
  if (with_power) {
    ERGOMETER_ASSIGN(
        Powered powered,
        power_and_heat(
            input, {.telemetry_ranks = options.telemetry_ranks.empty() ? options.sampled_ranks
                                                                       : options.telemetry_ranks,
                    .events = events,
                    .intervals = options.intervals,
                    .ranks = options.all_ranks,
                    .bands = options.bands,
                    .others = options.others,
                    .telling = options.bands && options.telling,
                    .energy_of = options.energy_parts ? &planned.workload : nullptr}));
    step_spread = powered.step_spread;
    take(std::move(powered), result);
    if (!result.timeline.steady) return {};
    if (job.conditions.run.given()) {
      ERGOMETER_ASSIGN(result.run.power.run_phases, phases_of(job, result.run.power));
    }
  } else {
    result.timeline = events ? simulate_events(input) : sweep(input);
    result.played_at = {planned.costs, {input.clocks_hz.begin(), input.clocks_hz.end()}};
  }

  result.run.performance = performance(job, result.timeline);
  add_interval(result.run.performance, job, result.timeline);
  widen(step_spread, "how far its limits hold clocks depends on what it draws",
        result.run.performance);
  add_given_algorithms(job, planned.plan, result.run);
  result.run.memory = memory_summary(job, planned.memory);
  result.run.links = link_use(input, result.timeline.step_s);
  result.run.gpu_kinds = gpu_kinds(job, result.timeline);
  if (options.all_ranks) result.run.ranks = rank_table(job, result.timeline, result.run.ranks);
  const EngineInput as_played{.job = job,
                              .plan = planned.plan,
                              .costs = result.played_at.costs,
                              .clocks_hz = result.played_at.clocks_hz,
                              .sampled_ranks = {},
                              .stretch = planned.stretch};
  // Idle while circuits are made, stages do not wait for each other.
  double& bubble = result.run.performance.pipeline_bubble_fraction;
  bubble = std::max(0.0, bubble - circuit_waits_s(as_played) / result.timeline.step_s);
  result.run.limiter = limiter(as_played, result.timeline, result.run.performance);
  return {};
}

Result<Simulation> simulate_settled(const spec::Job& job, const SimulateOptions& options) {
  const bool sweeps = options.engine == EngineKind::kSweep;
  Simulation result;
  ERGOMETER_ASSIGN(Planned planned, play_planned(job, sweeps && !options.whole_step,
                                                 [&](const Planned& it) -> Result<bool> {
                                                   result = {};
                                                   ERGOMETER_TRY(play(job, options, it, result));
                                                   return result.timeline.steady;
                                                 }));
  static_cast<Planned&>(result) = std::move(planned);
  if (!options.sampled_ranks.empty() || !options.task_ranks.empty()) unfold(job, result);
  const std::vector<int64_t> sampled = played_ranks(options);
  if (!sampled.empty()) {
    if (sweeps) add_spans(job, sampled, result);
    add_detail(job, options, result);
  }
  if (options.expert_rows) {
    ERGOMETER_ASSIGN(result.run.experts, expert_rows(job, result.run));
  }
  if (options.sequence_rows) {
    ERGOMETER_ASSIGN(result.run.sequences, sequence_rows(job, result));
    result.run.packing = packing_rows(job);
  }
  return result;
}

/// The clock that prices hold at over the mean one that was played. What turns GPUs off is told as
/// it was played first.
double slowdown_of(const Simulation& played) {
  const std::vector<double>& clocks = played.played_at.clocks_hz;
  if (!played.run.has_power || clocks.empty() || played.run.thermal.shutdown_gpus > 0) return 1;
  const double sum = std::accumulate(clocks.begin(), clocks.end(), 0.0);
  return played.played_at.costs.reference_clock_hz * static_cast<double>(clocks.size()) / sum;
}

}  // namespace

Result<Simulation> simulate_in_full(const spec::Job& given, const SimulateOptions& options) {
  // What waits for memory at the clock that prices hold at may wait for compute at a slower one.
  constexpr int kRounds = 3;
  constexpr double kSlow = 1.05, kSame = 0.02;
  spec::Job job = given;
  ERGOMETER_TRY(tell_deviation(job));
  ERGOMETER_ASSIGN(Simulation result, simulate_settled(job, options));
  for (int round = 1; round < kRounds; ++round) {
    const double slowdown = slowdown_of(result), before = job.conditions.clock_slowdown;
    if (slowdown < kSlow || std::abs(slowdown - before) <= kSame * slowdown) break;
    job.conditions.clock_slowdown = slowdown;
    ERGOMETER_ASSIGN(result, simulate_settled(job, options));
  }
  return result;
}

SimulateOptions one_rank_a_stage(const spec::Job& job) {
  SimulateOptions options;
  options.kernels = false;
  options.intervals = false;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    options.task_ranks.push_back(stage * job.stage_ranks());
  return options;
}

Result<run::Run> simulate(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(Simulation result, simulate_in_full(job, options));
  return std::move(result.run);
}

}  // namespace ergometer::engine
