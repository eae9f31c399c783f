#include "cost/energy.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

using workload::OperatorKind;

/// A job on an H200 whose energies are round: 0.5 pJ/FLOP in 16 bit, half in FP8, 10 pJ a vector
/// FLOP, 30 pJ a byte of L2, 90 of HBM, 20 on a link.
spec::Job round_job() {
  spec::Job job = job_on("hgx-h200", 8);
  base::ParameterSet& p = job.cluster.node.gpu.parameters;
  const auto set = [&](const char* name, double value) {
    p.set(name, {.value = value, .unit = "", .source = "test", .grade = base::Grade::kAssumed});
  };
  set("power.tensor_fp32", 2e-12);
  set("power.tensor_fp16", 0.5e-12);
  set("power.tensor_fp8", 0.25e-12);
  set("power.tensor_fp4", 0.125e-12);
  set("power.vector", 10e-12);
  set("power.cache", 30e-12);
  set("power.memory", 90e-12);
  set("power.link", 20e-12);
  set("power.data_share", 0.25);
  return job;
}

physics::Energy energy_of(const spec::Job& job, const workload::Operator& op,
                          const plan::GroupPlacement& where = {}) {
  const auto model = EnergyModel::make(job);
  EXPECT_TRUE(model.has_value()) << base::error_of(model);
  return model ? model->energy(op, where) : physics::Energy{};
}

TEST(OperatorEnergy, AGemmPaysForItsMultiplicationsItsOperandsAndItsBytes) {
  workload::Operator op = gemm_operator(8192, 8192, 8192);
  op.flops = 2.0 * 8192 * 8192 * 8192;
  op.bytes = 3.0 * 8192 * 8192 * 2;
  const physics::Energy energy = energy_of(round_job(), op);
  EXPECT_NEAR(energy.tensor_j, 0.549756, 1e-6);  // 1.099512e12 * 0.5e-12
  EXPECT_NEAR(energy.cache_j, 0.398627, 1e-6);   // (1.099512e12 * 0.01171875 + 402.65e6) * 30e-12
  EXPECT_NEAR(energy.memory_j, 0.036239, 1e-6);  // 402.65e6 * 90e-12
  EXPECT_EQ(energy.vector_j + energy.link_j, 0);
}

TEST(OperatorEnergy, Fp8HalvesMultiplicationsAndOperands) {
  workload::Operator op = gemm_operator(8192, 8192, 8192);
  op.flops = 1e12;
  op.bytes = 0;
  const physics::Energy half = energy_of(round_job(), op);
  op.precision = spec::Precision::kFp8;
  const physics::Energy quarter = energy_of(round_job(), op);
  EXPECT_DOUBLE_EQ(quarter.tensor_j, half.tensor_j / 2);
  EXPECT_DOUBLE_EQ(quarter.cache_j, half.cache_j / 2);
}

TEST(OperatorEnergy, ZerosCostLessThanRandomNumbers) {
  workload::Operator op = gemm_operator(8192, 8192, 8192);
  op.flops = 1e12;
  spec::Job job = round_job();
  const double random_j = energy_of(job, op).total_j();
  job.conditions.operand_activity = 0;
  EXPECT_NEAR(energy_of(job, op).total_j(), 0.75 * random_j, 1e-12);
}

TEST(OperatorEnergy, AttentionPaysForItsScores) {
  workload::Operator op;
  op.kind = OperatorKind::kAttention;
  op.attention.qk_dim = op.attention.v_dim = 128;
  op.flops = 512e9;  // 1e9 scores
  const physics::Energy energy = energy_of(round_job(), op);
  EXPECT_DOUBLE_EQ(energy.tensor_j, 0.256);
  EXPECT_DOUBLE_EQ(energy.vector_j, 0.08);  // 8 FLOPs of 10 pJ for each of 1e9 scores
  EXPECT_DOUBLE_EQ(energy.cache_j, 0.12);   // 512e9 / 128 bytes of 30 pJ
  // Keys and values of one byte in a cache: half as much through L2, as many FLOPs.
  op.attention.cached_bytes = 1;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), op).cache_j, 0.06);
  EXPECT_DOUBLE_EQ(energy_of(round_job(), op).tensor_j, 0.256);
}

// 8 heads of 128, 1024 tokens: queries and keys form tiles of 128 x 128.
workload::Operator tiled_attention(int64_t window) {
  workload::Operator op;
  op.kind = OperatorKind::kAttention;
  op.attention = {.batch = 1,
                  .heads = 8,
                  .kv_heads = 8,
                  .q_length = 1024,
                  .kv_length = 1024,
                  .qk_dim = 128,
                  .v_dim = 128,
                  .window = window};
  return op;
}

TEST(OperatorEnergy, AttentionWorksThroughWholeTiles) {
  // Queries that all meet 128 keys: 4 * 8 * 1024 * 128 * 128 = 0.5369e9 FLOPs, in two tiles each.
  workload::Operator windowed = tiled_attention(128);
  windowed.flops = 536870912;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), windowed).tensor_j, 2 * 536870912 * 0.5e-12);
  // 512 keys on average: one tile of eight and a half is cut by the diagonal, 64 keys a query.
  workload::Operator causal = tiled_attention(0);
  causal.flops = 4 * 536870912.0;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), causal).tensor_j,
                   4 * 536870912.0 * (1 + 64.0 / 512) * 0.5e-12);
  // Without a mask every tile counts in full, and so do separate kernels and a single query.
  causal.attention.causal = false;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), causal).tensor_j, 4 * 536870912.0 * 0.5e-12);
  windowed.attention.fused = false;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), windowed).tensor_j, 536870912 * 0.5e-12);
  windowed.attention.fused = true;
  windowed.attention.q_length = 1;
  EXPECT_DOUBLE_EQ(energy_of(round_job(), windowed).tensor_j, 536870912 * 0.5e-12);
}

TEST(OperatorEnergy, AMemoryBoundKernelPaysForItsBytes) {
  workload::Operator op;
  op.kind = OperatorKind::kMemory;
  op.bytes = 1e9;
  const physics::Energy energy = energy_of(round_job(), op);
  EXPECT_DOUBLE_EQ(energy.vector_j, 0.01);
  EXPECT_DOUBLE_EQ(energy.cache_j, 0.03);
  EXPECT_DOUBLE_EQ(energy.memory_j, 0.09);
}

TEST(OperatorEnergy, ACollectivePaysForWhatItSendsAndReceives) {
  // All-gather of 8 GB over 8 ranks in a node: 7 GB sent by each.
  const workload::Operator op = collective_operator(workload::CollectiveKind::kAllGather, 8e9);
  const physics::Energy energy = energy_of(round_job(), op, inside(8));
  EXPECT_DOUBLE_EQ(energy.link_j, 0.28);    // 2 * 7e9 * 20e-12
  EXPECT_DOUBLE_EQ(energy.memory_j, 1.89);  // 3 * 7e9 * 90e-12
  EXPECT_DOUBLE_EQ(energy.cache_j, 0.63);
}

}  // namespace
}  // namespace ergometer::cost
