#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "together/nodes.h"

namespace ergometer::together {

/// What one job sends over the links that jobs meet on.
struct Sender {
  double load = 0;    ///< what it would send while it sends, over what the links carry
  double busy = 0;    ///< share of the time in which it sends
  double weight = 1;  ///< its nodes there: links are shared by nodes
};

/// What each of several that send at once gets of the links, max-min fair by weight: nobody gets
/// more than it would send, and what is left goes to the others. Sums up to 1, or to all loads.
std::vector<double> fair_shares(const std::vector<Sender>& senders);

/// How far sender `which` is held up, at least 1: its load's time over what it would be on links
/// without end. The others send or not, unrelated to it and to each other.
double held_up(const std::vector<Sender>& senders, size_t which);

/// A tier's links as one job sees them.
struct TierUse {
  std::string tier;
  double busy_s = 0;  ///< of a step, engine::UplinkUse
  double load = 0;    ///< of the job's own fullest links, in its place and without others
  /// The same of the links above a group of switches, by the job's nodes under it.
  std::map<int64_t, double> loads = {};
  bool is_pcie = false;           ///< a link of the node's PCIe tree, `tier` its name
  double share = 1;               ///< what others multiply the load by
  std::vector<size_t> with = {};  ///< the jobs that send there too
  bool is_slowed() const { return share > 1; }
};

/// A job's step where others take their shares: `tiers` as far as its traffic leaves them.
struct Played {
  double step_s = 0;
  std::vector<TierUse> tiers;  ///< as many as the fabric's
};

/// Plays job `which` with its load on every tier multiplied by its `shares`.
using Play = std::function<Result<Played>(size_t which, const std::vector<double>& shares)>;

/// Every job beside the others: played until what they take of each other's links agrees with how
/// long they send; an error where that does not come to rest. `places`: of every job, tier by tier.
Result<std::vector<Played>> settle(const std::vector<std::vector<TierPlace>>& places,
                                   const Play& play);

}  // namespace ergometer::together
