// How full the ranks of an expert-parallel group are.
//
// A layer's E experts take shares p_e of all choices, sum 1; rank r holds E/ep of them, and its
// load is
//
//   L_r = ep sum_{e on r} p_e
//
// Zipf: the n-th most wanted expert takes n^-s / sum n^-s; which expert that is, is drawn for every
// layer, always alike. A token chooses k different experts, so that p_e <= 1/k: what is above goes
// to the others, in proportion.
//
// Worked: 8 experts, top-2, zipf:1: sum n^-1 = 2.7179; the first takes 0.368, the last 0.046. With
// zipf:2 the first would take 0.655 > 1/2: it takes 0.5, and the others' 0.345 become 0.5.
// Four ranks in order, the first two experts on one: L = 4 (0.368 + 0.184) = 2.21.
//
// By load: experts from the most wanted on, each to the emptiest rank with room (longest
// processing time first, Graham 1969); of equally empty ones to that which had least in the layers
// before, so that no rank is the fullest in all of them.
//
// Copies, as DeepSeek's EPLB makes them (github.com/deepseek-ai/EPLB, replicate_experts and
// balanced_packing): one after the other to the expert whose tokens, divided over its copies, are
// most; then all are placed by load, but no two of an expert on one rank: where only ranks that
// hold it have room left, it takes the place of a less wanted expert of another rank, which moves
// there. Where ranks do not divide the experts, even shares leave ranks uneven: of 3 experts and a
// copy on 4 ranks two take 4/3 of an even share, and those with the halves of an expert 2/3.
//
// Where a token may choose experts of some groups alone (DeepSeek-V3: of 4 of 8) and travels once
// to every node that it needs (DeepEP, HybridEP), a group's experts and copies stay on the ranks
// that hold them in order, else more would cross nodes: EPLB's hierarchical policy. Ranks of a
// group are placed as above among themselves; of ranks that hold several groups, whole groups are.
//
// Worked: 8 experts in two groups that want 20 4 4 4 and 4 4 2 2 of 44, 4 ranks. All anywhere: the
// rank with 20 has 2 beside it, L = 4 x 22 / 44 = 2. In groups it has a 4 beside it, 2.18.
//
// Training sums the gradients of copies, in a ring of the ranks that hold them: each of an expert's
// c copies sends and receives 2 (c - 1) / c times its gradients. A ring goes through the members of
// a scale-up domain one after the other and leaves it once, over the network cards of all of them
// in turn: of m copies in a domain each sends 1/m of that over the network, where others lie in
// other domains.
//
// Worked: 8 experts that want 20 4 4 4 4 4 2 2 of 44, 4 ranks, 4 copies. 20 becomes 4 x 5, the
// first 4 becomes 2 x 2. Ranks of three slots take 5 + 4 + 2 each, and of those with two copied
// experts 3/4 + 1/2 = 1.25 gradients are summed. On nodes of two ranks the two halves lie on the
// first: of 3/4 half leaves each rank's node, of 1/2 nothing.
//
// Which rank of which domain takes what a rank is to hold is free. The first in a domain is that
// with most copies, the next that which has most of the copies that are there already, each
// expert's in shares of its other copies. Loads stay as they are; where no less leaves the domains,
// ranks keep what they have.
//
// Worked: 6 experts that want 6 10 6 1 1 1 of 25, 4 ranks, 2 copies: ranks get 6 + 1, 5 + 3, 5 + 1
// and 3 + 1. In that order, on nodes of two ranks, both halves of 10 and both of 6 lie apart, and
// 4 x 1/2 gradients leave. The second with the third are the first node: 2 x 1/2.
//
// A copy has the capacity of an expert: of c copies each takes up to it, and what is beyond c times
// of it is dropped.
//
// Worked: 8 experts, room for 1.25 of an even share; one is asked for 3 of them, the others for 5/7
// each. It drops 1.75 of 8 shares, with a copy 3 - 2.5 = 0.5, with two nothing.
#include "workload/expert_loads.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "base/exponential.h"
#include "base/random.h"

