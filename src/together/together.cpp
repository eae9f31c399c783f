#include "together/together.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/collection.h"
#include "engine/outcome/link_use.h"
#include "engine/simulate.h"
#include "engine/views/power_record.h"
#include "physics/sliding_mean.h"
#include "together/hall_power.h"

namespace ergometer::together {
namespace {

std::vector<const spec::Job*> jobs_of(const std::vector<NamedJob>& jobs) {
  return base::mapped(jobs, [](const NamedJob& it) { return &it.job; });
}

/// Whether jobs that lie on either meet on the same links.
bool same_network(const spec::Cluster& a, const spec::Cluster& b) {
  const auto links = [](const spec::Cluster& it) {
    const spec::Planes& planes = it.fabric.planes;
    return std::tuple(it.nodes, it.node.gpus, it.domain_gpus, it.fabric.kind, planes.count,
                      planes.down, planes.spray,
                      base::mapped(it.node.nics, &spec::Nic::bytes_per_s),
                      base::mapped(it.fabric.tiers, [](const spec::FabricTier& tier) {
                        return std::tuple(tier.name, tier.nodes_below, tier.oversubscription);
                      }));
  };
  return links(a) == links(b);
}

Result<void> check_cluster(const std::vector<NamedJob>& jobs, const TogetherOptions& options) {
  const spec::Cluster& cluster = jobs.front().job.cluster;
  for (const NamedJob& it : jobs)
    if (it.job.cluster.name != cluster.name)
      return input_error("{} is on {} and {} on {}; --cluster names one for all", jobs.front().name,
                         cluster.name, it.name, it.job.cluster.name);
  for (const NamedJob& it : jobs)
    if (!same_network(it.job.cluster, cluster))
      return input_error(
          "{} and {} are on clusters that are both named {} and whose nodes or networks are not "
          "the same; --cluster names one for all",
          jobs.front().name, it.name, cluster.name);
  const bool packed = options.placement == Placement::kPacked && options.nodes.empty();
  if (!cluster.fabric.topology.dimensions.empty() && !packed)
    return input_error(
        "{} has a network without a tree of switches, where jobs are predicted one behind the "
        "other alone; leave --placement and --nodes out",
        cluster.name);
  return {};
}

Result<std::vector<Nodes>> nodes_of(const std::vector<NamedJob>& jobs,
                                    const TogetherOptions& options) {
  const std::vector<const spec::Job*> all = jobs_of(jobs);
  std::vector<Nodes> nodes = options.nodes;
  if (nodes.empty()) nodes = place(all, options.placement);
  ERGOMETER_TRY(check_nodes(all, base::mapped(jobs, &NamedJob::name), nodes));
  return nodes;
}

/// A job as it was played last.
struct Playing {
  const NamedJob* it = nullptr;
  std::vector<TierPlace> places;
  run::Run run;
};

/// A job's load on the links above groups of a tier, by its nodes under them.
std::map<int64_t, double> loads_above(size_t tier, const spec::Cluster& whole,
                                      std::vector<TierPlace> places,
                                      const engine::EngineInput& input) {
  std::map<int64_t, double> loads;
  if (!places[tier].climbs()) return loads;
  const std::vector<double> unshared(places.size(), 1);
  const std::map<int64_t, int64_t> groups = places[tier].groups;
  for (const auto& [group, nodes] : groups) {
    places[tier].groups = {{0, nodes}, {1, nodes}};
    spec::Job job = input.job;
    job.cluster = cluster_for(whole, places, unshared);
    const engine::EngineInput placed{.job = job,
                                     .plan = input.plan,
                                     .costs = input.costs,
                                     .clocks_hz = input.clocks_hz,
                                     .sampled_ranks = {},
                                     .stretch = input.stretch};
    for (const engine::UplinkUse& use : engine::uplink_use(placed))
      if (use.tier == job.cluster.fabric.tiers[tier].name) loads[nodes] = use.load;
  }
  return loads;
}

/// `cluster`: the job's own as it has it that lies on `places`.
Result<Played> play_on(const spec::Cluster& cluster, const std::vector<TierPlace>& places,
                       const spec::Job& given, run::Run& run) {
  spec::Job job = given;
  job.cluster = cluster;
  ERGOMETER_ASSIGN(engine::Simulation played,
                   engine::simulate_in_full(job, {.kernels = false, .intervals = false}));
  const engine::EngineInput input{.job = job,
                                  .plan = played.plan,
                                  .costs = played.costs,
                                  .clocks_hz = played.played_at.clocks_hz,
                                  .sampled_ranks = {},
                                  .stretch = played.stretch};
  Played result{.step_s = played.run.performance.step_time_s, .tiers = {}};
  const std::vector<engine::UplinkUse> uses = engine::uplink_use(input);
  for (size_t tier = 0; tier < places.size(); ++tier) {
    TierUse use{.tier = cluster.fabric.tiers[tier].name};
    const auto found =
        std::ranges::find(uses, std::string_view(use.tier), &engine::UplinkUse::tier);
    if (found != uses.end()) {
      use.busy_s = found->busy_s;
      use.load = found->load;
      use.loads = loads_above(tier, given.cluster, places, input);
    }
    result.tiers.push_back(std::move(use));
  }
  run = std::move(played.run);
  return result;
}

/// A job's step where every link between nodes is shared by so many jobs.
Result<double> step_on_shared_links(spec::Job job, size_t jobs) {
  for (spec::Dimension& line : job.cluster.fabric.topology.dimensions)
    line.link_bytes_per_s /= static_cast<double>(jobs);
  ERGOMETER_ASSIGN(const run::Run run,
                   engine::simulate(job, {.kernels = false, .intervals = false}));
  return run.performance.step_time_s;
}

std::vector<double> kept_means(const run::ClusterPower& power, bool periodic) {
  return physics::sliding_means({.interval_s = power.interval_s, .watts = power.watts},
                                engine::kPeakS, periodic);
}

/// All jobs' powers, as shares of time.
PowerShares hall_shares(const std::vector<Playing>& jobs) {
  constexpr double kBins = 4096;
  std::vector<std::vector<double>> series;
  double range_w = 0;
  for (const Playing& job : jobs) {
    series.push_back(kept_means(job.run.cluster_power, job.it->job.conditions.is_steady()));
    const auto [low, high] = std::ranges::minmax(series.back());
    range_w += high - low;
  }
  const double width_w = std::max(range_w / kBins, 1e-3);
  PowerShares sum = power_shares(series.front(), width_w);
  for (size_t i = 1; i < series.size(); ++i) sum = beside(sum, power_shares(series[i], width_w));
  return sum;
}

void fill_power(const std::vector<Playing>& jobs, const TogetherOptions& options,
                Together& result) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    const run::Power& power = jobs[i].run.power;
    result.jobs[i].mean_w = power.cluster_mean_w;
    result.jobs[i].peak_w = power.cluster_peak_w;
  }
  result.mean_w = base::sum(result.jobs, &JobBeside::mean_w);
  result.worst_peak_w = base::sum(result.jobs, &JobBeside::peak_w);
  const PowerShares shares = hall_shares(jobs);
  result.likely_peak_w = std::min(result.worst_peak_w, shares.exceeded_for(kUnlikely));
  if (!options.feed_w) return;
  Feed feed{.limit_w = *options.feed_w};
  feed.excess_w = std::max(0.0, result.worst_peak_w - feed.limit_w);
  if (!feed.holds()) feed.exceeded_fraction = std::min(1.0, shares.above(feed.limit_w));
  feed.excess_w_per_gpu = feed.excess_w / base::sum(jobs, [](const Playing& it) {
                            return static_cast<double>(it.it->job.gpus);
                          });
  result.feed = feed;
}

