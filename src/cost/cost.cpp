#include "cost/cost.h"

#include "cost/parameters.h"

namespace ergometer::cost {

using workload::OperatorKind;

Price CostModel::price(const workload::Operator& op, const plan::GroupPlacement& where) const {
  const Parameters& p = *parameters_;
  switch (op.kind) {
    case OperatorKind::kGemm: return price_gemm(p.device, p.gemm, op);
    case OperatorKind::kGroupedGemm: return price_grouped(p.device, p.grouped, p.gemm, op);
    case OperatorKind::kAttention:
      return price_attention(p.device, p.attention, p.gemm, p.memory, op);
    case OperatorKind::kMemory: return price_memory(p.device, p.memory, op);
    case OperatorKind::kCollective:
      return price_collective(p.device, p.domain, p.fabric, op, where);
  }
  return {};
}

double CostModel::launch_s() const { return parameters_->launch_s; }

CostTable price_plan(const CostModel& model, const plan::Plan& plan, const spec::Job& job) {
  CostTable table;
  table.launch_s = model.launch_s();
  table.reference_clock_hz = job.cluster.node.gpu.sustained_clock_hz;
  table.prices.resize(plan.roles.size());
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    table.prices[role].reserve(plan.operators.size());
    for (size_t op = 0; op < plan.operators.size(); ++op) {
      table.prices[role].push_back(model.price(plan.operators[op], plan.placements[role][op]));
    }
  }
  return table;
}

}  // namespace ergometer::cost
