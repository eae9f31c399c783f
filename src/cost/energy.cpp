// What it predicts: the energy of an operator, by what spends it, at the voltage of the GPU's
// highest clock. What the GPU draws anyway (leakage, clock tree, refresh) is not in it: that is
// power over time (physics/gpu_power.h).
//
//   GEMM, grouped GEMM of F FLOPs, B bytes of HBM traffic, b bytes an operand:
//     tensor F e_t(precision);  cache (F b (1/tile_m + 1/tile_n) / 2 + B) e_c;  memory B e_m
//   attention of F FLOPs over scores of qk + v channels, of which X F are executed: tensor X F e_t;
//     vector 8 X F / (2 (qk + v)) e_v (scale, maximum, exponential, sum and rescaling of each
//     score: 8 FLOPs, assumed);  cache (X F b / 256 + B) e_c: keys and values pass the SMs once for
//     each 128 queries;  memory B e_m. X = 1 + 64 c / K, K: keys that a query meets on average, c:
//     1 of a causal call, 2 with a window. A fused kernel works through whole tiles of 128 x 128;
//     of those that the diagonal or a window's far edge cuts, half is masked away, 64 keys for each
//     query. Decoding and unfused attention: X = 1.
//   memory-bound kernel of B bytes: vector B e_v (one FLOP a byte, assumed); cache B e_c; memory
//     B e_m; the state-space scan's F FLOPs: tensor F e_t
//   collective that sends W bytes: link 2 W e_l (every GPU of a group receives what it sends);
//     memory k W e_m and cache k W e_c with k = 3 bytes of HBM traffic a byte sent; where a
//     file gives the algorithm, also those of what it copies and adds up within the GPU
//     (given_choice.cpp)
//
// e_t ... e_l: catalog/power. Every energy but the links' is multiplied by 1 - s (1 - a): s is
// power.data_share, a the job's operand activity (1: random data or trained weights, 0: zeros).
//
// Worked: BF16 GEMM 8192^3 on tiles of 256 x 128 with e_t = 0.5 pJ/FLOP, e_c = 30 pJ/B, e_m = 90
// pJ/B: F = 1.0995e12, B = 0.4027e9: tensor 0.5498 J, cache (1.0995e12 * 2 * 0.01171875 / 2 +
// 0.4027e9) * 30e-12 = 0.3986 J, memory 0.0362 J.
//
// Worked: a window of 128 keys: K = 128, X = 1 + 64 * 2 / 128 = 2, the two tiles that 128 queries
// visit. 4,096 tokens without a window: K = 2,048.5, X = 1.03.
//
// Range: kernels that fill the GPU. Operand reuse inside the SMs is in e_t; what stays in the L2
// cache is counted as HBM traffic, as in the price.
#include "cost/energy.h"

#include "cost/cost.h"
#include "cost/parameters.h"
#include "spec/job/matrix_peak.h"

namespace ergometer::cost {
namespace {

using workload::Operator;
using workload::OperatorKind;

constexpr double kScoreFlops = 8;          ///< vector FLOPs of one attention score
constexpr double kVectorFlopsPerByte = 1;  ///< of memory-bound kernels
constexpr double kQueriesPerPass = 128;
constexpr double kWireMemoryBytes = 3;  ///< as overlap.memory_share counts it

double bytes_of(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return 4;
    case spec::Precision::kFp16:
    case spec::Precision::kBf16: return 2;
    case spec::Precision::kFp8: return 1;
    case spec::Precision::kNvfp4: return 0.5;
  }
  return 2;
}

double tensor_j_per_flop(const EnergyModel::Parameters& p, spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return p.work.tensor_fp32;
    case spec::Precision::kFp16:
    case spec::Precision::kBf16: return p.work.tensor_fp16;
    case spec::Precision::kFp8: return p.work.tensor_fp8;
    case spec::Precision::kNvfp4: return p.work.tensor_fp4;
  }
  return p.work.tensor_fp16;
}

physics::Energy gemm_energy(const EnergyModel::Parameters& p, const Operator& op) {
  const double cache_bytes_per_flop = bytes_of(op.precision) * (1 / p.tile_m + 1 / p.tile_n) / 2;
  return {.tensor_j = op.flops * tensor_j_per_flop(p, op.precision),
          .cache_j = (op.flops * cache_bytes_per_flop + op.bytes) * p.work.cache,
          .memory_j = op.bytes * p.work.memory};
}

