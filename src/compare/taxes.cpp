#include "compare/taxes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/math/owen_values.h"
#include "base/collection.h"
#include "engine/untaxed.h"

namespace ergometer::compare {
namespace {

using analysis::Coalition;
using analysis::Unions;

enum Taken : int { kCollectiveWaiting, kHostSync, kRoundTrips, kLaunches, kPlayers };

/// Of a step: what is rounding.
constexpr double kNoShare = 1e-12;

constexpr Coalition bit(Taken tax) { return Coalition{1} << tax; }
constexpr Coalition kAll = bit(kPlayers) - 1;
constexpr Coalition kBulkSynchrony = bit(kCollectiveWaiting) | bit(kHostSync);

engine::Without without(Coalition taken) {
  engine::Without without;
  without.waits.collectives = (taken & bit(kCollectiveWaiting)) != 0;
  without.waits.host = (taken & bit(kHostSync)) != 0;
  without.round_trips = (taken & bit(kRoundTrips)) != 0;
  without.launches = (taken & bit(kLaunches)) != 0;
  return without;
}

/// Steps by what is taken away from them, each played once.
class Steps {
 public:
  explicit Steps(engine::Untaxed& untaxed) : untaxed_(untaxed) {}

  const std::vector<double>& of(Coalition taken) {
    std::vector<double>& step = steps_[taken];
    if (step.empty()) step.push_back(untaxed_.step_s(without(taken)));
    return step;
  }
  double seconds(Coalition taken) { return of(taken).front(); }

 private:
  engine::Untaxed& untaxed_;
  std::map<Coalition, std::vector<double>> steps_;
};

/// What waiting at each site alone adds to a step without any tax, and being done before the last.
std::vector<std::pair<std::string, double>> waiting_by_site(engine::Untaxed& untaxed,
                                                            double untaxed_s) {
  std::vector<std::pair<std::string, double>> sites;
  engine::Without one_waits = without(kAll);
  for (const std::string& name : untaxed.sites()) {
    one_waits.waits.but_at = name;
    sites.emplace_back(name, untaxed.step_s(one_waits) - untaxed_s);
  }
  sites.emplace_back(kEndOfStep, untaxed.last_behind_mean_s(without(kAll)));
  return sites;
}

/// `share_s` in proportion to the values; those that are nothing beside the step are left out.
void divide(double share_s, double step_s, std::vector<std::pair<std::string, double>>& sites) {
  std::erase_if(sites, [&](const auto& site) { return site.second <= kNoShare * step_s; });
  if (sites.empty() && share_s > kNoShare * step_s) sites.emplace_back(kEndOfStep, 1.0);
  const double sum = base::sum(sites, [](const auto& site) { return site.second; });
  for (auto& [name, seconds] : sites) seconds *= share_s / sum;
  std::ranges::stable_sort(sites, [](const auto& a, const auto& b) { return a.second > b.second; });
}

}  // namespace

Result<Taxes> taxes(const spec::Job& job, engine::Simulation& simulation) {
  ERGOMETER_ASSIGN(engine::Untaxed untaxed, engine::Untaxed::make(job, simulation));
  Steps steps(untaxed);
  const Unions unions{{{kCollectiveWaiting, kHostSync}, {kRoundTrips}, {kLaunches}}};
  const auto effects = attribute(
      unions, [&](Coalition taken) -> const std::vector<double>& { return steps.of(taken); });
  const auto tax = [&](Taken player) {
    const double share_s = 0.0 - effects[player].front();
    return Tax{.share_s = std::abs(share_s) > kNoShare * steps.seconds(0) ? share_s : 0,
               .without_s = steps.seconds(bit(player))};
  };
  Taxes result;
  result.step_s = steps.seconds(0);
  result.untaxed_s = steps.seconds(kAll);
  result.collective_waiting = tax(kCollectiveWaiting);
  result.host_sync = tax(kHostSync);
  result.memory_round_trips = tax(kRoundTrips);
  result.launch = tax(kLaunches);
  result.bulk_synchrony = {result.collective_waiting.share_s + result.host_sync.share_s,
                           steps.seconds(kBulkSynchrony)};
  result.sites = waiting_by_site(untaxed, result.untaxed_s);
  divide(result.collective_waiting.share_s, result.step_s, result.sites);
  const engine::Untaxed::Pairs pairs = untaxed.pairs();
  result.pairs = pairs.count;
  result.pair_bytes = pairs.bytes;
  return result;
}

}  // namespace ergometer::compare
