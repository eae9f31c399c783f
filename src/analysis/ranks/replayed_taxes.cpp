#include "analysis/ranks/replayed_taxes.h"

#include <algorithm>
#include <map>

#include "analysis/math/owen_values.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

enum TaxPlayer : int { kRanksWait, kCpuWaits, kHandOver, kLaunched, kTaxes };

constexpr Coalition tax_bit(TaxPlayer tax) { return Coalition{1} << tax; }
constexpr Coalition kNoTax = tax_bit(kTaxes) - 1;

Replay replay_without(Coalition taken) {
  return {.ranks_free = (taken & tax_bit(kRanksWait)) != 0,
          .cpu_unblocked = (taken & tax_bit(kCpuWaits)) != 0,
          .on_chip = (taken & tax_bit(kHandOver)) != 0,
          .launches_free = (taken & tax_bit(kLaunched)) != 0};
}

/// What there is of the taxes in the traces: without the rest nothing changes.
Coalition taxes_of(const EventGraph& graph) {
  Coalition found = 0;
  for (const EventNode& node : graph.nodes) {
    if (node.rank != graph.nodes.front().rank) found |= tax_bit(kRanksWait);
    if (node.cpu_waited_ns > 0) found |= tax_bit(kCpuWaits);
    if (node.handed_over_ns > 0) found |= tax_bit(kHandOver);
    if (node.launched) found |= tax_bit(kLaunched);
  }
  return found;
}

/// Lengths by what is taken away, each played once.
class Lengths {
 public:
  explicit Lengths(const EventGraph& graph) : graph_(graph), found_(taxes_of(graph)) {}

  /// Where ranks do not wait for each other, the mean of their ends, else the last one.
  double of(const Replay& replay) const {
    const std::vector<int64_t> ends = replayed_ends(graph_, replay);
    const auto last = static_cast<double>(*std::ranges::max_element(ends));
    if (!replay.ranks_free) return last;
    return base::sum(ends, [](int64_t end) { return static_cast<double>(end); }) /
           static_cast<double>(ends.size());
  }
  const std::vector<double>& of(Coalition taken) {
    std::vector<double>& length = lengths_[taken & found_];
    if (length.empty()) length.push_back(of(replay_without(taken & found_)));
    return length;
  }
  double ns(Coalition taken) { return of(taken).front(); }
  bool has(TaxPlayer tax) const { return (found_ & tax_bit(tax)) != 0; }

 private:
  const EventGraph& graph_;
  Coalition found_;
  std::map<Coalition, std::vector<double>> lengths_;
};

/// What waiting at each kind of collective alone adds to the replay without any tax, and what the
/// last rank takes longer than the mean.
std::vector<std::pair<std::string, double>> waiting_by_kind(const EventGraph& graph,
                                                            Lengths& lengths) {
  std::vector<std::pair<std::string, double>> sites;
  std::vector<bool> meets(graph.kinds.size(), false);
  for (const EventMeeting& meeting : graph.meetings)
    if (!meeting.message) meets[graph.nodes[meeting.latest].kind] = true;
  Replay replay = replay_without(kNoTax);
  for (uint32_t kind = 0; kind < graph.kinds.size(); ++kind) {
    if (!meets[kind]) continue;
    replay.waits_at = kind;
    sites.emplace_back(graph.kinds[kind], lengths.of(replay) - lengths.ns(kNoTax));
  }
  replay.waits_at = Replay::kNoKind;
  const std::vector<int64_t> ends = replayed_ends(graph, replay);
  const auto last = static_cast<double>(*std::ranges::max_element(ends));
  sites.emplace_back(kEndOfTrace, last - lengths.ns(kNoTax));
  return sites;
}

/// `share_ns` in proportion to the values; those that are nothing are left out.
void divide(double share_ns, std::vector<std::pair<std::string, double>>& sites) {
  std::erase_if(sites, [](const auto& site) { return site.second <= 0; });
  if (share_ns <= 0) sites.clear();
  if (sites.empty() && share_ns > 0) sites.emplace_back(kEndOfTrace, 1.0);
  const double sum = base::sum(sites, [](const auto& site) { return site.second; });
  for (auto& [name, ns] : sites) ns *= share_ns / sum;
  std::ranges::stable_sort(sites, [](const auto& a, const auto& b) { return a.second > b.second; });
}

}  // namespace

ReplayedTaxes replayed_taxes(const EventGraph& graph) {
  if (graph.nodes.empty()) return {};
  Lengths lengths(graph);
  const Unions unions{{{kRanksWait, kCpuWaits}, {kHandOver}, {kLaunched}}};
  const auto effects = attribute(
      unions, [&](Coalition taken) -> const std::vector<double>& { return lengths.of(taken); });
  const auto tax = [&](TaxPlayer player) {
    return ReplayedTax{0.0 - effects[player].front(), lengths.ns(tax_bit(player))};
  };
  ReplayedTaxes taxes;
  taxes.span_ns = lengths.ns(0);
  taxes.untaxed_ns = lengths.ns(kNoTax);
  taxes.collective_waiting = tax(kRanksWait);
  taxes.host_sync = tax(kCpuWaits);
  taxes.memory_round_trips = tax(kHandOver);
  taxes.launch = tax(kLaunched);
  taxes.bulk_synchrony = {taxes.collective_waiting.share_ns + taxes.host_sync.share_ns,
                          lengths.ns(tax_bit(kRanksWait) | tax_bit(kCpuWaits))};
  if (!lengths.has(kRanksWait)) return taxes;
  taxes.sites = waiting_by_kind(graph, lengths);
  divide(taxes.collective_waiting.share_ns, taxes.sites);
  return taxes;
}

}  // namespace ergometer::analysis
