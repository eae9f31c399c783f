#include "together/together.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/collection.h"
#include "engine/simulate.h"
#include "engine/views/power_record.h"
#include "physics/gpu_power.h"
#include "physics/sliding_mean.h"
#include "spec/job/pcie_tree.h"
#include "together/hall.h"
#include "together/hall_power.h"
#include "together/one_node.h"

namespace ergometer::together {
namespace {

std::vector<const spec::Job*> jobs_of(const std::vector<NamedJob>& jobs) {
  return base::mapped(jobs, [](const NamedJob& it) { return &it.job; });
}

/// Whether jobs that lie on either meet on the same links.
bool same_network(const spec::Cluster& a, const spec::Cluster& b) {
  const auto links = [](const spec::Cluster& it) {
    const spec::Planes& planes = it.fabric.planes;
    return std::tuple(it.nodes, it.node.name, it.node.gpu.name, it.node.gpus, it.domain_gpus,
                      it.node.intra, it.node.intra_bytes_per_s, spec::pcie_tree(it.node),
                      it.fabric.kind, it.fabric.topology.routing, it.fabric.topology.wraparound,
                      it.fabric.topology.circuits.degree,
                      it.fabric.topology.circuits.link_bytes_per_s, planes.count, planes.down,
                      planes.spray, base::mapped(it.node.nics, &spec::Nic::bytes_per_s),
                      base::mapped(it.fabric.topology.dimensions,
                                   [](const spec::Dimension& line) {
                                     return std::tuple(line.size, line.step, line.unit,
                                                       line.link_bytes_per_s);
                                   }),
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
  const bool packed = options.placement == Placement::kPacked && options.places.empty();
  if (!cluster.fabric.topology.dimensions.empty() && !packed)
    return input_error(
        "{} has a network without a tree of switches, where jobs are predicted one behind the "
        "other alone; leave --placement and --nodes out",
        cluster.name);
  return {};
}

Result<std::vector<Place>> places_of(const std::vector<NamedJob>& jobs,
                                     const TogetherOptions& options) {
  const std::vector<const spec::Job*> all = jobs_of(jobs);
  std::vector<Place> places = options.places;
  if (places.empty()) places = place(all, options.placement);
  ERGOMETER_TRY(check_places(all, base::mapped(jobs, &NamedJob::name), places));
  return places;
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
/// `beside_w`: of each job's nodes, what is not its own.
PowerShares hall_shares(const std::vector<NamedJob>& jobs, const Hall& hall,
                        const std::vector<double>& beside_w) {
  constexpr double kBins = 4096;
  std::vector<std::vector<double>> series;
  double range_w = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    series.push_back(kept_means(hall.run_of(i).cluster_power, jobs[i].job.conditions.is_steady()));
    for (double& watts : series.back()) watts -= beside_w[i];
    const auto [low, high] = std::ranges::minmax(series.back());
    range_w += high - low;
  }
  const double width_w = std::max(range_w / kBins, 1e-3);
  PowerShares sum = power_shares(series.front(), width_w);
  for (size_t i = 1; i < series.size(); ++i) sum = beside(sum, power_shares(series[i], width_w));
  return sum;
}

/// Whether GPUs that draw so much less at their peaks are within the caps that they take.
bool caps_can_hold(const std::vector<NamedJob>& jobs, const Hall& hall, double less_w) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto gpu = physics::gpu_power(jobs[i].job.cluster.node.gpu);
    if (gpu && hall.run_of(i).power.peak_w_per_gpu - less_w < gpu->lowest_cap_w) return false;
  }
  return true;
}

void fill_power(const std::vector<NamedJob>& jobs, const Hall& hall, const TogetherOptions& options,
                Together& result) {
  std::vector<double> beside_w;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const run::Power& power = hall.run_of(i).power;
    const double own_w = hall.own_w(i);
    beside_w.push_back(power.cluster_mean_w - own_w);
    result.jobs[i].mean_w = own_w;
    result.jobs[i].peak_w = power.cluster_peak_w - beside_w.back();
  }
  result.mean_w = base::sum(result.jobs, &JobBeside::mean_w);
  result.worst_peak_w = base::sum(result.jobs, &JobBeside::peak_w);
  const PowerShares shares = hall_shares(jobs, hall, beside_w);
  result.likely_peak_w = std::min(result.worst_peak_w, shares.exceeded_for(kUnlikely));
  if (!options.feed_w) return;
  Feed feed{.limit_w = *options.feed_w};
  feed.excess_w = std::max(0.0, result.worst_peak_w - feed.limit_w);
  if (!feed.holds()) feed.exceeded_fraction = std::min(1.0, shares.above(feed.limit_w));
  feed.excess_w_per_gpu = feed.excess_w / base::sum(jobs, [](const NamedJob& it) {
                            return static_cast<double>(it.job.gpus);
                          });
  feed.caps_can_hold = feed.holds() || caps_can_hold(jobs, hall, feed.excess_w_per_gpu);
  result.feed = feed;
}

std::string placement_name(const TogetherOptions& options) {
  if (!options.places.empty()) return "given";
  return options.placement == Placement::kPacked ? "packed" : "interleaved";
}

}  // namespace

const TierUse* JobBeside::slowed_by() const {
  const auto most =
      std::ranges::max_element(tiers, {}, [](const TierUse& use) { return use.load * use.share; });
  return most != tiers.end() && most->is_slowed() ? &*most : nullptr;
}

bool Together::fits() const { return std::ranges::all_of(jobs, &JobBeside::fits); }

bool Together::shares_nodes() const {
  return std::ranges::any_of(jobs, [](const JobBeside& it) { return !it.on_node.empty(); });
}

int64_t Together::nodes() const {
  std::set<int64_t> nodes;
  for (const JobBeside& job : jobs) nodes.insert(job.place.nodes.begin(), job.place.nodes.end());
  return std::ssize(nodes);
}

Result<Together> play_together(const std::vector<NamedJob>& jobs, const TogetherOptions& options) {
  ERGOMETER_TRY(check_cluster(jobs, options));
  ERGOMETER_ASSIGN(const std::vector<Place> places, places_of(jobs, options));
  Hall hall(jobs, places);
  ERGOMETER_TRY(check_rooms(hall.tenants(), base::mapped(jobs, &NamedJob::name), places));
  ERGOMETER_TRY(hall.play_apart());
  ERGOMETER_TRY(hall.play_beside());
  const spec::Cluster& cluster = jobs.front().job.cluster;
  Together result{.cluster = cluster.name,
                  .cluster_nodes = cluster.nodes,
                  .placement = placement_name(options),
                  .meets_on_switches = cluster.fabric.topology.dimensions.empty(),
                  .own_circuits = cluster.fabric.kind == spec::FabricKind::kOptical,
                  .intra = cluster.node.intra,
                  .follows_pcie = spec::pcie_tree(cluster.node).has_value()};
  for (size_t i = 0; i < jobs.size(); ++i) {
    JobBeside& job = result.jobs.emplace_back(hall.job(i));
    if (!result.meets_on_switches) {
      ERGOMETER_ASSIGN(const double most_s, step_on_shared_links(jobs[i].job, jobs.size()));
      job.most_step_s = std::max(job.step_s, most_s);
    }
    result.has_power = result.has_power && hall.run_of(i).has_power;
  }
  if (options.feed_w && !result.has_power)
    return input_error("--feed: nothing is known of these jobs' power");
  if (result.has_power) fill_power(jobs, hall, options, result);
  return result;
}

}  // namespace ergometer::together
