#include "cost/degraded.h"

#include <algorithm>
#include <string>
#include <vector>

#include "spec/job/overrides.h"

namespace ergometer::cost {
namespace {

using spec::OverrideKind;

/// Shares of bandwidth that are left to the worst GPU of a role.
struct Left {
  double inside = 1, network = 1;
};

Left left_to(const spec::Job& job, int64_t role) {
  Left left;
  for (const spec::Override& change : job.conditions.overrides) {
    if (change.kind != OverrideKind::kLink && change.kind != OverrideKind::kNic) continue;
    const int64_t first = role * job.stage_ranks();
    for (int64_t rank = first; rank < first + job.stage_ranks(); ++rank) {
      if (!spec::is_of_rank(change, job, rank)) continue;
      double& share = change.kind == OverrideKind::kLink ? left.inside : left.network;
      share = std::min(share, change.value);
      break;
    }
  }
  return left;
}

/// The job with every rate of its scale-up links at a share of what it was.
spec::Job with_slower_links(spec::Job job, double share) {
  base::ParameterSet& parameters = job.cluster.node.parameters;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters.all())
    if (name.starts_with("collective.") && name.ends_with("bandwidth")) names.push_back(name);
  for (const std::string& name : names) {
    base::Parameter slower = *parameters.find(name);
    slower.value *= share;
    parameters.set(name, slower);
  }
  return job;
}

void price_again(const CostModel& model, const plan::Plan& plan, size_t role, const Left& left,
                 bool pipeline_only, CostTable& table) {
  for (size_t op = 0; op < plan.operators.size(); ++op) {
    const workload::Operator& it = plan.operators[op];
    if (it.kind != workload::OperatorKind::kCollective) continue;
    if (pipeline_only && it.group != workload::GroupKind::kPipeline) continue;
    plan::GroupPlacement where = plan.placements[role][op];
    where.nic_bytes_per_s *= left.network;
    table.prices[role][op] = model.price(it, where);
  }
}

}  // namespace

Result<void> degrade_links(const spec::Job& job, const plan::Plan& plan, CostTable& table) {
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const Left left = left_to(job, static_cast<int64_t>(role));
    if (left.inside == 1 && left.network == 1) continue;
    ERGOMETER_ASSIGN(const CostModel model, CostModel::make(with_slower_links(job, left.inside)));
    price_again(model, plan, role, left, false, table);
    // What a neighbouring stage exchanges with it crosses the same links.
    const size_t roles = plan.roles.size();
    if (roles > 1) {
      price_again(model, plan, (role + 1) % roles, left, true, table);
      price_again(model, plan, (role + roles - 1) % roles, left, true, table);
    }
  }
  return {};
}

}  // namespace ergometer::cost
