// The time and energy of a pass at clock f:
//   t(f) = w - c + c f0 / f          w: wall time of the pass at the reference clock f0, without
//                                    exchanges between stages; c: its seconds that follow the clock
//   e(f) = core v(f)^2 + memory + link + P_awake(f, T) t(f)
// with v the relative voltage and P_awake what an awake GPU draws without work at the temperature
// T at which the stage's GPUs settle (physics/gpu_power.h), summed over the stage's GPUs.
#include "optimize/stage_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/check.h"
#include "cost/degraded.h"
#include "cost/energy.h"
#include "engine/outcome/powered.h"
#include "engine/outcome/summary.h"
#include "engine/time/compile.h"
#include "plan/memory.h"
#include "spec/job/stage_order.h"

namespace ergometer::optimize {
namespace {

/// A job played once: what its passes last and hold at the reference clock.
struct Pass {
  double begin_s = INFINITY, end_s = 0, clocked_s = 0;
  physics::Energy energy;
  double wall_s() const { return end_s - begin_s; }
  ClockedWork work() const { return {wall_s(), clocked_s, energy}; }
};

/// By chunk and kind of pass, of every micro batch.
using Passes = std::map<std::pair<int32_t, spec::SlotKind>, std::map<int32_t, Pass>>;

/// Mean over its micro batches but for the first and the last, which other work may touch.
Pass mean_pass(const std::map<int32_t, Pass>& passes) {
  Pass mean;
  mean.begin_s = 0;
  double count = 0;
  for (const auto& [micro_batch, pass] : passes) {
    const bool edge = micro_batch == 0 || micro_batch == passes.rbegin()->first;
    if (edge && passes.size() > 2) continue;
    mean.end_s += pass.wall_s();
    mean.clocked_s += pass.clocked_s;
    mean.energy += pass.energy;
    ++count;
  }
  mean.end_s /= count;
  mean.clocked_s /= count;
  mean.energy = (1 / count) * mean.energy;
  return mean;
}

/// Which backwards a stage's order has whole: by micro batch and chunk.
using Whole = std::set<std::pair<int32_t, int32_t>>;

Whole whole_backwards(const spec::Job& job, int64_t stage) {
  Whole whole;
  for (const spec::ScheduleSlot& slot :
       spec::stage_order(job.parallelism, stage, job.micro_batches()))
    if (slot.kind == spec::SlotKind::kBackward) whole.emplace(slot.micro_batch, slot.chunk);
  return whole;
}

spec::SlotKind slot_of(const plan::Instruction& it, workload::Pass pass, const Whole& whole) {
  if (pass == workload::Pass::kForward) return spec::SlotKind::kForward;
  if (whole.contains({it.micro_batch, it.chunk})) return spec::SlotKind::kBackward;
  return pass == workload::Pass::kWeight ? spec::SlotKind::kBackwardWeight
                                         : spec::SlotKind::kBackwardInput;
}

Passes passes_of(const engine::EngineInput& input, const cost::EnergyTable& energies,
                 const engine::Timeline& timeline, size_t role) {
  Passes passes;
  const engine::PricedOperators operators(input, role);
  const Whole whole = whole_backwards(input.job, input.plan.roles[role].stage);
  const int64_t rank = static_cast<int64_t>(role) * input.plan.ranks_per_role;
  for (const engine::Span& span : timeline.spans) {
    if (span.rank != rank) continue;
    const auto index = static_cast<size_t>(span.instruction);
    const plan::Instruction& it = input.plan.roles[role].program[index];
    if (it.micro_batch < 0 || it.op < 0 || plan::is_message(it) || !engine::launches(it.kind))
      continue;
    const workload::Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
    if (op.pass == workload::Pass::kOptimizer || op.module == workload::Module::kData) continue;
    Pass& pass = passes[{it.chunk, slot_of(it, op.pass, whole)}][it.micro_batch];
    pass.begin_s = std::min(pass.begin_s, span.start_s);
    pass.end_s = std::max(pass.end_s, span.end_s);
    pass.clocked_s += operators.duration(index).clocked_s;
    pass.energy += energies[role][static_cast<size_t>(it.op)];
  }
  return passes;
}

std::vector<ClockChoice>& list_of(ChunkTable& chunk, spec::SlotKind kind) {
  std::vector<ClockChoice>* const lists[] = {&chunk.forward, &chunk.backward, &chunk.input,
                                             &chunk.weight};
  return *lists[static_cast<size_t>(kind)];
}

/// A chunk without layers, or with the embedding alone, has passes in which there is nothing to do.
void add_passes_without_work(const spec::Job& job, int64_t stage, double clock_hz,
                             StageTable& table) {
  for (const spec::ScheduleSlot& slot :
       spec::stage_order(job.parallelism, stage, job.micro_batches())) {
    std::vector<ClockChoice>& list =
        list_of(table.chunks[static_cast<size_t>(slot.chunk)], slot.kind);
    if (list.empty()) list.push_back({.clock_hz = clock_hz});
  }
}

/// Seconds that a micro batch takes from one stage to the next.
double send_time(const plan::Plan& plan, const cost::CostTable& costs) {
  double seconds = 0;
  for (const plan::Instruction& it : plan.roles.front().program)
    if (it.kind == plan::InstructionKind::kSend && it.op >= 0)
      seconds = std::max(seconds, costs.prices.front()[static_cast<size_t>(it.op)].seconds());
  return seconds;
}

Result<void> check(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.pp < 2) return input_error("the job has no pipeline");
  if (p.trains_apart()) return input_error("only pipelines whose stages train together have one");
  if (p.divides_vocabulary())
    return input_error("only pipelines whose vocabulary is not divided have one");
  if (job.training.mode != spec::Mode::kPretrain && job.training.mode != spec::Mode::kLora)
    return input_error("only training has one");
  if (!job.training.sequence_lengths.is_even())
    return input_error(
        "the frontier is of micro batches that are alike; leave out --sequence-lengths");
  return {};
}

}  // namespace

