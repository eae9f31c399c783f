#include "cost/network_load.h"

#include <algorithm>
#include <cmath>

#include "spec/job/circuits.h"

namespace ergometer::cost {
namespace {

/// As from the last stage to the first: against the order of the stages.
bool shorter_over_closing_link(const spec::Dimension& line, double node_stride) {
  const auto length = static_cast<double>(line.step * line.size);
  return 2 * std::fmod(node_stride, length) > length;
}

}  // namespace

plan::Pattern pattern_of(const workload::Operator& op) {
  using workload::CollectiveKind;
  if (op.collective == CollectiveKind::kSendRecv) return plan::Pattern::kSend;
  const bool exchange = op.collective == CollectiveKind::kAllToAll || op.routing.choices > 0;
  return exchange ? plan::Pattern::kAllToAll : plan::Pattern::kRing;
}

plan::FabricLoad network_load(const spec::Job& job, const workload::Operator& op,
                              const plan::GroupPlacement& where) {
  if (where.nodes <= 1) return {};
  const plan::Pattern pattern = pattern_of(op);
  return plan::fabric_load(job.cluster,
                           pattern == plan::Pattern::kRing ? where.neighbours : pattern,
                           plan::group_on_fabric(job, where));
}

Directions directions_on(const spec::Job& job, const plan::GroupPlacement& where,
                         std::string_view link) {
  if (where.way == plan::Way::kBoth || spec::has_tiers(job.cluster.fabric.kind)) return {};
  const auto lines = spec::dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp,
                                         where.circuits_onward);
  const auto line = std::ranges::find(lines, link, &spec::Dimension::name);
  if (line != lines.end() && line->links == 1) return {};
  const bool goes_round = line != lines.end() && job.cluster.fabric.topology.wraparound &&
                          shorter_over_closing_link(*line, where.node_stride);
  const bool forth = (where.way == plan::Way::kForth) != goes_round;
  return {.forth = forth, .back = !forth};
}

}  // namespace ergometer::cost
