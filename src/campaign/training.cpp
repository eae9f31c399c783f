#include "campaign/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/exponential.h"
#include "engine/outcome/interval.h"
#include "engine/outcome/summary.h"
#include "engine/power/run_phases.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "spec/job/node_groups.h"

namespace ergometer::campaign {
namespace {

using base::Result;

constexpr size_t kMostLevels = 4;

/// A level of power and the share of hours in which it holds.
struct Level {
  double watts = 0, share = 0;
};

/// The hours' limits as few levels, each hour at the highest that does not exceed it.
std::vector<Level> levels_of(std::vector<double> limits) {
  std::ranges::sort(limits);
  std::vector<double> distinct = limits;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const size_t count = std::min(kMostLevels, distinct.size());
  std::vector<Level> levels;
  for (size_t i = 0; i < count; ++i) levels.push_back({distinct[i * distinct.size() / count], 0});
  for (const double limit : limits) {
    size_t at = levels.size() - 1;
    while (at > 0 && levels[at].watts > limit) --at;
    levels[at].share += 1 / static_cast<double>(limits.size());
  }
  return levels;
}

double sigma_of(double low, double high) {
  return low > 0 ? base::logarithm(high / low) / (2 * engine::kNormal90) : 0;
}

Draw draw_of(const spec::Job& job, const run::Power& power) {
  return {power.mean_w_per_gpu * static_cast<double>(job.gpus), power.cluster_mean_w};
}

Result<run::Run> played(const spec::Job& job, bool intervals) {
  engine::SimulateOptions options;
  options.kernels = false;
  options.intervals = intervals;
  return engine::simulate(job, options);
}

/// The step under the building's limit instead of the one without: steps a second are the mean over
/// hours, and so is what is drawn.
Result<void> limit_step(const spec::Job& job, const std::vector<double>& limit_w,
                        PlayedPhase& phase) {
  double steps_per_s = 0;
  Draw draw;
  for (const Level& level : levels_of(limit_w)) {
    spec::Job limited = job;
    double& cap_w = limited.conditions.cluster_cap_w;
    const double nodes_w = level.watts / job.conditions.pue;
    cap_w = cap_w > 0 ? std::min(cap_w, nodes_w) : nodes_w;
    const auto run = played(limited, false);
    if (!run)
      return base::input_error(fmt::format("--facility-power-limit {:.4g} MW is too low: {}",
                                           level.watts / 1e6, run.error().message));
    const Draw drawn = draw_of(limited, run->power);
    steps_per_s += level.share / run->performance.step_time_s;
    draw.gpus_w += level.share * drawn.gpus_w;
    draw.cluster_w += level.share * drawn.cluster_w;
  }
  phase.step_s = std::max(phase.unlimited_step_s, 1 / steps_per_s);
  phase.draw = draw;
  return {};
}

Result<void> add_evaluation(const spec::Job& job, const Evaluation& asked, PlayedPhase& phase) {
  if (asked.every_steps <= 0) return {};
  const spec::Job forward = engine::evaluation_of(job);
  ERGOMETER_ASSIGN(const run::Run run, played(forward, false));
  phase.evaluations = std::floor(phase.steps / asked.every_steps);
  phase.evaluation_s = asked.batches * run.performance.step_time_s;
  phase.evaluation_draw = draw_of(forward, run.power);
  return {};
}

Result<spec::Job> job_of(const spec::Settings& settings, const Phase& phase) {
  spec::Settings all = settings;
  all.merge(phase.settings);
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(all));
  if (!job.trains()) return base::input_error("plan: the job answers requests; a campaign trains");
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
  training.step_sigma = sigma_of(run.performance.step_time_s_low, run.performance.step_time_s_high);
  const run::Interval& power = run.power.cluster_mean_interval_w;
  training.power_sigma = run.has_power ? sigma_of(power.low, power.high) : 0;
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
    return base::input_error("--facility-power-limit: nothing is known of this job's power");
  if (!ask.limit_w.empty()) ERGOMETER_TRY(limit_step(job, ask.limit_w, phase));
  ERGOMETER_TRY(add_evaluation(job, ask.evaluation, phase));
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
  return training;
}

}  // namespace ergometer::campaign