/// X: FLOPs that a kernel executes for each that counts.
double executed_share(const Operator& op) {
  const workload::AttentionShape& shape = op.attention;
  if (!shape.fused || decodes(shape)) return 1;
  const double keys = visited_keys(op);
  const bool window = shape.window > 0 && shape.window < shape.kv_length;
  const double edges = (shape.causal ? 1 : 0) + (window ? 1 : 0);
  return keys > 0 ? 1 + kQueriesPerPass / 2 * edges / keys : 1;
}

physics::Energy attention_energy(const EnergyModel::Parameters& p, const Operator& op) {
  const auto channels = static_cast<double>(op.attention.qk_dim + op.attention.v_dim);
  const double flops = op.flops * executed_share(op);
  const double scores = channels > 0 ? flops / (2 * channels) : 0;
  const double element =
      op.attention.cached_bytes > 0 ? op.attention.cached_bytes : bytes_of(op.precision);
  const double cache_bytes = flops * element / (2 * kQueriesPerPass) + op.bytes;
  return {.tensor_j = flops * tensor_j_per_flop(p, op.precision),
          .vector_j = kScoreFlops * scores * p.work.vector,
          .cache_j = cache_bytes * p.work.cache,
          .memory_j = op.bytes * p.work.memory};
}

physics::Energy memory_energy(const EnergyModel::Parameters& p, const Operator& op) {
  // The state-space scan is the one memory-bound kernel whose FLOPs are matrix work.
  return {.tensor_j = op.flops * tensor_j_per_flop(p, peak_of_attention(op.precision)),
          .vector_j = kVectorFlopsPerByte * op.bytes * p.work.vector,
          .cache_j = op.bytes * p.work.cache,
          .memory_j = op.bytes * p.work.memory};
}

physics::Energy collective_energy(const EnergyModel::Parameters& p, const Operator& op,
                                  const plan::GroupPlacement& where) {
  const Traffic sent = p.given.traffic(op, where);
  const double bytes = sent.intra_bytes + sent.nic_bytes;
  const double touched =
      kWireMemoryBytes * bytes + p.given.local_memory_bytes(op, where) + op.bytes;
  return {.cache_j = touched * p.work.cache,
          .memory_j = touched * p.work.memory,
          .link_j = 2 * bytes * p.work.link};
}

}  // namespace

Result<EnergyModel> EnergyModel::make(const spec::Job& job) {
  const spec::Gpu& gpu = job.cluster.node.gpu;
  ERGOMETER_ASSIGN(physics::EnergyPerWork work, physics::energy_per_work(gpu));
  const double activity = 1 - work.data_share * (1 - job.conditions.operand_activity);
  for (double* energy : {&work.tensor_fp32, &work.tensor_fp16, &work.tensor_fp8, &work.tensor_fp4,
                         &work.vector, &work.cache, &work.memory})
    *energy *= activity;
  if (spec::multiplies_fp32_as_vectors(gpu, job.training)) work.tensor_fp32 = work.vector;
  return EnergyModel({.work = work,
                      .tile_m = gpu.parameters.at("gemm.tile_m"),
                      .tile_n = gpu.parameters.at("gemm.tile_n"),
                      .given = GivenChoice(job)});
}

physics::Energy EnergyModel::energy(const Operator& op, const plan::GroupPlacement& where) const {
  switch (op.kind) {
    case OperatorKind::kGemm:
    case OperatorKind::kGroupedGemm: return gemm_energy(p_, op);
    case OperatorKind::kAttention: return attention_energy(p_, op);
    case OperatorKind::kMemory: return memory_energy(p_, op);
    case OperatorKind::kCollective: return collective_energy(p_, op, where);
  }
  return {};
}

EnergyTable price_load_energy(const EnergyModel& model, const plan::Plan& plan) {
  if (plan.uneven == nullptr) return {};
  EnergyTable table(plan.roles.size());
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    table[role].resize(plan.operators.size());
    for (size_t op = 0; op < plan.operators.size(); ++op) {
      if (plan.operators[op].kind == OperatorKind::kCollective) continue;
      const double beyond = plan.uneven->most(plan.operators[op]) - 1;
      if (beyond <= 0) continue;
      const double per_share = 1 / beyond;
      const plan::GroupPlacement& where = plan.placements[role][op];
      physics::Energy more = per_share * model.energy(on_fullest_rank(plan, op), where);
      more += -per_share * model.energy(plan.operators[op], where);
      table[role][op] = more;
    }
  }
  return table;
}

EnergyTable price_energy(const EnergyModel& model, const plan::Plan& plan) {
  EnergyTable table(plan.roles.size());
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    table[role].reserve(plan.operators.size());
    for (size_t op = 0; op < plan.operators.size(); ++op)
      table[role].push_back(model.energy(plan.operators[op], plan.placements[role][op]));
  }
  return table;
}

}  // namespace ergometer::cost
