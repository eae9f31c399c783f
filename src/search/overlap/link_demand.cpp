// Of a line of the network a collective asks (its rate / the cards' rate) x (how far the line holds
// the cards up), as in engine/links/network_lines.cpp, in the directions that its messages take.
//
// Worked: two exchanges that send through uplinks four times oversubscribed at a quarter of the
// cards' rate each fill these alone, and take twice as long together.
#include "search/overlap/link_demand.h"

#include <algorithm>

#include "base/collection.h"
#include "cost/given_choice.h"
#include "cost/network_load.h"
#include "engine/links/fair_share.h"
#include "spec/job/circuits.h"

namespace ergometer::search {
namespace {

/// Whether some line may hold the cards up.
bool has_lines(const spec::Fabric& fabric) {
  return !spec::has_tiers(fabric.kind) ||
         std::ranges::any_of(fabric.tiers,
                             [](const spec::FabricTier& it) { return it.oversubscription > 1; });
}

template <class Lines>
size_t place_in(const Lines& lines, std::string_view name) {
  const auto found = std::ranges::find_if(lines, [&](const auto& it) { return it.name == name; });
  return found == lines.end() ? LinkDemand::kMostLines : static_cast<size_t>(found - lines.begin());
}

size_t line_of(const spec::Job& job, const plan::GroupPlacement& where, std::string_view name) {
  const spec::Fabric& fabric = job.cluster.fabric;
  if (spec::has_tiers(fabric.kind)) return place_in(fabric.tiers, name);
  return place_in(
      spec::dimensions_of(fabric, job.nodes(), job.parallelism.pp, where.circuits_onward), name);
}

void ask_lines(const spec::Job& job, const workload::Operator& op,
               const plan::GroupPlacement& where, double cards, LinkDemand& demand) {
  if (cards <= 0 || !has_lines(job.cluster.fabric)) return;
  for (const plan::LinkLoad& link : cost::network_load(job, op, where).links)
    if (const size_t line = line_of(job, where, link.link); line < LinkDemand::kMostLines) {
      const cost::Directions directions = cost::directions_on(job, where, link.link);
      double* const shares = &demand.share[LinkDemand::kLines + 2 * line];
      const double share = std::min(1.0, cards * link.slowdown);
      if (directions.forth) shares[0] = share;
      if (directions.back) shares[1] = share;
    }
}

}  // namespace

LinkDemand link_demand(const spec::Job& job, const workload::Operator& op,
                       const plan::GroupPlacement& where, double alone_s) {
  LinkDemand demand;
  if (op.kind != workload::OperatorKind::kCollective || alone_s <= 0) return demand;
  const spec::Node& node = job.cluster.node;
  const double nic = base::sum(node.nics, &spec::Nic::bytes_per_s) /
                     std::max<double>(1, static_cast<double>(node.gpus));
  const cost::Traffic traffic = cost::GivenChoice(job).traffic(op, where);
  const auto share = [&](double bytes, double capacity) {
    return capacity > 0 ? bytes / alone_s / capacity : 0;
  };
  const double cards = share(traffic.nic_bytes, nic);
  demand.share[LinkDemand::kIntra] =
      std::min(1.0, share(traffic.intra_bytes, node.intra_bytes_per_s));
  demand.share[LinkDemand::kCards] = std::min(1.0, cards);
  ask_lines(job, op, where, cards, demand);
  return demand;
}

double stretch_beside(const LinkDemand& own, const LinkDemand& other) {
  double stretch = 1;
  for (size_t link = 0; link < own.share.size(); ++link) {
    if (own.share[link] <= 0 || other.share[link] <= 0) continue;
    const std::array<double, 2> demands = {own.share[link], other.share[link]};
    stretch = std::max(stretch, own.share[link] / engine::fair_share(own.share[link], demands, 1));
  }
  return stretch;
}

LinkDemand only_lines(LinkDemand demand) {
  std::fill_n(demand.share.begin(), LinkDemand::kLines, 0.0);
  return demand;
}

}  // namespace ergometer::search
