#include "engine/power/run_phases.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/power/fleet_heat.h"

namespace ergometer::engine {

std::vector<run::RunPhase> run_phases(const spec::RunPhases& asked, const PhaseCost& step,
                                      const PhaseCost& batch, double standing_w) {
  const double lead_s = asked.eval_from * step.seconds, every_s = asked.eval_every * step.seconds;
  const double batches_s = asked.eval_batches * batch.seconds;
  const double evaluation_s = batches_s + asked.eval_pause_s;
  double training_s = asked.steps * step.seconds, evaluations = 0;
  if (asked.steps > 0) {
    if (asked.eval_every > 0 && asked.steps >= asked.eval_from)
      evaluations = 1 + std::floor((asked.steps - asked.eval_from) / asked.eval_every);
  } else {
    const double busy_s = asked.length_s - asked.pause_s, rest_s = busy_s - lead_s;
    if (asked.eval_every > 0 && rest_s > 0)
      evaluations = std::min(rest_s / evaluation_s, (rest_s + every_s) / (every_s + evaluation_s));
    training_s = busy_s - evaluations * evaluation_s;
  }
  const double pauses_s = asked.pause_s + evaluations * asked.eval_pause_s;
  std::vector<run::RunPhase> phases = {{"training", training_s, step.cluster_w}};
  if (evaluations > 0) phases.push_back({"evaluation", evaluations * batches_s, batch.cluster_w});
  if (pauses_s > 0) phases.push_back({"pauses", pauses_s, standing_w});
  return phases;
}

spec::Job evaluation_of(const spec::Job& job) {
  spec::Job result = job;
  result.training.mode = spec::Mode::kPrefill;
  result.training.recompute = spec::Recompute::kNone;
  result.training.recompute_modules.clear();
  result.training.recompute_stage_layers.clear();
  result.training.overlap_grad_reduce = result.training.overlap_param_gather = false;
  result.training.overlap_tp = result.training.overlap_expert_parallel = false;
  result.conditions.run = {};
  spec::Parallelism& parallel = result.parallelism;
  parallel.sequence_parallel = false;  // forward passes alone reduce over whole tensors
  if (!parallel.fsdp) parallel.zero_stage = 0;
  // One chunk a stage: forward passes alone have no bubble that interleaving would shorten.
  if (!parallel.stage_layers.empty()) {
    std::vector<int64_t> layers(static_cast<size_t>(parallel.pp), 0);
    for (size_t i = 0; i < parallel.stage_layers.size(); ++i)
      layers[static_cast<size_t>(parallel.stage_of(static_cast<int64_t>(i)))] +=
          parallel.stage_layers[i];
    parallel.stage_layers = std::move(layers);
  }
  parallel.vpp = 1;
  parallel.microbatch_group = 0;
  parallel.schedule = spec::Schedule::kOneFOneB;
  parallel.order = {};
  parallel.stage_training = spec::StageTraining::kTogether;
  return result;
}

Result<StandingPower> standing_power(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Fleet fleet, make_fleet(job));
  FleetHeat heat(fleet, job.cluster);
  heat.cool_down(FleetHeat::IdleClock::kHighest);
  double weights = 0, sum_c = 0;
  for (size_t gpu = 0; gpu < fleet.role.size(); ++gpu) {
    weights += fleet.weight_of(gpu);
    sum_c += fleet.weight_of(gpu) * heat.surroundings().die_c[gpu];
  }
  return StandingPower{heat.cluster_w(), heat.gpus_w(), sum_c / weights};
}

}  // namespace ergometer::engine
