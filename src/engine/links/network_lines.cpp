// Of line l a collective asks (its rate / the cards' rate) x (how far l holds the cards up:
// plan/network/fabric_load.cpp). Its neighbours do the same at the same time, as that price has it;
// of other stages nothing is seen. Where there is no tree of switches stages send forth over one
// direction of a line and back over the other.
// Worked: two that send through uplinks four times oversubscribed at a quarter of the cards' rate
// each fill these alone, and take twice as long together.
#include "engine/links/network_lines.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/collection.h"
#include "cost/network_load.h"
#include "spec/job/circuits.h"

namespace ergometer::engine {
namespace {

/// Whether the shorter way along a line leads over its closing link, as from the last stage to the
/// first: against the order of the stages.
bool goes_round(const spec::Job& job, const plan::GroupPlacement& where, std::string_view name) {
  if (!job.cluster.fabric.topology.wraparound) return false;
  const auto lines = spec::dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp,
                                         where.circuits_onward);
  const auto line = std::ranges::find(lines, name, &spec::Dimension::name);
  if (line == lines.end()) return false;
  const auto length = static_cast<double>(line->step * line->size);
  return 2 * std::fmod(where.node_stride, length) > length;
}

}  // namespace

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
    const bool both =
        is_tree_ || where.way == plan::Way::kBoth || cost::is_one_ring(job_, where, link.link);
    const double share = std::min(1.0, cards * link.slowdown);
    const bool forth = (where.way == plan::Way::kForth) != goes_round(job_, where, link.link);
    if (both || forth) shares[2 * line] = share;
    if (both || !forth) shares[2 * line + 1] = share;
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
