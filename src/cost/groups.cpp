// Prices on clusters of unlike nodes.
#include <algorithm>
#include <numeric>

#include "cost/cost.h"
#include "spec/job/node_groups.h"

namespace ergometer::cost {
namespace {

using workload::GroupKind;

/// Whether a collective's members may run on unlike GPUs: all but those of one tensor, and a
/// pipeline's neighbours, of whom each is priced on its own.
bool crosses_kinds(const workload::Operator& op) {
  return op.kind == workload::OperatorKind::kCollective && op.group != GroupKind::kTensor &&
         op.group != GroupKind::kExpertTensor && op.group != GroupKind::kPipeline;
}

/// Whether a collective's members run on all stages.
bool crosses_stages(GroupKind kind) {
  return kind == GroupKind::kWorld || kind == GroupKind::kEmbedding || kind == GroupKind::kStages;
}

/// Gives every group the price that the slowest of those at hand has for operator `op`.
void level(std::vector<Prices>& groups, const std::vector<size_t>& members, size_t role,
           size_t op) {
  const auto seconds = [&](size_t group) { return groups[group].prices[role][op].seconds(); };
  const size_t slowest = *std::max_element(
      members.begin(), members.end(), [&](size_t a, size_t b) { return seconds(a) < seconds(b); });
  for (Prices& group : groups) {
    group.prices[role][op] = groups[slowest].prices[role][op];
    if (!group.per_load.empty()) group.per_load[role][op] = groups[slowest].per_load[role][op];
  }
}

/// That of the role's groups which takes longest for its program.
size_t slowest_of(const std::vector<Prices>& groups, const std::vector<size_t>& here,
                  const plan::Plan& plan, size_t role) {
  size_t slowest = 0;
  double longest_s = -1;
  for (const size_t group : here) {
    double total_s = 0;
    const plan::Role& source = plan.roles[role];
    for (size_t i = 0; i < source.program.size(); ++i)
      if (const plan::Instruction& it = source.program[i];
          it.kind == plan::InstructionKind::kCompute && it.op >= 0)
        total_s += groups[group].prices[role][static_cast<size_t>(it.op)].seconds();
    if (total_s <= longest_s) continue;
    longest_s = total_s;
    slowest = group;
  }
  return slowest;
}

}  // namespace

Result<std::vector<CostModel>> models_of_groups(const spec::Job& job) {
  std::vector<CostModel> models;
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group) {
    ERGOMETER_ASSIGN(CostModel model, CostModel::make(spec::on_group(job, group)));
    models.push_back(std::move(model));
  }
  return models;
}

CostTable price_plan(std::span<const CostModel> models, const plan::Plan& plan,
                     const spec::Job& job) {
  CostTable table = price_plan(models.front(), plan, job);
  if (!spec::is_mixed(job.cluster)) return table;
  table.groups.push_back(table);
  for (const CostModel& model : models.subspan(1)) {
    table.groups.push_back(price_plan(model, plan, job));
    table.pcie.push_back(model.pcie());
    if (model.host().launch_s > table.launch_s) static_cast<HostCosts&>(table) = model.host();
  }
  std::vector<size_t> all(models.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const std::vector<size_t> here = spec::groups_of_stage(job, static_cast<int64_t>(role));
    for (size_t op = 0; op < plan.operators.size(); ++op)
      if (crosses_kinds(plan.operators[op]))
        level(table.groups, crosses_stages(plan.operators[op].group) ? all : here, role, op);
    const size_t slowest = slowest_of(table.groups, here, plan, role);
    table.slowest_group.push_back(slowest);
    table.prices[role] = table.groups[slowest].prices[role];
    if (!table.per_load.empty()) table.per_load[role] = table.groups[slowest].per_load[role];
  }
  return table;
}

}  // namespace ergometer::cost