std::vector<ClockChoice> clock_choices(const ClockedWork& work, const Settled& settled,
                                       double reference_hz, double gpus,
                                       const physics::GpuPower& gpu) {
  std::vector<ClockChoice> table;
  const double lowest_hz = std::max(gpu.clocks.lowest_hz, gpu.clocks.floor(gpu.voltage.knee_hz));
  const double clocked_s = std::min(work.clocked_s, work.wall_s);
  double clock_hz = settled.clock_hz;
  while (clock_hz >= lowest_hz) {
    const double time_s = work.wall_s - clocked_s + clocked_s * reference_hz / clock_hz;
    const double v = gpu.voltage.at(clock_hz);
    const double waiting_w = gpu.power_w(clock_hz, settled.die_c, {}, {});
    const double joules = work.energy.core_j() * v * v + work.energy.memory_j + work.energy.link_j +
                          waiting_w * time_s;
    table.push_back({clock_hz, time_s, gpus * joules});
    // The first clock is what the governor settles at; the rest are lattice clocks.
    const double next_hz = gpu.clocks.floor(clock_hz - 0.01 * gpu.clocks.step_hz);
    if (next_hz >= clock_hz) break;
    clock_hz = next_hz;
  }
  return table;
}

const std::vector<ClockChoice>& ChunkTable::of(spec::SlotKind kind) const {
  switch (kind) {
    case spec::SlotKind::kForward: return forward;
    case spec::SlotKind::kBackward: return backward;
    case spec::SlotKind::kBackwardInput: return input;
    case spec::SlotKind::kBackwardWeight: return weight;
  }
  ERGOMETER_CHECK(false, "every kind of slot is listed");
}

Result<PipelineTables> pipeline_tables(const spec::Job& job) {
  ERGOMETER_TRY(check(job));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  cost::CostTable costs = cost::price_plan(model, plan, job);
  ERGOMETER_TRY(cost::degrade_links(job, plan, costs));
  const engine::Stretch stretch = engine::settle_contention(job, plan, model, costs);
  std::vector<int64_t> sampled;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    sampled.push_back(stage * job.stage_ranks());
  const engine::EngineInput input{.job = job,
                                  .plan = plan,
                                  .costs = costs,
                                  .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                                  .sampled_ranks = sampled,
                                  .stretch = stretch};
  ERGOMETER_ASSIGN(const cost::EnergyModel energy_model, cost::EnergyModel::make(job));
  const cost::EnergyTable energies = cost::price_energy(energy_model, plan);
  ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job.cluster.node.gpu));
  ERGOMETER_ASSIGN(const engine::Powered powered, engine::power_and_heat(input, {.ranks = true}));
  const engine::Timeline timeline = engine::sweep(input);

  PipelineTables tables;
  tables.parallel = job.parallelism;
  tables.micro_batches = job.micro_batches();
  tables.send_s = send_time(plan, costs);
  const auto gpus = static_cast<double>(job.stage_ranks());
  for (size_t stage = 0; stage < plan.roles.size(); ++stage) {
    Settled settled;
    for (const run::Rank& rank : powered.ranks) {
      if (rank.rank / job.stage_ranks() != static_cast<int64_t>(stage)) continue;
      settled.die_c += rank.mean_gpu_c / gpus;
      settled.clock_hz += rank.mean_clock_mhz * 1e6 / gpus;
    }
    StageTable& table = tables.stages.emplace_back();
    table.chunks.resize(static_cast<size_t>(job.parallelism.vpp));
    for (const auto& [of, passes] : passes_of(input, energies, timeline, stage))
      list_of(table.chunks[static_cast<size_t>(of.first)], of.second) =
          clock_choices(mean_pass(passes).work(), settled, powered.reference_hz, gpus, gpu);
    add_passes_without_work(job, static_cast<int64_t>(stage), settled.clock_hz, table);
    table.waiting_w = gpus * gpu.power_w(settled.clock_hz, settled.die_c, {}, {});
  }
  return tables;
}

}  // namespace ergometer::optimize
