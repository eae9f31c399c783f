#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

using workload::GemmLayout;

TEST(Gemm, FullWavesOfWholeTilesRunAtPeak) {
  // 10 x 10 tiles of 256 x 128 on 100 SMs: one full wave. 2 * 2560 * 1280 * 1000 = 6.5536 GFLOP at
  // 100 TFLOP/s.
  const Price price = price_gemm(round_device(), ideal_gemm(), gemm_operator(2560, 1280, 1000));
  EXPECT_DOUBLE_EQ(price.clocked_s, 65.536e-6);
  EXPECT_EQ(price.fixed_s, 0);
  EXPECT_EQ(price.limit, Limit::kCompute);
}

TEST(Gemm, AnExtraColumnOfTilesCostsAWave) {
  // 10 x 11 tiles: two waves for 1.1 waves' work, whichever way the tile lies, so twice the time of
  // one wave.
  GemmParameters gemm = ideal_gemm();
  gemm.tile_step = 0.1;  // smaller tiles are no way out
  const Price price = price_gemm(round_device(), gemm, gemm_operator(2560, 1408, 1000));
  EXPECT_NEAR(price.clocked_s, 2 * 65.536e-6, 1e-12);
}

TEST(Gemm, ASmallerTileIsTakenWhenItFillsTheMachineBetter) {
  // 1280 x 1280 in 256 x 128: 50 tiles, half the machine. In 128 x 128: 100 tiles, all of it, at
  // 0.8 of the rate.
  GemmParameters gemm = ideal_gemm();
  gemm.tile_step = 0.8;
  const Price price = price_gemm(round_device(), gemm, gemm_operator(1280, 1280, 1000));
  EXPECT_NEAR(price.clocked_s, 2 * 1280.0 * 1280 * 1000 / (100e12 * 0.8), 1e-15);
  gemm.quantization = 0.5;  // now the loss enters by its square root, for both tiles alike
  EXPECT_NEAR(price_gemm(round_device(), gemm, gemm_operator(1280, 1280, 1000)).clocked_s,
              2 * 1280.0 * 1280 * 1000 / (100e12 * 0.894427191), 1e-13);
}

TEST(Gemm, ShortKAndWeightGradientsRunSlower) {
  GemmParameters gemm = ideal_gemm();
  gemm.k_ramp = 1000;  // as long as k: half the rate
  gemm.wgrad = 0.8;
  EXPECT_NEAR(price_gemm(round_device(), gemm, gemm_operator(2560, 1280, 1000)).clocked_s,
              2 * 65.536e-6, 1e-12);
  EXPECT_NEAR(
      price_gemm(round_device(), gemm, gemm_operator(2560, 1280, 1000, GemmLayout::kNt)).clocked_s,
      2 * 65.536e-6 / 0.8, 1e-12);
}

TEST(Gemm, Fp8DoublesTheRateAndTheRamp) {
  GemmParameters gemm = ideal_gemm();
  gemm.k_ramp = 500;
  workload::Operator op = gemm_operator(2560, 1280, 1000);
  op.precision = spec::Precision::kFp8;
  // Half of 65.536 us at the FP8 peak; the ramp is worth 500 * 2 elements, so half the rate.
  EXPECT_NEAR(price_gemm(round_device(), gemm, op).clocked_s, 65.536e-6, 1e-12);
}

TEST(Gemm, RowsOfAnOddNumberOfElementsRunSlower) {
  // 2560 x 1279 fills the same tiles as 2560 x 1280, so a multiply-add more or less is all else.
  GemmParameters gemm = ideal_gemm();
  gemm.odd = 0.25;
  const auto seconds = [&](int64_t m, int64_t n, int64_t k, GemmLayout layout) {
    return price_gemm(round_device(), gemm, gemm_operator(m, n, k, layout)).clocked_s;
  };
  EXPECT_NEAR(seconds(2560, 1280, 1000, GemmLayout::kTn), 65.536e-6, 1e-12);
  EXPECT_NEAR(seconds(2560, 1279, 1000, GemmLayout::kTn), 4 * 65.536e-6, 1e-12);
  EXPECT_NEAR(seconds(2560, 1280, 999, GemmLayout::kNn), 4 * 65.470464e-6, 1e-12);
  EXPECT_NEAR(seconds(2559, 1280, 1000, GemmLayout::kNt), 4 * 65.536e-6, 1e-12);
  // Tokens are no row's length: m of a forward product, k of a weight gradient.
  EXPECT_NEAR(seconds(2559, 1280, 1000, GemmLayout::kTn), 65.536e-6, 1e-12);
  EXPECT_NEAR(seconds(2560, 1280, 999, GemmLayout::kNt), 65.470464e-6, 1e-12);
}

