#include "together/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/collection.h"
#include "engine/outcome/link_use.h"
#include "engine/outcome/pcie_use.h"
#include "engine/simulate.h"
#include "engine/views/power_record.h"
#include "physics/sliding_mean.h"
#include "spec/job/pcie_tree.h"
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
                      it.fabric.kind, planes.count, planes.down, planes.spray,
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

/// A job's play, and its Run.
struct Outcome {
  Played played;
  run::Run run;
};

/// A job's load on the links above groups of a tier, by its nodes under them.
std::map<int64_t, double> loads_above(size_t tier, const spec::Cluster& whole,
                                      std::vector<TierPlace> places,
                                      const engine::EngineInput& input) {
  std::map<int64_t, double> loads;
  if (!places[tier].climbs() || places[tier].is_pcie) return loads;
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

/// What a job does on the links of its nodes' PCIe trees that it meets others on.
std::vector<TierUse> pcie_uses(const std::vector<TierPlace>& places,
                               const engine::EngineInput& input) {
  std::vector<TierUse> uses;
  const std::optional<spec::PcieTree> tree = spec::pcie_tree(input.job.cluster.node);
  if (!tree || places.empty() || !places.back().is_pcie) return uses;
  const std::vector<engine::PcieLinkUse> links = engine::pcie_use(input);
  int socket = 0, switch_number = 0;
  for (size_t i = 0; i < tree->bridges.size(); ++i) {
    const bool is_socket = tree->bridges[i].above < 0;
    TierUse use{.tier = is_socket ? fmt::format("socket {}", socket++)
                                  : fmt::format("switch {}", switch_number++),
                .is_pcie = true};
    if (i < links.size()) {
      use.busy_s = links[i].busy_s;
      use.load = links[i].load;
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

/// `cluster`: the job's own as it has it that lies on `places`. `others`: who has other GPUs of its
/// node.
Result<Outcome> play_on(const spec::Cluster& cluster, const std::vector<TierPlace>& places,
                        const spec::Job& given, bool ranks,
                        const std::vector<engine::OtherWork>& others) {
  spec::Job job = given;
  job.cluster = cluster;
  ERGOMETER_ASSIGN(
      engine::Simulation played,
      engine::simulate_in_full(
          job, {.kernels = false, .all_ranks = ranks, .intervals = false, .others = others}));
  const engine::EngineInput input{.job = job,
                                  .plan = played.plan,
                                  .costs = played.costs,
                                  .clocks_hz = played.played_at.clocks_hz,
                                  .sampled_ranks = {},
                                  .stretch = played.stretch};
  Outcome result;
  result.played.step_s = played.run.performance.step_time_s;
  const std::vector<engine::UplinkUse> uses = engine::uplink_use(input);
  for (size_t tier = 0; tier < places.size() && !places[tier].is_pcie; ++tier) {
    TierUse use{.tier = cluster.fabric.tiers[tier].name};
    const auto found =
        std::ranges::find(uses, std::string_view(use.tier), &engine::UplinkUse::tier);
    if (found != uses.end()) {
      use.busy_s = found->busy_s;
      use.load = found->load;
      use.loads = loads_above(tier, given.cluster, places, input);
    }
    result.played.tiers.push_back(std::move(use));
  }
  for (TierUse& use : pcie_uses(places, input)) result.played.tiers.push_back(std::move(use));
  result.run = std::move(played.run);
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

/// Jobs as they are played beside each other.
class Hall {
 public:
  Hall(const std::vector<NamedJob>& jobs, const std::vector<Place>& places)
      : jobs_(jobs), places_(places) {
    const spec::Cluster& cluster = jobs.front().job.cluster;
    for (size_t i = 0; i < jobs.size(); ++i) {
      tiers_.push_back(tier_places(cluster.fabric, places[i].nodes));
      shares_node_ = shares_node_ || places[i].shares_node();
      on_node_.push_back(sharing_node(places, i));
      placed_jobs_.push_back(on_own_gpus(jobs[i].job, places[i]));
    }
    for (size_t i = 0; i < jobs.size() && shares_node_; ++i)
      for (TierPlace& it : pcie_places(cluster.node, places[i])) tiers_[i].push_back(std::move(it));
  }

  /// Every job on the cluster's first nodes, then in its place.
  Result<void> play_apart();
  /// Every job beside the others, until neither heat nor links move.
  Result<void> play_beside();

  std::vector<Tenant> tenants() const {
    std::vector<Tenant> tenants;
    for (size_t i = 0; i < jobs_.size(); ++i)
      tenants.push_back({&jobs_[i].job, &places_[i], i < now_.size() ? &now_[i].run : nullptr});
    return tenants;
  }
  JobBeside job(size_t which) const;
  const run::Run& run_of(size_t which) const { return now_[which].run; }
  /// At the plugs of its nodes, its part of them.
  double own_w(size_t which) const { return own_mean_w(tenants()[which], others_[which]); }

 private:
  Result<Outcome> play(size_t which, const std::vector<double>& shares) const {
    const spec::Job& job = placed_jobs_[which];
    return play_on(cluster_for(job.cluster, tiers_[which], shares), tiers_[which], job,
                   !on_node_[which].empty(), others_[which]);
  }
  double moved(const std::vector<std::vector<engine::OtherWork>>& before) const;

  const std::vector<NamedJob>& jobs_;
  const std::vector<Place>& places_;
  bool shares_node_ = false;
  std::vector<std::vector<TierPlace>> tiers_;
  std::vector<std::vector<size_t>> on_node_;
  std::vector<spec::Job> placed_jobs_;
  std::vector<std::vector<engine::OtherWork>> others_;  ///< on each job's node
  std::vector<Outcome> alone_, placed_, now_;
  std::vector<double> warmed_step_s_;
};

Result<void> Hall::play_apart() {
  others_.resize(jobs_.size());
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const NamedJob& it = jobs_[i];
    const spec::Cluster& cluster = it.job.cluster;
    const std::vector<TierPlace> first =
        tier_places(cluster.fabric, place({&it.job}, Placement::kPacked).front().nodes);
    ERGOMETER_ASSIGN(Outcome alone, play_on(cluster, tiers_[i], it.job, !on_node_[i].empty(), {}));
    alone_.push_back(std::move(alone));
    if (!places_[i].shares_node() && alike(tier_places(cluster.fabric, places_[i].nodes), first)) {
      placed_.push_back(alone_.back());
      continue;
    }
    ERGOMETER_ASSIGN(Outcome placed, play(i, std::vector<double>(tiers_[i].size(), 1)));
    placed_.push_back(std::move(placed));
  }
  now_ = placed_;
  return {};
}

/// The largest change of what a neighbour's GPU draws, relative.
double Hall::moved(const std::vector<std::vector<engine::OtherWork>>& before) const {
  double most = 0;
  for (size_t i = 0; i < others_.size(); ++i)
    for (size_t k = 0; k < others_[i].size(); ++k)
      most = std::max(
          most, before[i].empty() ? 1 : std::abs(others_[i][k].watts / before[i][k].watts - 1));
  return most;
}

Result<void> Hall::play_beside() {
  constexpr int kHeatRounds = 8;
  constexpr double kSameHeat = 2e-3;
  warmed_step_s_.resize(jobs_.size());
  const Play beside = [&](size_t which, const std::vector<double>& shares) -> Result<Played> {
    const bool unshared = base::sum(shares) == static_cast<double>(shares.size());
    if (unshared && others_[which].empty()) {
      now_[which] = placed_[which];
    } else {
      ERGOMETER_ASSIGN(now_[which], play(which, shares));
    }
    if (unshared) warmed_step_s_[which] = now_[which].played.step_s;
    return now_[which].played;
  };
  for (int round = 0; round < kHeatRounds; ++round) {
    const auto before = others_;
    const std::vector<Tenant> all = tenants();
    for (size_t i = 0; i < jobs_.size(); ++i)
      if (now_[i].run.has_power) others_[i] = others_work(all, on_node_[i]);
    if (round > 0 && moved(before) < kSameHeat) {
      others_ = before;
      break;
    }
    ERGOMETER_ASSIGN(const std::vector<Played> settled, settle(tiers_, beside));
    for (size_t i = 0; i < jobs_.size(); ++i) now_[i].played = settled[i];
  }
  return {};
}

JobBeside Hall::job(size_t which) const {
  const Outcome& now = now_[which];
  JobBeside job{.name = jobs_[which].name,
                .gpus = jobs_[which].job.gpus,
                .place = places_[which],
                .fits = alone_[which].run.memory.fits,
                .alone_step_s = alone_[which].played.step_s,
                .placed_step_s = placed_[which].played.step_s,
                .warmed_step_s = warmed_step_s_[which],
                .step_s = now.played.step_s,
                .most_step_s = now.played.step_s,
                .alone_max_c = alone_[which].run.thermal.max_gpu_c,
                .max_c = now.run.thermal.max_gpu_c,
                .on_node = on_node_[which]};
  for (const TierUse& use : now.played.tiers)
    if (use.load > 0) job.tiers.push_back(use);
  return job;
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
