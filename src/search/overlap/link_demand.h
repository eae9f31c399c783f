#pragma once

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "cost/cost.h"
#include "engine/links/fair_share.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// What a collective asks of its rank's links while it is alone, as a share of what they carry:
/// inside the domain and to the network.
struct LinkDemand {
  std::array<double, 2> share{};
};

inline LinkDemand link_demand(const spec::Node& node, const workload::Operator& op,
                              const plan::GroupPlacement& where, double alone_s) {
  LinkDemand demand;
  if (op.kind != workload::OperatorKind::kCollective || alone_s <= 0) return demand;
  const double nics = base::sum(node.nics, [&](const spec::Nic& nic) { return nic.bytes_per_s; });
  const double nic = nics / std::max<double>(1, static_cast<double>(node.gpus));
  const cost::Traffic traffic = cost::traffic(op, where);
  const auto share = [&](double bytes, double capacity) {
    return capacity > 0 ? std::min(1.0, bytes / alone_s / capacity) : 0;
  };
  demand.share = {share(traffic.intra_bytes, node.intra_bytes_per_s),
                  share(traffic.nic_bytes, nic)};
  return demand;
}

/// How much longer `own` takes while `other` is at work too: max-min fair shares of every link, as
/// the engine's contention.
inline double stretch_beside(const LinkDemand& own, const LinkDemand& other) {
  double stretch = 1;
  for (size_t link = 0; link < own.share.size(); ++link) {
    if (own.share[link] <= 0 || other.share[link] <= 0) continue;
    const std::array<double, 2> demands = {own.share[link], other.share[link]};
    stretch = std::max(stretch, own.share[link] / engine::fair_share(own.share[link], demands, 1));
  }
  return stretch;
}

}  // namespace ergometer::search