namespace ergometer::workload {
namespace {

using spec::RoutingKind;
using Shares = std::vector<double>;

constexpr int64_t kBurstEvery = 8;  ///< layers

void scale_to_one(Shares& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
}

/// Nobody above `most`; what is too much goes to those below in proportion.
void limit(Shares& shares, double most) {
  for (;;) {
    double above = 0, below = 0;
    for (const double share : shares) (share >= most ? above : below) += share;
    const auto full =
        static_cast<double>(std::ranges::count_if(shares, [&](double it) { return it >= most; }));
    const double surplus = above - full * most;
    if (surplus <= 1e-12) return;
    // Fewer than k experts are wanted at all: the rest share what is left.
    const auto rest = static_cast<double>(shares.size()) - full;
    for (double& share : shares)
      share = share >= most ? most : below > 0 ? share * (1 + surplus / below) : surplus / rest;
  }
}

/// The experts of a layer from the most wanted on: an order that is drawn, always alike.
std::vector<size_t> wanted_order(size_t experts, int64_t moe_layer) {
  std::vector<size_t> order(experts);
  std::iota(order.begin(), order.end(), size_t{0});
  const base::Random draw(0, static_cast<uint64_t>(moe_layer), "hot experts");
  for (size_t i = experts; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(draw.below(i, static_cast<int64_t>(i)))]);
  return order;
}

Shares zipf(size_t experts, double exponent, int64_t moe_layer) {
  const std::vector<size_t> order = wanted_order(experts, moe_layer);
  Shares shares(experts);
  for (size_t n = 0; n < experts; ++n)
    shares[order[n]] = base::exponential(-exponent * base::logarithm(static_cast<double>(n) + 1));
  scale_to_one(shares);
  return shares;
}

/// `count` experts from `first` on take `times` their even share, the others what is left.
Shares with_hot(size_t experts, size_t first, size_t count, double times) {
  const auto all = static_cast<double>(experts), hot = static_cast<double>(count);
  const double each = std::min(times / all, 1 / hot);
  Shares shares(experts, count < experts ? (1 - hot * each) / (all - hot) : 0);
  std::fill_n(shares.begin() + static_cast<std::ptrdiff_t>(first), count, each);
  return shares;
}

Shares asked_shares(const spec::Job& job, int64_t moe_layer) {
  const spec::ExpertRouting& routing = job.training.moe_routing;
  const auto experts = static_cast<size_t>(job.model.experts.count);
  const auto ranks = static_cast<size_t>(job.parallelism.ep);
  const size_t on_rank = experts / ranks;
  const auto hot_rank = [&](size_t rank) {
    return with_hot(experts, rank * on_rank, on_rank, routing.amount);
  };
  const auto even = [&] { return Shares(experts, 1 / static_cast<double>(experts)); };
  switch (routing.kind) {
    case RoutingKind::kEven: break;
    case RoutingKind::kZipf: return zipf(experts, routing.amount, moe_layer);
    case RoutingKind::kHotExpert:
      return with_hot(experts, wanted_order(experts, moe_layer).front(), 1, routing.amount);
    case RoutingKind::kHotRank: return hot_rank(0);
    case RoutingKind::kRotatingRank: return hot_rank(static_cast<size_t>(moe_layer) % ranks);
    case RoutingKind::kBursts: return moe_layer % kBurstEvery == 0 ? hot_rank(0) : even();
    case RoutingKind::kCounts: {
      const auto row = static_cast<size_t>(moe_layer) % routing.counts.size();
      Shares shares = routing.counts[row];
      scale_to_one(shares);
      return shares;
    }
  }
  return even();
}

std::vector<double> loads_in_order(const Shares& shares, size_t ranks) {
  const size_t on_rank = shares.size() / ranks;
  std::vector<double> loads(ranks);
  for (size_t expert = 0; expert < shares.size(); ++expert)
    loads[expert / on_rank] += static_cast<double>(ranks) * shares[expert];
  return loads;
}

bool sends_once(const spec::Training& training) {
  return training.moe_dispatcher == spec::MoeDispatcher::kDeepEp ||
         training.moe_dispatcher == spec::MoeDispatcher::kHybridEp;
}

/// Ranks of an expert-parallel group that lie in a scale-up domain, in order; all of them where
/// nothing leaves it.
size_t domain_ranks(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t ranks = job.cluster.domain_gpus / std::max<int64_t>(1, p.etp > 0 ? p.etp : p.tp);
  return static_cast<size_t>(std::clamp<int64_t>(ranks, 1, p.ep));
}

/// Among how many sets of ranks experts and copies are divided, in order, before they are placed
/// within each: one a group of experts whose ranks are its own; 1: all are placed anywhere.
size_t sets_of_ranks(const spec::Job& job) {
  const bool apart = job.model.experts.groups <= job.parallelism.ep && !scatters_groups(job);
  return apart ? static_cast<size_t>(job.model.experts.groups) : 1;
}

/// Gives so many copies to some of the experts [begin, end), each on at most `ranks` ranks.
void add_copies(const Shares& shares, size_t begin, size_t end, int64_t count, double ranks,
                std::vector<double>& copies) {
  // What an expert's copies take each; of several that take as much, the first expert is the next.
  std::priority_queue<std::pair<double, int64_t>> wanted;
  for (size_t expert = begin; expert < end; ++expert)
    wanted.emplace(shares[expert], -static_cast<int64_t>(expert));
  for (int64_t i = 0; i < count && !wanted.empty(); ++i) {
    const auto most = static_cast<size_t>(-wanted.top().second);
    wanted.pop();
    if (++copies[most] < ranks)
      wanted.emplace(shares[most] / copies[most], -static_cast<int64_t>(most));
  }
}

/// How often a layer has each of its experts: at most once a rank.
std::vector<double> copies_of(const spec::Job& job, const Shares& shares) {
  std::vector<double> copies(shares.size(), 1);
  if (job.training.moe_redundant_experts == 0) return copies;
  const size_t sets = sets_of_ranks(job), each = shares.size() / sets;
  const auto parts = static_cast<int64_t>(sets);
  for (size_t set = 0; set < sets; ++set)
    add_copies(shares, set * each, (set + 1) * each, job.training.moe_redundant_experts / parts,
               static_cast<double>(job.parallelism.ep / parts), copies);
  return copies;
}

/// The share of a layer's choices that an expert, or a copy of one, may take.
double room_of_expert(const spec::Job& job) {
  const double factor = job.training.moe_capacity_factor;
  return factor > 0 ? factor / static_cast<double>(job.model.experts.count) : 1;
}

/// What takes a slot of a rank: an expert, or one of its copies.
struct HeldExpert {
  size_t expert = 0;
  double share = 0;   ///< of all choices that a capacity leaves
  double copies = 1;  ///< of the expert, itself among them

