#include "engine/prepared.h"

#include <algorithm>
#include <span>

#include "cost/cost.h"
#include "engine/factor_deviation.h"
#include "engine/outcome/interval.h"
#include "engine/outcome/summary.h"
#include "engine/time/compile.h"
#include "plan/memory.h"
#include "spec/job/stage_order.h"
#include "workload/workload.h"

namespace ergometer::engine {
namespace {

/// The same job with another number of micro batches.
spec::Job with_micro_batches(const spec::Job& job, int64_t micro_batches) {
  spec::Job result = job;
  result.training.global_batch = micro_batches * job.training.micro_batch * job.parallelism.dp;
  return result;
}

/// Numbers of micro batches whose steps tell the job's: behind warm-up and cool-down of all stages,
/// a whole number of the schedule's groups apart from each other and from the job's.
std::vector<int64_t> micro_batches_to_play(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t all = job.micro_batches();
  const bool trains =
      job.training.mode == spec::Mode::kPretrain || job.training.mode == spec::Mode::kLora;
  if (!trains || spec::forwards_first(p.schedule) || !p.order.stages.empty() ||
      p.divides_vocabulary() || !p.group_micro_batches.empty())
    return {all};
  const bool interleaves = p.schedule == spec::Schedule::kInterleaved;
  const int64_t group = interleaves ? std::max(p.pp, p.microbatch_group) : p.pp;
  // ZB-H2 and the schedules in the form of a V fill the pipeline twice.
  const bool fills_twice = p.turns() || p.schedule == spec::Schedule::kZbH2;
  const int64_t least = std::max<int64_t>(3, (fills_twice ? 4 : 2) * group);
  const int64_t first = least + (all - least) % group;
  const int64_t second = first + std::max<int64_t>(group, 2);
  if (all <= second) return {all};
  return {first, second};
}

/// Lengthens `step` by `times` the difference of two steps.
void lengthen(Timeline& step, const Timeline& first, const Timeline& second, double times) {
  const auto add = [times](double& to, double from_s, double to_s) {
    to += times * (to_s - from_s);
  };
  add(step.step_s, first.step_s, second.step_s);
  for (size_t rank = 0; rank < step.ranks.size(); ++rank) {
    const RankTimes &a = first.ranks[rank], &b = second.ranks[rank];
    add(step.ranks[rank].end_s, a.end_s, b.end_s);
    for (size_t part = 0; part < kPartCount; ++part)
      add(step.ranks[rank].parts_s[part], a.parts_s[part], b.parts_s[part]);
  }
  for (size_t role = 0; role < step.host_gaps_s.size(); ++role)
    add(step.host_gaps_s[role], first.host_gaps_s[role], second.host_gaps_s[role]);
}

Timeline play(const spec::Job& job, const plan::Plan& plan, const cost::CostTable& costs,
              const Stretch& stretch, std::span<const HostStall> stalls = {}) {
  return sweep({.job = job,
                .plan = plan,
                .costs = costs,
                .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                .sampled_ranks = {},
                .stretch = stretch,
                .host_stalls = stalls});
}

/// Whether the host waits for the GPU in micro batches: it then never gets far ahead.
bool waits_in_micro_batches(const plan::Role& role) {
  return std::ranges::any_of(role.program, [](const plan::Instruction& it) {
    return it.kind == plan::InstructionKind::kHostSync && it.micro_batch >= 0;
  });
}

/// The role's first launch for the micro batch.
size_t first_launch(const plan::Role& role, int64_t micro_batch) {
  const auto found = std::ranges::find_if(role.program, [&](const plan::Instruction& it) {
    return launches(it.kind) && it.micro_batch == micro_batch;
  });
  return static_cast<size_t>(found - role.program.begin());
}

/// What hosts lose of their lead in the micro batches between the longer of two steps and the
/// job's: `steps` times the distance of the two. Empty where they keep it.
std::vector<HostStall> lost_leads(const Timeline& first, const Timeline& second, double steps,
                                  const plan::Plan& plan, int64_t micro_batch) {
  constexpr double kLateShare = 1e-9;
  const double gpu_s = second.step_s - first.step_s;
  std::vector<HostStall> stalls;
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const double late_s = second.launches_s[role] - first.launches_s[role] - gpu_s;
    if (late_s <= kLateShare * gpu_s || waits_in_micro_batches(plan.roles[role])) continue;
    stalls.resize(plan.roles.size());
    stalls[role] = {first_launch(plan.roles[role], micro_batch), steps * late_s};
  }
  return stalls;
}

}  // namespace

Prepared::Prepared(const spec::Job& job) : micro_batches_(job.micro_batches()) {
  for (const int64_t micro_batches : micro_batches_to_play(job)) {
    const spec::Job played = with_micro_batches(job, micro_batches);
    steps_.push_back({micro_batches, plan::make_plan(played, workload::lower(played))});
  }
}

Result<Timeline> Prepared::play_all(const spec::Job& priced, std::vector<Stretch>& settled) const {
  ERGOMETER_ASSIGN(const std::vector<cost::CostModel> models, cost::models_of_groups(priced));
  const bool settle = settled.empty();
  const double times =
      steps_.size() == 1
          ? 0
          : static_cast<double>(micro_batches_ - steps_[1].micro_batches) /
                static_cast<double>(steps_[1].micro_batches - steps_[0].micro_batches);
  std::vector<Timeline> played;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const plan::Plan& plan = steps_[i].plan;
    const spec::Job job = with_micro_batches(priced, steps_[i].micro_batches);
    const cost::CostTable costs = cost::price_plan(models, plan, job);
    if (settle) settled.push_back(*settle_folded(job, plan, models, costs));
    played.push_back(play(job, plan, costs, settled[i]));
    if (i == 0) continue;
    const auto stalls = lost_leads(played[0], played[1], times, plan, steps_[0].micro_batches);
    if (!stalls.empty()) played.push_back(play(job, plan, costs, settled[i], stalls));
  }
  Timeline result = played.back();
  if (played.size() > 1) lengthen(result, played[0], played[1], times);
  return result;
}

Result<Timeline> Prepared::timeline(const spec::Job& priced) const {
  std::vector<Stretch> settled;
  return play_all(priced, settled);
}

Result<double> Prepared::step_time_s(const spec::Job& priced) const {
  std::vector<Stretch> settled;
  return step_time_s(priced, settled);
}

Result<double> Prepared::step_time_s(const spec::Job& priced, std::vector<Stretch>& settled) const {
  ERGOMETER_ASSIGN(const Timeline found, play_all(priced, settled));
  return found.step_s;
}

Result<Estimate> estimate(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Timeline timeline, Prepared(job).timeline(job));
  Estimate result;
  result.performance = performance(job, timeline);
  spec::Job told = job;
  ERGOMETER_TRY(tell_deviation(told));
  add_interval(result.performance, told, timeline);
  const spec::Job played = with_micro_batches(job, micro_batches_to_play(job).back());
  const workload::Workload workload = workload::lower(played);
  const plan::MemoryReport memory = plan::memory(played, workload, plan::divide(played, workload));
  result.memory = memory_summary(played, memory);
  result.allocated_after_step_bytes = memory.allocated_after_step;
  return result;
}

Result<run::Performance> estimate_performance(const spec::Job& job,
                                              const std::vector<Evidence>& evidence) {
  ERGOMETER_ASSIGN(const Timeline timeline, Prepared(job).timeline(job));
  run::Performance result = performance(job, timeline);
  add_interval(result, job, timeline, evidence);
  return result;
}

}  // namespace ergometer::engine
