#include "cost/network_load.h"

#include <algorithm>

#include "spec/job/circuits.h"

namespace ergometer::cost {

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

bool is_one_ring(const spec::Job& job, const plan::GroupPlacement& where, std::string_view link) {
  return std::ranges::any_of(
      spec::dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp,
                          where.circuits_onward),
      [&](const spec::Dimension& line) { return line.name == link && line.links == 1; });
}

}  // namespace ergometer::cost
