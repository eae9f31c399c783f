// What it predicts: how much longer jobs' transfers take where they meet above the nodes.
//
// Job j's nodes would fill the links above one group of switches D_j times while j sends (cards at
// line rate; plan/network/fabric_load.cpp, for as many nodes as j has there: rings send as much
// from few as from many, exchanges less) and it sends in a share u_j of the time. The n_j of its
// nodes there weigh it. Of those that send at once, a set S, everybody gets a_j(S) of the links,
// max-min fair by n_j (Bertsekas and Gallager, Data Networks 1992, 6.5.2). The pace of j's
// transfers over that on links without end:
//
//   r_j = sum over sets S of the others   prod_{i in S} u_i  prod_{i not in S} (1 - u_i)
//                                         min(1, a_j(S + j) / D_j)
//
// 1 / r_j of the group where it is largest holds the job up: a collective waits for its slowest
// link. The job is played again with links that hold it up so much; its step and u_j then are
// others, which iterates to a fixed point. u_j grows with what j is held up and the others with it,
// so that it comes from below, and every r is at least what all of them sending always would leave.
//
// Worked: two equal jobs, D = 1, that compute for 1 s and send for 1 s alone. Held up, sending
// takes x = 1 / (1 - u/2), u = x / (1 + x): x (1 + x/2) = 1 + x, x = sqrt 2, a step of 2.41 s
// for 2.
//
// Range: phases unrelated. Jobs of one step time may lock, so that they send always or never at
// once: of two every transfer then takes twice as long, or nothing is lost. No incast, no
// collisions of flows on one link while others are empty (routing is even), no congestion control
// that takes time to share. D is one number a tier: the mean over what a job sends, by time.
// Assumed, not measured.
#include "together/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"

namespace ergometer::together {
namespace {

constexpr int kMostRounds = 50;
constexpr double kSettled = 1e-4;

/// The jobs that climb a tier from one group of its switches, as senders: first the one asked for.
struct Meeting {
  std::vector<Sender> senders;
  std::vector<size_t> with;
};

Meeting meeting(const std::vector<std::vector<TierPlace>>& places,
                const std::vector<Played>& played, size_t which, size_t tier, int64_t group) {
  Meeting found;
  const auto add = [&](size_t job) {
    const TierPlace& place = places[job][tier];
    const TierUse& use = played[job].tiers[tier];
    const auto here = place.groups.find(group);
    if (!place.climbs() || here == place.groups.end() || use.load <= 0) return false;
    found.senders.push_back({.load = base::value_or(use.loads, here->second, use.load),
                             .busy = std::min(1.0, use.busy_s / played[job].step_s),
                             .weight = static_cast<double>(std::max<int64_t>(1, here->second))});
    return true;
  };
  if (!add(which)) return found;
  for (size_t job = 0; job < played.size(); ++job)
    if (job != which && add(job)) found.with.push_back(job);
  return found;
}

/// Sets what others take of a tier's links from a job.
void share_tier(const std::vector<std::vector<TierPlace>>& places,
                const std::vector<Played>& played, size_t which, size_t tier, TierUse& use) {
  use.share = 1;
  use.with.clear();
  for (const auto& [group, nodes] : places[which][tier].groups) {
    const Meeting here = meeting(places, played, which, tier, group);
    if (here.with.empty()) continue;
    for (const size_t job : here.with)
      if (std::ranges::find(use.with, job) == use.with.end()) use.with.push_back(job);
    const double slower = held_up(here.senders, 0);
    if (slower > std::max(1.0, use.load)) use.share = std::max(use.share, slower / use.load);
  }
}

std::vector<double> shares_of(const Played& job) {
  std::vector<double> shares;
  for (const TierUse& use : job.tiers) shares.push_back(use.share);
  return shares;
}

/// Of the shares, the largest change in a round.
double change(const std::vector<double>& before, const std::vector<double>& after) {
  double most = 0;
  for (size_t i = 0; i < before.size(); ++i)
    most = std::max(most, std::abs(after[i] / before[i] - 1));
  return most;
}

}  // namespace

std::vector<double> fair_shares(const std::vector<Sender>& senders) {
  std::vector<double> shares(senders.size(), 0);
  std::vector<size_t> order;
  for (size_t i = 0; i < senders.size(); ++i) order.push_back(i);
  std::ranges::sort(order, {}, [&](size_t i) { return senders[i].load / senders[i].weight; });
  double left = 1, weights = 0;
  for (const Sender& sender : senders) weights += sender.weight;
  for (const size_t i : order) {
    shares[i] = std::min(senders[i].load, left * senders[i].weight / weights);
    left -= shares[i];
    weights -= senders[i].weight;
  }
  return shares;
}

double held_up(const std::vector<Sender>& senders, size_t which) {
  double pace = 0;
  for (size_t set = 0; set < size_t{1} << senders.size(); ++set) {
    if ((set >> which & 1) == 0) continue;
    double chance = 1;
    std::vector<Sender> at_once = {senders[which]};
    for (size_t i = 0; i < senders.size(); ++i) {
      if (i == which) continue;
      const bool sends = (set >> i & 1) != 0;
      chance *= sends ? senders[i].busy : 1 - senders[i].busy;
      if (sends) at_once.push_back(senders[i]);
    }
    pace += chance * std::min(1.0, fair_shares(at_once).front() / senders[which].load);
  }
  return 1 / pace;
}

Result<std::vector<Played>> settle(const std::vector<std::vector<TierPlace>>& places,
                                   const Play& play) {
  std::vector<Played> played;
  for (size_t job = 0; job < places.size(); ++job) {
    ERGOMETER_ASSIGN(Played one, play(job, std::vector<double>(places[job].size(), 1)));
    played.push_back(std::move(one));
  }
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<Played> before = played;
    double moved = 0;
    for (size_t job = 0; job < played.size(); ++job) {
      std::vector<TierUse>& tiers = played[job].tiers;
      for (size_t tier = 0; tier < tiers.size(); ++tier)
        share_tier(places, before, job, tier, tiers[tier]);
      const double by = change(shares_of(before[job]), shares_of(played[job]));
      if (by <= kSettled) {
        for (size_t tier = 0; tier < tiers.size(); ++tier)
          tiers[tier].share = before[job].tiers[tier].share;
        continue;
      }
      moved = std::max(moved, by);
      ERGOMETER_ASSIGN(const Played again, play(job, shares_of(played[job])));
      played[job].step_s = again.step_s;
      for (size_t tier = 0; tier < tiers.size(); ++tier)
        tiers[tier].busy_s = again.tiers[tier].busy_s;
    }
    if (moved == 0) return played;
  }
  return tl::unexpected(base::Error{
      base::ErrorKind::kNo,
      fmt::format("what these jobs leave each other of the links that they share has not come "
                  "to rest after {} rounds; other nodes (--nodes) or fewer jobs may",
                  kMostRounds)});
}

}  // namespace ergometer::together
