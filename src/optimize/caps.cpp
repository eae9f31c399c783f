#include "optimize/caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "physics/node_power.h"
#include "spec/job/overrides.h"

namespace ergometer::optimize {
namespace {

using spec::OverrideKind;

/// The equal share of a cluster's cap, as the engine gives it out.
double share_of_cluster(const spec::Job& job, double fans_w) {
  const auto node = physics::node_power(job.cluster.node);
  if (!node) return 0;
  const double node_w =
      job.conditions.cluster_cap_w / static_cast<double>(job.nodes()) * node->supply_efficiency -
      node->overhead_w() - node->supply_fixed_w - fans_w;
  return node_w / static_cast<double>(job.cluster.node.gpus);
}

/// How much longer than the mean each rank works, at the clock that it has.
std::vector<double> excess_work(const std::vector<run::Rank>& ranks) {
  std::vector<double> excess;
  double mean = 0;
  for (const run::Rank& rank : ranks) {
    excess.push_back(work_s(rank));
    mean += excess.back() / static_cast<double>(ranks.size());
  }
  for (double& value : excess) value = value / mean - 1;
  return excess;
}

void add_shifts(const spec::Job& job, const std::vector<run::Rank>& ranks, const Caps& caps,
                std::vector<Candidate>& out) {
  const double budget_w = std::accumulate(caps.watts.begin(), caps.watts.end(), 0.0);
  const std::vector<double> excess = excess_work(ranks);
  double mean_mhz = 0;
  for (const run::Rank& rank : ranks)
    mean_mhz += rank.mean_clock_mhz / static_cast<double>(ranks.size());
  const auto add = [&](const char* what, double gain, auto&& need) {
    std::vector<double> watts = caps.watts;
    for (size_t i = 0; i < watts.size(); ++i) watts[i] *= 1 + gain * need(i);
    watts = within(std::move(watts), caps, budget_w);
    const auto [low, high] = std::ranges::minmax_element(watts);
    if (watts != caps.watts)
      out.push_back(
          {fmt::format("{}, caps {:.0f} to {:.0f} W", what, *low, *high), with_caps(job, watts)});
  };
  for (const double gain : {0.5, 1.0, 2.0})
    add("watts to GPUs that work longest", gain, [&](size_t i) { return excess[i]; });
  for (const double gain : {1.0, 2.0})
    add("watts to GPUs that clock lowest", gain,
        [&](size_t i) { return 1 - ranks[i].mean_clock_mhz / mean_mhz; });
}

void add_cuts(const spec::Job& job, const std::vector<run::Rank>& ranks, const Caps& caps,
              std::vector<Candidate>& out) {
  constexpr std::array kShares = {0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6};
  for (const double share : kShares) {
    std::vector<double> watts = caps.watts;
    for (double& w : watts) w = std::max(caps.lowest_w, std::floor(w * share));
    out.push_back({fmt::format("caps at {:.0f} %", 100 * share), with_caps(job, watts)});
  }
  const std::vector<double> excess = excess_work(ranks);
  const double most = *std::ranges::max_element(excess);
  for (const double gain : {1.0, 2.0, 4.0}) {
    std::vector<double> watts = caps.watts;
    for (size_t i = 0; i < watts.size(); ++i)
      watts[i] = std::max(caps.lowest_w,
                          std::floor(watts[i] * std::max(0.5, 1 - gain * (most - excess[i]))));
    if (watts != caps.watts)
      out.push_back(
          {fmt::format("caps lower where GPUs wait, {:g} for 1", gain), with_caps(job, watts)});
  }
}

}  // namespace

Caps caps_of(const spec::Job& job, const physics::GpuPower& gpu, double fans_w) {
  const spec::Conditions& c = job.conditions;
  Caps caps;
  caps.lowest_w = gpu.lowest_cap_w;
  caps.highest_w = gpu.cap_w;
  double each = c.power_cap_w > 0 ? c.power_cap_w : gpu.cap_w;
  if (c.cluster_cap_w > 0) each = std::min(each, share_of_cluster(job, fans_w));
  caps.watts.assign(static_cast<size_t>(job.gpus), each);
  for (const spec::Override& o : c.overrides) {
    if (o.kind != OverrideKind::kPowerCap) continue;
    for (int64_t rank = 0; rank < job.gpus; ++rank)
      if (spec::is_of_rank(o, job, rank)) caps.watts[static_cast<size_t>(rank)] = o.value;
  }
  caps.limited = std::ranges::any_of(caps.watts, [&](double w) { return w < gpu.cap_w; });
  return caps;
}

spec::Job with_caps(spec::Job job, const std::vector<double>& watts) {
  job.conditions.cluster_cap_w = 0;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    set_override(job, job.parallelism.gpu_of(rank), OverrideKind::kPowerCap,
                 watts[static_cast<size_t>(rank)]);
  return job;
}

std::vector<double> within(std::vector<double> watts, const Caps& caps, double budget_w) {
  for (int round = 0; round < 20; ++round) {
    for (double& w : watts) w = std::clamp(w, caps.lowest_w, caps.highest_w);
    const double sum = std::accumulate(watts.begin(), watts.end(), 0.0);
    const double left = (budget_w - sum) / static_cast<double>(watts.size());
    if (std::abs(left) < 0.01) break;
    for (double& w : watts) w += left;
  }
  for (double& w : watts) w = std::clamp(std::floor(w + 1e-6), caps.lowest_w, caps.highest_w);
  return watts;
}

void set_override(spec::Job& job, int64_t gpu, OverrideKind kind, double value) {
  std::vector<spec::Override>& all = job.conditions.overrides;
  spec::Override one{.node = gpu / job.cluster.node.gpus,
                     .gpu = gpu % job.cluster.node.gpus,
                     .kind = kind,
                     .value = value,
                     .text = {}};
  std::erase_if(all, [&](const spec::Override& o) { return o.same_target(one); });
  const bool clock = kind == OverrideKind::kLockClock;
  one.text = fmt::format("node{}.gpu{}.{}={:g}{}", one.node, one.gpu, spec::to_word(kind),
                         clock ? value / 1e6 : value, clock ? "MHz" : "W");
  all.push_back(std::move(one));
}

std::vector<Candidate> propose_caps(const Played& played, Objective objective) {
  const spec::Job& job = played.candidate.job;
  std::vector<Candidate> candidates;
  const auto gpu = physics::gpu_power(job.cluster.node.gpu);
  if (!gpu || job.gpus % job.cluster.node.gpus != 0) return candidates;
  const Caps caps = caps_of(job, *gpu, played.outcomes.front().fans_w);
  if (caps.watts.empty() || caps.lowest_w >= caps.highest_w) return candidates;
  const std::vector<run::Rank> ranks = mean_ranks(played.outcomes);
  if (caps.limited) add_shifts(job, ranks, caps, candidates);
  if (objective != Objective::kTime) add_cuts(job, ranks, caps, candidates);
  return candidates;
}

}  // namespace ergometer::optimize