TEST(Gemm, BytesDecideWhenMemoryIsSlower) {
  workload::Operator op = gemm_operator(2560, 1280, 1000);
  op.bytes = 100e6;  // 100 us at 1 TB/s
  GemmParameters gemm = ideal_gemm();
  gemm.fixed_s = 3e-6;
  Device device = round_device();
  device.kernel_latency_s = 2e-6;
  const Price price = price_gemm(device, gemm, op);
  EXPECT_EQ(price.clocked_s, 0);
  EXPECT_NEAR(price.fixed_s, 105e-6, 1e-15);
  EXPECT_EQ(price.limit, Limit::kMemory);
}

// 1 ms of compute at the reference clock and 3 ms of memory: at a quarter of the clock the compute
// takes 4 ms, which is then what one waits for.
TEST(Gemm, ASlowClockMakesComputeDecide) {
  Device device = round_device();
  const Price nominal = roofline(device, 1e-3, 3e-3, 0);
  EXPECT_EQ(nominal.limit, Limit::kMemory);
  EXPECT_EQ(nominal.clocked_s, 0);
  EXPECT_EQ(nominal.fixed_s, 3e-3);
  device.slowdown = 4;
  const Price slow = roofline(device, 1e-3, 3e-3, 0);
  EXPECT_EQ(slow.limit, Limit::kCompute);
  EXPECT_EQ(slow.clocked_s, 1e-3);
  EXPECT_EQ(slow.fixed_s, 0);
}

TEST(Gemm, ATinyProductIsAllLatency) {
  Device device = round_device();
  device.kernel_latency_s = 2e-6;
  const Price price = price_gemm(device, ideal_gemm(), gemm_operator(1, 1, 1));
  EXPECT_EQ(price.limit, Limit::kLatency);
  EXPECT_GE(price.seconds(), 2e-6);
  EXPECT_LT(price.seconds(), 2.1e-6);
}

TEST(Gemm, TheWorkedNumberOfTheModelsHeader) {
  // A100 PCIe, 4096 x 1536 x 5120: 295.4 us on the matrix units at 1275 MHz.
  CostModel::Parameters p = parameters_of("a100-pcie", 1);
  p.gemm.efficiency = 0.87;  // the header's; the catalog's is fitted
  EXPECT_NEAR(price_gemm(p.device, p.gemm, gemm_operator(4096, 1536, 5120)).clocked_s, 295.4e-6,
              0.5e-6);
}

TEST(Grouped, RowsAndDepthRampTheRate) {
  // 10 experts of 100 rows: half the rate by m_ramp 100; depth 300 against k_ramp 100: three
  // quarters.
  const GroupedParameters grouped{1, 100, 100, 0.5, 0.8};
  workload::Operator op = gemm_operator(100, 1000, 300);
  op.kind = workload::OperatorKind::kGroupedGemm;
  op.groups = 10;
  const double peak_s = 2 * 10 * 100.0 * 1000 * 300 / 100e12;
  EXPECT_NEAR(price_grouped(round_device(), grouped, ideal_gemm(), op).clocked_s, peak_s / 0.375,
              1e-15);
  op.layout = GemmLayout::kNn;
  EXPECT_NEAR(price_grouped(round_device(), grouped, ideal_gemm(), op).clocked_s,
              peak_s / 0.375 / 0.8, 1e-15);
  // The weight gradient of the same layer: [1000, rows] x [rows, 300]; rows are its k, the depth
  // its n.
  workload::Operator weight = gemm_operator(1000, 300, 100, GemmLayout::kNt);
  weight.groups = 10;
  EXPECT_NEAR(price_grouped(round_device(), grouped, ideal_gemm(), weight).clocked_s,
              peak_s / 0.375 / 0.5, 1e-15);
}

TEST(Grouped, ManyEmptyExpertsReadTheirWeights) {
  const GroupedParameters grouped{1, 0, 0, 1, 1};
  workload::Operator op = gemm_operator(1, 1000, 1000);
  op.groups = 100;
  op.bytes = 200e6;
  const Price price = price_grouped(round_device(), grouped, ideal_gemm(), op);
  EXPECT_EQ(price.limit, Limit::kMemory);
  EXPECT_NEAR(price.fixed_s, 200e-6, 1e-12);
}

TEST(Grouped, TheWorkedNumberOfTheModelsHeader) {
  CostModel::Parameters p = parameters_of("a100-pcie", 1);
  p.grouped.efficiency = 0.803;  // the header's; the catalog's are fitted
  p.grouped.m_ramp = 92;
  workload::Operator op = gemm_operator(616, 5120, 1536);
  op.groups = 40;
  EXPECT_NEAR(price_grouped(p.device, p.grouped, p.gemm, op).clocked_s, 1.968e-3, 0.003e-3);
}

}  // namespace
}  // namespace ergometer::cost