  double summed() const { return (copies - 1) / copies; }
};

/// From the most wanted on.
std::vector<HeldExpert> held_experts(const spec::Job& job, const Shares& shares, double kept) {
  const std::vector<double> copies = copies_of(job, shares);
  const double room = room_of_expert(job);
  std::vector<HeldExpert> experts;
  for (size_t expert = 0; expert < shares.size(); ++expert)
    experts.insert(
        experts.end(), static_cast<size_t>(copies[expert]),
        {expert, std::min(shares[expert] / copies[expert], room) / kept, copies[expert]});
  std::ranges::stable_sort(experts, std::greater<>(), &HeldExpert::share);
  return experts;
}

struct Placed {
  std::vector<double> loads;                  ///< by rank
  std::vector<std::vector<HeldExpert>> held;  ///< the same
};

bool holds(const std::vector<HeldExpert>& held, size_t expert) {
  return std::ranges::find(held, expert, &HeldExpert::expert) != held.end();
}

/// Of a copy of an expert that all ranks with room hold, `to` among them: some rank without it is
/// full, hence has an expert that `to` has not. The least wanted of these moves, the copy goes
/// there.
void place_in_exchange(const HeldExpert& copy, size_t to, Placed& placed) {
  const auto ranks = static_cast<double>(placed.held.size());
  HeldExpert* moved = nullptr;
  size_t from = 0;
  for (size_t rank = 0; rank < placed.held.size(); ++rank) {
    if (holds(placed.held[rank], copy.expert)) continue;
    for (HeldExpert& it : placed.held[rank]) {
      if (holds(placed.held[to], it.expert) || (moved != nullptr && it.share >= moved->share))
        continue;
      moved = &it;
      from = rank;
    }
  }
  ERGOMETER_CHECK(moved != nullptr, "an expert has no more copies than there are ranks");
  placed.loads[to] += ranks * moved->share;
  placed.loads[from] += ranks * (copy.share - moved->share);
  placed.held[to].push_back(*moved);
  *moved = copy;
}

/// `before`: the loads of the layers before, added up.
Placed place_by_load(const std::vector<HeldExpert>& experts, const std::vector<double>& before) {
  const size_t ranks = before.size(), room = experts.size() / ranks;
  Placed placed{std::vector<double>(ranks), std::vector<std::vector<HeldExpert>>(ranks)};
  for (const HeldExpert& one : experts) {
    const auto order = [&](size_t rank) {
      const bool twice = one.copies > 1 && holds(placed.held[rank], one.expert);
      return std::tuple(twice, placed.loads[rank], before[rank]);
    };
    size_t to = ranks;
    for (size_t rank = 0; rank < ranks; ++rank)
      if (placed.held[rank].size() < room && (to == ranks || order(rank) < order(to))) to = rank;
    if (std::get<0>(order(to))) {
      place_in_exchange(one, to, placed);
      continue;
    }
    placed.loads[to] += static_cast<double>(ranks) * one.share;
    placed.held[to].push_back(one);
  }
  return placed;
}

/// Copies of every expert in every domain of `together` ranks.
std::vector<std::vector<double>> copies_by_domain(const Placed& placed, size_t experts,
                                                  size_t together) {
  const size_t ranks = placed.held.size();
  std::vector<std::vector<double>> copies((ranks + together - 1) / together,
                                          std::vector<double>(experts));
  for (size_t rank = 0; rank < ranks; ++rank)
    for (const HeldExpert& one : placed.held[rank]) ++copies[rank / together][one.expert];
  return copies;
}

void add_sums(const Placed& placed, size_t experts, size_t together, CopySums& sums) {
  const std::vector<std::vector<double>> here = copies_by_domain(placed, experts, together);
  const size_t ranks = placed.held.size();
  std::vector<double>& sent = sums.sent.emplace_back(ranks);
  std::vector<double>& leaving = sums.leaving.emplace_back(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const HeldExpert& one : placed.held[rank]) {
      sent[rank] += one.summed();
      const double beside = here[rank / together][one.expert];
      if (beside < one.copies) leaving[rank] += one.summed() / beside;
    }
  }
}

