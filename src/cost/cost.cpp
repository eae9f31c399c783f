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

Terms CostModel::terms(const workload::Operator& op, const plan::GroupPlacement& where) const {
  const Parameters& p = *parameters_;
  Terms terms;
  if (op.kind == OperatorKind::kGemm) terms.tile_share = tile_share(p.gemm, op, p.device.sms);
  if (op.kind == OperatorKind::kMemory) terms.memory_share = memory_share(op);
  terms.decodes = op.kind == OperatorKind::kAttention && decodes(op.attention);
  if (op.kind == OperatorKind::kAttention && op.attention.fused && !terms.decodes) {
    terms.work_tiles = work_tiles(op.attention);
    terms.head_factor = head_factor(p.attention, op.attention);
  }
  if (op.kind == OperatorKind::kCollective && where.size > 1) {
    const CollectiveTime time = collective_time(p.domain, p.fabric, op, where);
    terms.low_latency = time.low_latency;
    terms.latency_s = time.latency_s;
    terms.transfer_s = time.transfer_s;
  }
  return terms;
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