std::string placement_name(const TogetherOptions& options) {
  if (!options.nodes.empty()) return "given";
  return options.placement == Placement::kPacked ? "packed" : "interleaved";
}

}  // namespace

const TierUse* JobBeside::slowed_by() const {
  const auto most =
      std::ranges::max_element(tiers, {}, [](const TierUse& use) { return use.load * use.share; });
  return most != tiers.end() && most->is_slowed() ? &*most : nullptr;
}

bool Together::fits() const { return std::ranges::all_of(jobs, &JobBeside::fits); }

int64_t Together::nodes() const {
  int64_t count = 0;
  for (const JobBeside& job : jobs) count += std::ssize(job.nodes);
  return count;
}

Result<Together> play_together(const std::vector<NamedJob>& jobs, const TogetherOptions& options) {
  ERGOMETER_TRY(check_cluster(jobs, options));
  ERGOMETER_ASSIGN(const std::vector<Nodes> nodes, nodes_of(jobs, options));
  const spec::Cluster& cluster = jobs.front().job.cluster;
  Together result{.cluster = cluster.name,
                  .cluster_nodes = cluster.nodes,
                  .placement = placement_name(options),
                  .meets_on_switches = cluster.fabric.topology.dimensions.empty(),
                  .own_circuits = cluster.fabric.kind == spec::FabricKind::kOptical};
  std::vector<Playing> playing;
  std::vector<std::vector<TierPlace>> places;
  std::vector<Played> alone;
  for (size_t i = 0; i < jobs.size(); ++i) {
    playing.push_back({&jobs[i], tier_places(cluster.fabric, nodes[i]), {}});
    places.push_back(playing.back().places);
    ERGOMETER_ASSIGN(Played one,
                     play_on(jobs[i].job.cluster, places.back(), jobs[i].job, playing.back().run));
    alone.push_back(std::move(one));
    result.jobs.push_back({.name = jobs[i].name,
                           .gpus = jobs[i].job.gpus,
                           .nodes = nodes[i],
                           .fits = playing.back().run.memory.fits,
                           .alone_step_s = alone.back().step_s});
  }
  const Play play = [&](size_t which, const std::vector<double>& shares) -> Result<Played> {
    Playing& it = playing[which];
    const bool unshared = base::sum(shares) == static_cast<double>(shares.size());
    const bool as_alone = alike(
        it.places, tier_places(cluster.fabric, place({&it.it->job}, Placement::kPacked).front()));
    if (unshared && as_alone) return alone[which];
    const spec::Job& job = it.it->job;
    ERGOMETER_ASSIGN(Played one,
                     play_on(cluster_for(job.cluster, it.places, shares), it.places, job, it.run));
    if (unshared) result.jobs[which].placed_step_s = one.step_s;
    return one;
  };
  for (JobBeside& job : result.jobs) job.placed_step_s = job.alone_step_s;
  ERGOMETER_ASSIGN(const std::vector<Played> settled, settle(places, play));
  for (size_t i = 0; i < jobs.size(); ++i) {
    JobBeside& job = result.jobs[i];
    job.step_s = job.most_step_s = settled[i].step_s;
    if (!result.meets_on_switches) {
      ERGOMETER_ASSIGN(const double most_s, step_on_shared_links(jobs[i].job, jobs.size()));
      job.most_step_s = std::max(job.step_s, most_s);
    }
    for (const TierUse& use : settled[i].tiers)
      if (use.load > 0) job.tiers.push_back(use);
  }
  result.has_power =
      std::ranges::all_of(playing, [](const Playing& it) { return it.run.has_power; });
  if (options.feed_w && !result.has_power)
    return input_error("--feed: nothing is known of these jobs' power");
  if (result.has_power) fill_power(playing, options, result);
  return result;
}

}  // namespace ergometer::together
