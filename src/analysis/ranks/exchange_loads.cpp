#include "analysis/ranks/exchange_loads.h"

#include <algorithm>

#include "analysis/ranks/collectives.h"
#include "base/collection.h"
#include "base/mean.h"

namespace ergometer::analysis {
namespace {

/// Elements of every member in shares of their mean; empty where some are unknown or there are
/// none.
std::vector<double> element_shares(const std::vector<int64_t>& elements) {
  if (std::ranges::any_of(elements, [](int64_t count) { return count < 0; })) return {};
  const auto count = [](int64_t value) { return static_cast<double>(value); };
  const double mean = base::sum(elements, count) / count(std::ssize(elements));
  if (mean <= 0) return {};
  return base::mapped(elements, [&](int64_t value) { return count(value) / mean; });
}

/// The loads of an exchange's members: of what they get or of what they give, whichever is more
/// uneven.
std::vector<double> loads_of(const std::vector<run::RankTrace>& ranks,
                             const CollectiveInstance& one) {
  std::vector<int64_t> in, out;
  for (const CollectiveCall& call : one.calls) {
    const run::RankTrace& trace = ranks[call.trace];
    const run::Collective& of = collective_of(trace, trace.events[call.event]);
    if (of.group_size != std::ssize(one.calls)) return {};
    in.push_back(of.in_elements);
    out.push_back(of.out_elements);
  }
  std::vector<double> given = element_shares(in), got = element_shares(out);
  if (given.empty() || got.empty()) return {};
  return std::ranges::max(given) > std::ranges::max(got) ? given : got;
}

}  // namespace

ExchangeLoads exchange_loads(const std::vector<run::RankTrace>& ranks,
                             const MatchedCollectives& collectives) {
  ExchangeLoads result;
  std::vector<base::Mean> means(ranks.size());
  base::Mean fullest;
  for (const CollectiveInstance& one : collectives.instances) {
    if (one.kind != CollectiveKind::kAllToAll) continue;
    const std::vector<double> loads = loads_of(ranks, one);
    if (loads.empty()) continue;
    ++result.exchanges;
    fullest.add(std::ranges::max(loads));
    result.most = std::max(result.most, std::ranges::max(loads));
    for (size_t i = 0; i < loads.size(); ++i) means[one.calls[i].trace].add(loads[i]);
  }
  result.mean_fullest = fullest.get().value_or(1);
  for (size_t i = 0; i < ranks.size(); ++i)
    if (const auto load = means[i].get()) result.ranks.push_back({ranks[i].rank, *load});
  return result;
}

}  // namespace ergometer::analysis
