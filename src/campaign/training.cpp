#include "campaign/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "engine/outcome/powered.h"
#include "engine/outcome/summary.h"
#include "engine/power/run_phases.h"
#include "engine/sequence_rows.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "spec/job/node_groups.h"

namespace ergometer::campaign {
namespace {

constexpr size_t kMostLevels = 4;

/// The hours' limits as few levels, each hour at the highest that does not exceed it.
std::vector<double> levels_of(const std::vector<double>& limits) {
  std::vector<double> distinct = limits;
  base::sort_unique(distinct);
  const size_t count = std::min(kMostLevels, distinct.size());
  std::vector<double> levels;
  for (size_t i = 0; i < count; ++i) levels.push_back(distinct[i * distinct.size() / count]);
  return levels;
}

Draw draw_of(const spec::Job& job, const run::Power& power) {
  return {power.mean_w_per_gpu * static_cast<double>(job.gpus), power.cluster_mean_w};
}

/// A step as a run has it: of documents that are drawn, the mean over drawn steps. Power stays that
/// of the step that was played.
Result<run::Run> played(const spec::Job& job, bool intervals) {
  engine::SimulateOptions options;
  options.kernels = false;
  options.intervals = intervals;
  if (job.training.sequence_lengths.is_even()) return engine::simulate(job, options);
  ERGOMETER_ASSIGN(engine::Simulation step, engine::simulate_in_full(job, options));
  run::Performance& p = step.run.performance;
  const double factor = engine::mean_step_s(job, step) / p.step_time_s;
  for (double* seconds : {&p.step_time_s, &p.step_time_s_low, &p.step_time_s_high})
    *seconds *= factor;
  for (double* rate : {&p.tokens_per_s, &p.tokens_per_s_per_gpu, &p.mfu, &p.hfu}) *rate /= factor;
  return std::move(step.run);
}

/// A step, and what is drawn over it.
struct Step {
  double seconds = 0;
  Draw draw;
  std::vector<double> hourly_w;  ///< the cluster's, of each hour of the limit's series
};

/// A limit at the building's meter leaves every GPU the lowest cap that it takes.
Result<void> check_limit(const spec::Job& job, double limit_w, double spares_w) {
  ERGOMETER_ASSIGN(const double nodes_w, engine::least_cluster_cap_w(job));
  const double least_w = (nodes_w + spares_w) * job.conditions.pue;
  if (limit_w >= least_w) return {};
  return input_error(
      "--facility-power-limit: found {:.0f} W; allowed: at least {:.0f} W at the meter, with which "
      "every GPU gets the lowest cap it takes (at the plugs: nodes {:.0f} W{}; PUE {:g})",
      limit_w, std::ceil(least_w), nodes_w,
      spares_w > 0 ? fmt::format(", spares {:.0f} W", spares_w) : "", job.conditions.pue);
}

Result<Step> step_under(const spec::Job& job, double limit_w, double spares_w) {
  ERGOMETER_TRY(check_limit(job, limit_w, spares_w));
  spec::Job limited = job;
  double& cap_w = limited.conditions.cluster_cap_w;
  const double nodes_w = limit_w / job.conditions.pue - spares_w;
  cap_w = cap_w > 0 ? std::min(cap_w, nodes_w) : nodes_w;
  ERGOMETER_ASSIGN(const run::Run run, played(limited, false));
  return Step{run.performance.step_time_s, draw_of(limited, run.power), {}};
}

/// The step under the building's limit: steps a second are the mean over hours, and so is what is
/// drawn.
Result<Step> limited_step(const spec::Job& job, const std::vector<double>& limit_w,
                          double spares_w) {
  const std::vector<double> levels = levels_of(limit_w);
  std::vector<Step> steps;
  for (const double level : levels) {
    ERGOMETER_ASSIGN(steps.emplace_back(), step_under(job, level, spares_w));
  }
  const double share = 1 / static_cast<double>(limit_w.size());
  double steps_per_s = 0;
  Step mean;
  for (const double limit : limit_w) {
    const auto above = std::ranges::upper_bound(levels, limit);
    const Step& step = steps[static_cast<size_t>(above - levels.begin()) - 1];
    steps_per_s += share / step.seconds;
    mean.draw.gpus_w += share * step.draw.gpus_w;
    mean.draw.cluster_w += share * step.draw.cluster_w;
    mean.hourly_w.push_back(step.draw.cluster_w);
  }
  mean.seconds = 1 / steps_per_s;
  return mean;
}

/// What nodes that stand by draw.
Result<double> spares_w(const spec::Job& job, const Ask& ask) {
  ERGOMETER_ASSIGN(const engine::StandingPower standing, engine::standing_power(job));
  return standing.cluster_w * static_cast<double>(ask.spares.value_or(0)) /
         static_cast<double>(job.nodes());
}

Result<void> add_evaluation(const spec::Job& job, const Ask& ask, double beside_w,
                            PlayedPhase& phase) {
  const Evaluation& asked = ask.evaluation;
  if (asked.every_steps <= 0) return {};
  const spec::Job forward = engine::evaluation_of(job);
  ERGOMETER_ASSIGN(const run::Run run, played(forward, false));
  Step step{run.performance.step_time_s, draw_of(forward, run.power), {}};
  phase.unlimited_evaluation_s = asked.batches * step.seconds;
  if (!ask.limit_w.empty()) {
    ERGOMETER_ASSIGN(step, limited_step(forward, ask.limit_w, beside_w));
  }
  phase.evaluations = std::floor(phase.steps / asked.every_steps);
  phase.evaluation_s = std::max(phase.unlimited_evaluation_s, asked.batches * step.seconds);
  phase.evaluation_draw = step.draw;
  return {};
}

Result<spec::Job> job_of(const spec::Settings& settings, const Phase& phase) {
  spec::Settings all = settings;
  all.merge(phase.settings);
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(all));
  if (!job.trains()) return input_error("plan: the job answers requests; a campaign trains");
  job.conditions.run = {};
  return job;
}

PlayedPhase phase_of(const spec::Job& job, const Phase& asked, const run::Run& run) {
  PlayedPhase phase;
  phase.name = asked.name;
  phase.seq_length = job.training.seq_length;
  phase.global_batch = job.training.global_batch;
  phase.tokens = asked.tokens;
  phase.steps = std::ceil(asked.tokens / engine::tokens_per_step(job));
  phase.step_s = phase.unlimited_step_s = run.performance.step_time_s;
  phase.draw = draw_of(job, run.power);
  return phase;
}

/// The whole run is described by its longest phase.
void describe(const spec::Job& job, const run::Run& run, Training& training) {
  training.job = job;
  training.step = run.performance;
  training.has_power = run.has_power;
  const run::Performance& step = run.performance;
  training.step_deviation =
      deviation_of(step.step_time_s, {step.step_time_s_low, step.step_time_s_high});
  training.power_deviation =
      run.has_power ? deviation_of(run.power.cluster_mean_w, run.power.cluster_mean_interval_w)
                    : Deviation{};
}

double longest_s(const Training& training) {
  double seconds = 0;
  for (const PlayedPhase& phase : training.phases) seconds = std::max(seconds, phase.training_s());
  return seconds;
}

Result<void> add_phase(const spec::Settings& settings, const Ask& ask, const Phase& asked,
                       Training& training) {
  ERGOMETER_ASSIGN(const spec::Job job, job_of(settings, asked));
  ERGOMETER_ASSIGN(const run::Run run, played(job, true));
  PlayedPhase phase = phase_of(job, asked, run);
  if (!ask.limit_w.empty() && !run.has_power)
    return input_error("--facility-power-limit: nothing is known of this job's power");
  double beside_w = 0;
  if (!ask.limit_w.empty()) {
    ERGOMETER_ASSIGN(beside_w, spares_w(job, ask));
    ERGOMETER_ASSIGN(const Step step, limited_step(job, ask.limit_w, beside_w));
    phase.step_s = std::max(phase.unlimited_step_s, step.seconds);
    phase.draw = step.draw;
    phase.hourly_w = step.hourly_w;
  }
  ERGOMETER_TRY(add_evaluation(job, ask, beside_w, phase));
  if (training.phases.empty() || run.memory.fit_probability < training.memory.fit_probability)
    training.memory = run.memory;
  if (phase.training_s() > longest_s(training)) describe(job, run, training);
  training.phases.push_back(std::move(phase));
  return {};
}

}  // namespace

Result<Training> play_training(const spec::Settings& settings, const Ask& ask) {
  Training training;
  for (const Phase& asked : ask.phases) ERGOMETER_TRY(add_phase(settings, ask, asked, training));
  training.checkpoint_bytes = plan::checkpoint_bytes(training.job, workload::lower(training.job));
  if (!training.has_power) return training;
  ERGOMETER_ASSIGN(const engine::StandingPower standing, engine::standing_power(training.job));
  training.standing = {standing.gpus_w, standing.cluster_w};
  ERGOMETER_ASSIGN(training.spares_w, spares_w(training.job, ask));
  return training;
}

}  // namespace ergometer::campaign