/// An order of ranks, domain by domain, in which copies of an expert meet.
std::vector<size_t> order_by_copies(const Placed& placed, size_t experts, size_t together) {
  std::vector<size_t> left(placed.held.size()), order;
  std::iota(left.begin(), left.end(), size_t{0});
  std::vector<bool> inside;  ///< of experts that a domain has copies of
  const auto shared = [&](size_t rank) {
    double sum = 0;
    for (const HeldExpert& one : placed.held[rank])
      if (one.copies > 1 && inside[one.expert]) sum += 1 / (one.copies - 1);
    return sum;
  };
  const auto copied = [&](size_t rank) {
    return base::sum(placed.held[rank], &HeldExpert::summed);
  };
  while (!left.empty()) {
    const bool begins = order.size() % together == 0;
    if (begins) inside.assign(experts, false);
    const auto next = begins ? std::ranges::max_element(left, {}, copied)
                             : std::ranges::max_element(left, {}, shared);
    for (const HeldExpert& one : placed.held[*next]) inside[one.expert] = true;
    order.push_back(*next);
    left.erase(next);
  }
  // Within a domain as they were, lest the first ranks have most copies in every layer.
  for (auto first = order.begin(); first != order.end();
       first += static_cast<std::ptrdiff_t>(together))
    std::sort(first, first + static_cast<std::ptrdiff_t>(together));
  return order;
}

/// What leaves the domains, all ranks together.
double leaving(const Placed& placed, size_t experts, size_t together) {
  CopySums sums;
  add_sums(placed, experts, together, sums);
  return std::accumulate(sums.leaving.front().begin(), sums.leaving.front().end(), 0.0);
}

/// `place_by_load`, with copies of an expert in as few domains of `together` ranks as can be.
Placed place_near(const std::vector<HeldExpert>& experts, const std::vector<double>& before,
                  size_t together) {
  Placed placed = place_by_load(experts, before);
  const size_t ranks = before.size();
  const bool copied = std::ranges::any_of(experts, [](auto& one) { return one.copies > 1; });
  if (!copied || together <= 1 || together >= ranks || ranks % together != 0) return placed;
  const size_t count =
      base::largest(experts, size_t{0}, [](const HeldExpert& one) { return one.expert + 1; });
  Placed ordered;
  for (const size_t rank : order_by_copies(placed, count, together)) {
    ordered.loads.push_back(placed.loads[rank]);
    ordered.held.push_back(placed.held[rank]);
  }
  return leaving(ordered, count, together) < leaving(placed, count, together) ? ordered : placed;
}

