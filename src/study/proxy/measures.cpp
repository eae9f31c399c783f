#include "study/proxy/measures.h"

#include <algorithm>

#include "engine/simulate.h"
#include "engine/views/step_tasks.h"
#include "plan/placement.h"
#include "run/exposed_collectives.h"

namespace ergometer::study::proxy {
namespace {

using workload::GroupKind;

/// "reduce_scatter" is told as "reduce-scatter", "send_recv" as "send/recv".
std::string kind_in_words(std::string kind) {
  if (kind == "send_recv") return "send/recv";
  std::replace(kind.begin(), kind.end(), '_', '-');
  return kind;
}

GroupKind kind_of_group(const std::string& word) {
  for (int i = 0; i < workload::kGroupKindCount; ++i)
    if (word == engine::group_word(static_cast<GroupKind>(i))) return static_cast<GroupKind>(i);
  return GroupKind::kWorld;
}

/// Where a kind of group lies; of pipelines the border that crosses most.
Group group_of(const spec::Job& job, const std::string& word) {
  const GroupKind kind = kind_of_group(word);
  if (kind != GroupKind::kPipeline) {
    const plan::GroupPlacement place = plan::placement(job, kind, 0);
    return {place.size, place.nodes};
  }
  Group widest{2, 1};
  for (int64_t stage = 0; stage + 1 < job.parallelism.pp; ++stage)
    widest.nodes = std::max(widest.nodes, plan::pipeline_placement(job, stage, stage + 1).nodes);
  return widest;
}

/// The exposed parts of a step's breakdown, by group.
void add_collectives(const Side& side, double step_s, std::vector<Measure>& measures) {
  for (const run::ExposedCollective& use : run::exposed_collectives(side.run))
    measures.push_back({.name = use.group + " " + kind_in_words(use.kind),
                        .unit = "",
                        .value = use.seconds / step_s,
                        .group = group_of(side.job, use.group)});
}

/// FLOPs of a step over the bytes that its kernels read and write in the GPUs' memory.
double intensity(const plan::Plan& plan) {
  double flops = 0, bytes = 0;
  for (const plan::Role& role : plan.roles)
    for (size_t i = 0; i < role.program.size(); ++i) {
      const plan::Instruction& it = role.program[i];
      if (it.kind != plan::InstructionKind::kCompute || it.op < 0) continue;
      const workload::Operator& op = plan.operators[static_cast<size_t>(it.op)];
      flops += plan.times(role, i) * op.flops;
      bytes += plan.times(role, i) * op.bytes;
    }
  return bytes > 0 ? flops / bytes : 0;
}

void add_levels(const plan::Plan& plan, const run::Run& run, std::vector<Measure>& measures) {
  const auto ratio = [&](const char* name, const char* unit, double factor, double value) {
    measures.push_back({name, unit, Scale::kRatio, factor, value, {}});
  };
  ratio("intensity", "FLOP/B", kIntensityFactor, intensity(plan));
  ratio("memory per GPU", "B", kMemoryFactor, run.memory.peak_bytes);
  if (!run.has_power) return;
  ratio("power per GPU", "W", kPowerFactor, run.power.mean_w_per_gpu);
  const run::Thermal& heat = run.thermal;
  measures.push_back({"temperature, mean", "C", Scale::kDegrees, kKelvins, heat.mean_gpu_c, {}});
  measures.push_back({"temperature, hottest", "C", Scale::kDegrees, kKelvins, heat.max_gpu_c, {}});
}

}  // namespace

Result<Side> measured(const spec::Job& job, bool constant_clocks) {
  Side side;
  side.job = job;
  side.job.conditions.constant_clocks |= constant_clocks;
  ERGOMETER_ASSIGN(engine::Simulation step,
                   engine::simulate_in_full(side.job, engine::one_rank_a_stage(side.job)));
  side.run = std::move(step.run);
  const double step_s = side.run.performance.step_time_s;
  const run::Breakdown& all = side.run.performance.breakdown_s;
  const auto share = [&](const char* name, double seconds) {
    side.measures.push_back({.name = name, .unit = "", .value = seconds / step_s, .group = {}});
  };
  share("compute", all.compute);
  add_collectives(side, step_s, side.measures);
  share("optimizer", all.optimizer);
  share("idle", all.idle);
  add_levels(step.plan, side.run, side.measures);
  side.job = job;
  return side;
}

}  // namespace ergometer::study::proxy
