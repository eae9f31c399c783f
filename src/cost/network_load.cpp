#include "cost/network_load.h"

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
  return plan::fabric_load(job.cluster, pattern_of(op), plan::group_on_fabric(job, where));
}

}  // namespace ergometer::cost