/// Whole groups of experts, several a rank.
Placed place_groups(const spec::Job& job, const std::vector<HeldExpert>& experts,
                    const std::vector<double>& before) {
  const auto count = static_cast<size_t>(job.model.experts.groups);
  const size_t each = static_cast<size_t>(job.model.experts.count) / count;
  std::vector<HeldExpert> groups(count);
  for (size_t group = 0; group < count; ++group) groups[group].expert = group;
  for (const HeldExpert& one : experts) groups[one.expert / each].share += one.share;
  std::ranges::stable_sort(groups, std::greater<>(), &HeldExpert::share);
  return place_by_load(groups, before);
}

/// Each group of experts on ranks of its own.
Placed place_in_sets(const spec::Job& job, size_t sets, const std::vector<HeldExpert>& experts,
                     const std::vector<double>& before) {
  const size_t each = static_cast<size_t>(job.model.experts.count) / sets;
  const size_t ranks = before.size() / sets;
  Placed placed;
  for (size_t set = 0; set < sets; ++set) {
    std::vector<HeldExpert> own;
    for (HeldExpert one : experts) {
      if (one.expert / each != set) continue;
      one.share *= static_cast<double>(sets);  // loads are shares times the ranks of the set
      own.push_back(one);
    }
    const auto first = before.begin() + static_cast<std::ptrdiff_t>(set * ranks);
    Placed of_set =
        place_near(own, {first, first + static_cast<std::ptrdiff_t>(ranks)}, domain_ranks(job));
    placed.loads.insert(placed.loads.end(), of_set.loads.begin(), of_set.loads.end());
    std::ranges::move(of_set.held, std::back_inserter(placed.held));
  }
  return placed;
}

Placed place(const spec::Job& job, const std::vector<HeldExpert>& experts,
             const std::vector<double>& before) {
  const size_t sets = sets_of_ranks(job);
  if (sets > 1) return place_in_sets(job, sets, experts, before);
  const bool grouped = job.model.experts.groups > 1 && !scatters_groups(job);
  return grouped ? place_groups(job, experts, before)
                 : place_near(experts, before, domain_ranks(job));
}

void add_to(std::vector<double>& sums, const std::vector<double>& values) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
}

/// Rows that an expert, or a copy of one, may take.
double most_rows(const spec::Job& job, double choices) {
  const auto count = static_cast<double>(job.model.experts.count);
  return std::ceil(choices / count * job.training.moe_capacity_factor);
}

/// Rows of all experts and copies, each filled up to its capacity.
double padded_rows(const spec::Job& job, double choices) {
  return most_rows(job, choices) * static_cast<double>(job.placed_experts());
}

/// Rows that a capacity leaves of choices that want every expert as much.
double kept_rows(const spec::Job& job, double choices) {
  if (job.training.moe_redundant_experts == 0) return std::min(choices, padded_rows(job, choices));
  const double each = choices / static_cast<double>(job.model.experts.count);
  double rows = 0;
  for (const double copies : copies_of(job, expert_shares(job, 0)))
    rows += std::min(each, copies * most_rows(job, choices));
  return rows;
}

bool has_uneven_routing(const spec::Job& job) {
  return job.model.experts.count > 0 && !job.training.moe_routing.is_even();
}

}  // namespace

double ExpertLoads::fullest(int64_t layer) const {
  if (layer < 0 || layer >= std::ssize(by_layer)) return 1;
  const std::vector<double>& loads = by_layer[static_cast<size_t>(layer)];
  return loads.empty() ? 1 : *std::ranges::max_element(loads);
}

double ExpertLoads::mean_fullest() const {
  double sum = 0, layers = 0;
  for (const std::vector<double>& loads : by_layer) {
    if (loads.empty()) continue;
    sum += *std::ranges::max_element(loads);
    layers += 1;
  }
  return layers > 0 ? sum / layers : 1;
}

double ExpertLoads::of(int64_t layer, int64_t member) const {
  if (layer < 0 || layer >= std::ssize(by_layer)) return 1;
  const std::vector<double>& loads = by_layer[static_cast<size_t>(layer)];
  return loads.empty() ? 1 : loads[static_cast<size_t>(member)];
}

