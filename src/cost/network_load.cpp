#include "cost/network_load.h"

namespace ergometer::cost {
namespace {

plan::Pattern pattern_of(const workload::Operator& op) {
  using workload::CollectiveKind;
  if (op.collective == CollectiveKind::kSendRecv) return plan::Pattern::kSend;
  const bool exchange = op.collective == CollectiveKind::kAllToAll || op.routing.choices > 0;
  return exchange ? plan::Pattern::kAllToAll : plan::Pattern::kRing;
}

}  // namespace

plan::FabricLoad network_load(const spec::Cluster& cluster, const workload::Operator& op,
                              const plan::GroupPlacement& where) {
  if (where.nodes <= 1) return {};
  return plan::fabric_load(cluster, pattern_of(op),
                           {static_cast<double>(where.nodes), where.node_stride, where.tiers});
}

}  // namespace ergometer::cost
