#include "cost/cost.h"

#include "base/check.h"
#include "cost/given_collectives.h"
#include "cost/parameters.h"

namespace ergometer::cost {

using workload::OperatorKind;

double fullest_pcie_s(const CostModel::Parameters& p, const workload::Operator& op,
                      const plan::GroupPlacement& where) {
  if (p.pcie == nullptr || !p.pcie->carries(where)) return 0;
  const Traffic sent = traffic(op, where);
  return p.pcie->s_per_byte(op) * (sent.intra_bytes + sent.nic_bytes);
}

CollectiveTime chosen_time(const CostModel::Parameters& p, const workload::Operator& op,
                           const plan::GroupPlacement& where) {
  if (p.given != nullptr && p.given->fits(op, where)) return p.given->time(op, where).time;
  ERGOMETER_CHECK(where.nodes <= 1 || where.nic_bytes_per_s > 0, "a group across domains has NICs");
  return collective_time(p.domain, p.fabric, op, where, fullest_pcie_s(p, op, where));
}

Price price_alone(const CostModel::Parameters& p, const workload::Operator& op,
                  const plan::GroupPlacement& where) {
  switch (op.kind) {
    case OperatorKind::kGemm: return price_gemm(p.device, p.gemm, op);
    case OperatorKind::kGroupedGemm: return price_grouped(p.device, p.grouped, p.gemm, op);
    case OperatorKind::kAttention:
      return price_attention(p.device, p.attention, p.gemm, p.memory, op);
    case OperatorKind::kMemory: return price_memory(p.device, p.memory, op);
    case OperatorKind::kCollective:
      return where.size <= 1 ? Price{} : price_of(p.device, chosen_time(p, op, where));
  }
  return {};
}

namespace {

/// Copies that belong to an exchange of tokens: they follow the transfer, as fast as kernels that
/// reorder tokens.
double copies_s(const CostModel::Parameters& p, const workload::Operator& op) {
  return op.bytes / (p.memory.permute * p.device.memory_bytes_per_s) * p.software.memory_factor *
         p.software.straggling;
}

}  // namespace

double software_factor(const SoftwareParameters& software, const workload::Operator& op) {
  const bool gemm = op.kind == OperatorKind::kGemm || op.kind == OperatorKind::kGroupedGemm;
  // The loss is written kernel by kernel where it is not one; copies of parameters and gradients
  // are what they are.
  const bool fusable = op.kind == OperatorKind::kMemory && op.pass != workload::Pass::kOptimizer &&
                       op.module != workload::Module::kLoss && op.module != workload::Module::kData;
  const bool casts = op.name.ends_with("_fp8_cast");
  return (gemm                           ? 1 / software.gemm_factor
          : op.name.ends_with("_unpack") ? software.unpack_factor
          : fusable ? software.memory_factor * (casts ? software.cast_factor : 1)
                    : 1) *
         software.straggling;
}

Price CostModel::price(const workload::Operator& op, const plan::GroupPlacement& where) const {
  if (op.fused) return price_fused(op, where);
  const SoftwareParameters& software = parameters_->software;
  Price price = price_alone(*parameters_, op, where);
  const double factor = software_factor(software, op);
  price.fixed_s = price.fixed_s * factor + op.host_wait_s;
  price.clocked_s *= factor;
  if (op.kind == OperatorKind::kCollective && op.bytes > 0)
    price.fixed_s += copies_s(*parameters_, op);
  if (op.group == workload::GroupKind::kPipeline && where.size > 1)
    price.fixed_s += software.send_s;
  return price;
}

Terms CostModel::terms(const workload::Operator& op, const plan::GroupPlacement& where) const {
  const Parameters& p = *parameters_;
  Terms terms;
  if (op.kind == OperatorKind::kGemm) terms.tile_share = tile_share(p.gemm, op, p.device.sms);
  if (op.kind == OperatorKind::kMemory) {
    terms.memory_share = memory_share(op);
    terms.issued_share = issued_share(p.memory, op);
  }
  terms.decodes = op.kind == OperatorKind::kAttention && decodes(op.attention);
  if (op.kind == OperatorKind::kAttention && op.attention.fused && !terms.decodes) {
    terms.work_tiles = work_tiles(op.attention);
    terms.visited_keys = visited_keys(op);
    terms.head_factor = head_factor(p.attention, op.attention);
    terms.library_factor = library_factor(p.attention, op);
  }
  terms.software_factor = software_factor(p.software, op);
  if (op.kind == OperatorKind::kCollective && where.size > 1) {
    const CollectiveTime time = chosen_time(p, op, where);
    terms.low_latency = time.low_latency;
    terms.latency_s = time.latency_s;
    terms.transfer_s = time.transfer_s;
  }
  return terms;
}

const HostCosts& CostModel::host() const { return parameters_->host; }
const std::shared_ptr<const PcieGroups>& CostModel::pcie() const { return parameters_->pcie; }

namespace {

/// Whether a line through `price` leaves no less than no time where there is no work, at any clock.
bool may_reach_nothing(const Price& price, const Price& slope) {
  constexpr double kSlowest = 4;  // reference clock over the slowest clock, at most
  const double fixed_s = price.fixed_s - slope.fixed_s,
               clocked_s = price.clocked_s - slope.clocked_s;
  return fixed_s + clocked_s >= 0 && fixed_s + kSlowest * clocked_s >= 0;
}

/// Between what the plan has and the most that any rank or micro batch has, in a straight line.
std::vector<Price> prices_per_load(const CostModel& model, const plan::Plan& plan, size_t role,
                                   const std::vector<Price>& even) {
  std::vector<Price> slopes(plan.operators.size());
  for (size_t op = 0; op < slopes.size(); ++op) {
    const double beyond = plan.uneven->most(plan.operators[op]) - 1;
    if (beyond <= 0) continue;
    const Price most = model.price(on_fullest_rank(plan, op), plan.placements[role][op]);
    slopes[op] = {.fixed_s = (most.fixed_s - even[op].fixed_s) / beyond,
                  .clocked_s = (most.clocked_s - even[op].clocked_s) / beyond,
                  .limit = most.limit};
    // A micro batch may be without images: then the line is that through nothing.
    if (plan.operators[op].vision && !may_reach_nothing(even[op], slopes[op]))
      slopes[op] = even[op];
  }
  return slopes;
}

}  // namespace

CostTable price_plan(const CostModel& model, const plan::Plan& plan, const spec::Job& job) {
  CostTable table;
  static_cast<HostCosts&>(table) = model.host();
  table.reference_clock_hz = job.cluster.node.gpu.sustained_clock_hz;
  table.pcie = {model.pcie()};
  table.prices.resize(plan.roles.size());
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    table.prices[role].reserve(plan.operators.size());
    for (size_t op = 0; op < plan.operators.size(); ++op) {
      table.prices[role].push_back(model.price(plan.operators[op], plan.placements[role][op]));
    }
    if (plan.uneven != nullptr)
      table.per_load.push_back(prices_per_load(model, plan, role, table.prices[role]));
  }
  return table;
}

}  // namespace ergometer::cost
