#include "engine/prepared.h"

#include <algorithm>
#include <span>

#include "cost/cost.h"
#include "engine/interval.h"
#include "engine/summary.h"
#include "plan/memory.h"
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
  if (!trains || p.schedule == spec::Schedule::kGpipe) return {all};
  const int64_t group = p.vpp > 1 ? std::max(p.pp, p.microbatch_group) : p.pp;
  const int64_t least = std::max<int64_t>(3, 2 * group);
  const int64_t first = least + (all - least) % group;
  const int64_t second = first + std::max<int64_t>(group, 2);
  if (all <= second) return {all};
  return {first, second};
}

double on_line(double first, double second, double steps) {
  return second + steps * (second - first);
}

/// `steps`: from the second timeline on, in units of the distance between the two.
Timeline extrapolate(const Timeline& first, Timeline second, double steps) {
  second.step_s = on_line(first.step_s, second.step_s, steps);
  for (size_t rank = 0; rank < second.ranks.size(); ++rank) {
    RankTimes& times = second.ranks[rank];
    times.end_s = on_line(first.ranks[rank].end_s, times.end_s, steps);
    for (size_t part = 0; part < kPartCount; ++part)
      times.parts_s[part] = on_line(first.ranks[rank].parts_s[part], times.parts_s[part], steps);
  }
  for (size_t role = 0; role < second.host_gaps_s.size(); ++role)
    second.host_gaps_s[role] = on_line(first.host_gaps_s[role], second.host_gaps_s[role], steps);
  return second;
}

Timeline play(const spec::Job& job, const plan::Plan& plan, const cost::CostTable& costs,
              const Stretch& stretch) {
  return sweep({.job = job,
                .plan = plan,
                .costs = costs,
                .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                .sampled_ranks = {},
                .stretch = stretch});
}

}  // namespace

Prepared::Prepared(const spec::Job& job) : micro_batches_(job.micro_batches()) {
  for (const int64_t micro_batches : micro_batches_to_play(job)) {
    const spec::Job played = with_micro_batches(job, micro_batches);
    steps_.push_back({micro_batches, plan::make_plan(played, workload::lower(played))});
  }
}

base::Result<Timeline> Prepared::play_all(const spec::Job& priced,
                                          std::vector<Stretch>& settled) const {
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(priced));
  const bool settle = settled.empty();
  std::vector<Timeline> played;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const spec::Job job = with_micro_batches(priced, steps_[i].micro_batches);
    const cost::CostTable costs = cost::price_plan(model, steps_[i].plan, job);
    if (settle) settled.push_back(settle_contention(job, steps_[i].plan, model, costs));
    played.push_back(play(job, steps_[i].plan, costs, settled[i]));
  }
  if (played.size() == 1) return std::move(played.front());
  const auto distance = static_cast<double>(steps_[1].micro_batches - steps_[0].micro_batches);
  return extrapolate(played[0], std::move(played[1]),
                     static_cast<double>(micro_batches_ - steps_[1].micro_batches) / distance);
}

base::Result<Timeline> Prepared::timeline(const spec::Job& priced) const {
  std::vector<Stretch> settled;
  return play_all(priced, settled);
}

base::Result<double> Prepared::step_time_s(const spec::Job& priced) const {
  std::vector<Stretch> settled;
  return step_time_s(priced, settled);
}

base::Result<double> Prepared::step_time_s(const spec::Job& priced,
                                           std::vector<Stretch>& settled) const {
  ERGOMETER_ASSIGN(const Timeline found, play_all(priced, settled));
  return found.step_s;
}

base::Result<Estimate> estimate(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Timeline timeline, Prepared(job).timeline(job));
  Estimate result;
  result.performance = performance(job, timeline);
  add_interval(result.performance, job, timeline);
  const spec::Job played = with_micro_batches(job, micro_batches_to_play(job).back());
  const workload::Workload workload = workload::lower(played);
  const plan::MemoryReport memory = plan::memory(played, workload, plan::divide(played, workload));
  result.memory = memory_summary(memory);
  result.allocated_after_step_bytes = memory.allocated_after_step;
  return result;
}

}  // namespace ergometer::engine