std::vector<double> expert_shares(const spec::Job& job, int64_t moe_layer) {
  Shares shares = asked_shares(job, moe_layer);
  limit(shares, 1 / static_cast<double>(job.model.experts.top_k));
  return shares;
}

bool scatters_groups(const spec::Job& job) {
  const spec::Training& t = job.training;
  const spec::Experts& experts = job.model.experts;
  const int64_t groups = experts.groups, ranks = job.parallelism.ep;
  if (groups <= 1 || t.moe_placement != spec::ExpertPlacement::kByLoad) return false;
  if (!sends_once(t) || domain_ranks(job) == static_cast<size_t>(ranks)) return true;
  const int64_t copies = t.moe_redundant_experts;
  if (copies == 0) return ranks % groups != 0 && groups % ranks != 0;
  // Each expert once on every rank of its group is all that these can hold.
  const int64_t most = experts.count * (ranks / groups - 1);
  return ranks % groups != 0 || copies % groups != 0 || copies > most;
}

ExpertLoads expert_loads(const spec::Job& job) {
  ExpertLoads loads;
  const auto ranks = static_cast<size_t>(job.parallelism.ep);
  if (job.model.experts.count == 0 || job.loads_experts_evenly()) return loads;
  if (ranks == 1 || job.training.pads_experts()) return loads;
  const bool by_load = job.training.moe_placement == spec::ExpertPlacement::kByLoad;
  const double room = room_of_expert(job), kept = 1 - dropped_share(job);
  std::vector<double> before(ranks);
  int64_t moe_layer = 0;
  for (const spec::Layer& layer : job.model.layers) {
    std::vector<double>& of_layer = loads.by_layer.emplace_back();
    if (!layer.moe) continue;
    Shares shares = expert_shares(job, moe_layer++);
    if (by_load) {
      of_layer = place(job, held_experts(job, shares, kept), before).loads;
    } else {
      for (double& share : shares) share = std::min(share, room) / kept;
      of_layer = loads_in_order(shares, ranks);
    }
    add_to(before, of_layer);
    loads.most = std::max(loads.most, *std::ranges::max_element(of_layer));
  }
  // Nearer to even than a row: nothing to tell.
  if (loads.most < 1 + 1e-9) return {};
  return loads;
}

CopySums copy_sums(const spec::Job& job, int64_t together) {
  CopySums sums;
  if (job.training.moe_redundant_experts == 0) return sums;
  const auto ranks = static_cast<size_t>(job.parallelism.ep);
  const double kept = 1 - dropped_share(job);
  std::vector<double> before(ranks);
  int64_t moe_layer = 0;
  for (const spec::Layer& layer : job.model.layers) {
    if (!layer.moe) {
      sums.sent.emplace_back(ranks);
      sums.leaving.emplace_back(ranks);
      continue;
    }
    const Shares shares = expert_shares(job, moe_layer++);
    const Placed placed = place(job, held_experts(job, shares, kept), before);
    add_sums(placed, shares.size(), static_cast<size_t>(together), sums);
    add_to(before, placed.loads);
  }
  return sums;
}

double dropped_share(const spec::Job& job) {
  const double factor = job.training.moe_capacity_factor;
  if (job.model.experts.count == 0 || factor == 0) return 0;
  const bool copied = job.training.moe_redundant_experts > 0;
  if (!has_uneven_routing(job) && !copied) return std::max(0.0, 1 - factor);
  const double room = room_of_expert(job);
  double dropped = 0;
  int64_t moe_layers = 0;
  for (const spec::Layer& layer : job.model.layers) {
    if (!layer.moe) continue;
    const Shares shares = expert_shares(job, moe_layers++);
    const std::vector<double> copies = copies_of(job, shares);
    for (size_t expert = 0; expert < shares.size(); ++expert)
      dropped += std::max(0.0, shares[expert] - copies[expert] * room);
  }
  return moe_layers > 0 ? dropped / static_cast<double>(moe_layers) : 0;
}

double kept_share(const spec::Job& job, double choices) {
  if (has_uneven_routing(job) || choices == 0) return 1 - dropped_share(job);
  if (job.training.moe_capacity_factor == 0) return 1;
  return std::min(1.0, kept_rows(job, choices) / choices);
}

double expert_rows(const spec::Job& job, double choices) {
  if (job.training.pads_experts()) return padded_rows(job, choices);
  return choices * kept_share(job, choices);
}

}  // namespace ergometer::workload
