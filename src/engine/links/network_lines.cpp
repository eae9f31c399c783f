// Of line l a collective asks (its rate / the cards' rate) x (how far l holds the cards up:
// plan/network/fabric_load.cpp). Its neighbours do the same at the same time, as that price has it;
// of other stages nothing is seen.
// Worked: two that send through uplinks four times oversubscribed at a quarter of the cards' rate
// each fill these alone, and take twice as long together.
#include "engine/links/network_lines.h"

#include <algorithm>

#include "base/collection.h"
#include "cost/network_load.h"

namespace ergometer::engine {

NetworkLines::NetworkLines(const spec::Job& job, const plan::Plan& plan)
    : job_(job), plan_(plan), is_tree_(spec::has_tiers(job.cluster.fabric.kind)) {
  const auto narrows = [](const spec::FabricTier& tier) { return tier.oversubscription > 1; };
  if (!is_tree_ || std::ranges::any_of(job.cluster.fabric.tiers, narrows)) find_lines();
}

void NetworkLines::find_lines() {
  for (size_t role = 0; role < plan_.roles.size(); ++role)
    for (size_t number = 0; number < plan_.operators.size(); ++number)
      for (const plan::LinkLoad& link : load(role, number).links)
        if (link.slowdown > 1 && link.link != plan::kPlane && names_.size() < kMost &&
            !base::contains(names_, link.link))
          names_.push_back(link.link);
}

void NetworkLines::ask(size_t role, size_t number, double cards, std::span<double> shares) {
  if (names_.empty()) return;
  const plan::GroupPlacement& where = plan_.placements[role][number];
  for (const plan::LinkLoad& link : load(role, number).links) {
    const auto line = static_cast<size_t>(std::ranges::find(names_, link.link) - names_.begin());
    if (line == names_.size()) continue;
    const cost::Directions directions = cost::directions_on(job_, where, link.link);
    const double share = std::min(1.0, cards * link.slowdown);
    if (directions.forth) shares[2 * line] = share;
    if (directions.back) shares[2 * line + 1] = share;
  }
}

const plan::FabricLoad& NetworkLines::load(size_t role, size_t number) {
  static const plan::FabricLoad kNone;
  const workload::Operator& op = plan_.operators[number];
  const plan::GroupPlacement& where = plan_.placements[role][number];
  if (op.kind != workload::OperatorKind::kCollective || where.nodes <= 1) return kNone;
  const plan::Pattern pattern = cost::pattern_of(op);
  const auto [entry, is_new] = known_.try_emplace(
      {pattern == plan::Pattern::kRing ? where.neighbours : pattern, where.way, where.size,
       where.nodes, where.node_stride, where.tiers, where.circuits_onward});
  if (is_new) entry->second = cost::network_load(job_, op, where);
  return entry->second;
}

}  // namespace ergometer::engine
