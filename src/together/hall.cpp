#include "together/hall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/collection.h"
#include "engine/outcome/link_use.h"
#include "engine/outcome/pcie_use.h"
#include "engine/simulate.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::together {
namespace {

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

/// What a job does on the links between switches, tier by tier.
std::vector<TierUse> uplink_uses(const spec::Cluster& whole, const std::vector<TierPlace>& places,
                                 const engine::EngineInput& input) {
  const std::vector<engine::UplinkUse> all = engine::uplink_use(input);
  std::vector<TierUse> uses;
  for (size_t tier = 0; tier < places.size() && !places[tier].is_pcie; ++tier) {
    TierUse& use = uses.emplace_back(TierUse{.tier = whole.fabric.tiers[tier].name});
    const auto found = std::ranges::find(all, std::string_view(use.tier), &engine::UplinkUse::tier);
    if (found == all.end()) continue;
    use.busy_s = found->busy_s;
    use.load = found->load;
    use.loads = loads_above(tier, whole, places, input);
  }
  return uses;
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
  result.played.tiers = uplink_uses(given.cluster, places, input);
  for (TierUse& use : pcie_uses(places, input)) result.played.tiers.push_back(std::move(use));
  result.run = std::move(played.run);
  return result;
}

}  // namespace

Hall::Hall(const std::vector<NamedJob>& jobs, const std::vector<Place>& places)
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

std::vector<Tenant> Hall::tenants() const {
  std::vector<Tenant> tenants;
  for (size_t i = 0; i < jobs_.size(); ++i)
    tenants.push_back({&jobs_[i].job, &places_[i], i < now_.size() ? &now_[i].run : nullptr});
  return tenants;
}

double Hall::own_w(size_t which) const { return own_mean_w(tenants()[which], others_[which]); }

Result<Outcome> Hall::play(size_t which, const std::vector<double>& shares) const {
  const spec::Job& job = placed_jobs_[which];
  return play_on(cluster_for(job.cluster, tiers_[which], shares), tiers_[which], job,
                 !on_node_[which].empty(), others_[which]);
}

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
                .placed_max_c = placed_[which].run.thermal.max_gpu_c,
                .max_c = now.run.thermal.max_gpu_c,
                .on_node = on_node_[which]};
  for (const TierUse& use : now.played.tiers)
    if (use.load > 0) job.tiers.push_back(use);
  return job;
}

}  // namespace ergometer::together
