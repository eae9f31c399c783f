#include "spec/job/matrix_peak.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

std::string_view peak_for_fp32(const char* node, bool tf32) {
  const auto cluster = read_cluster(node);
  EXPECT_TRUE(cluster) << cluster.error().message;
  Training training;
  training.tf32 = tf32;
  return matrix_peak(cluster->node.gpu, training, Precision::kFp32);
}

TEST(MatrixPeak, Fp32IsTf32OrWhatTheGpuHasForFp32Itself) {
  EXPECT_EQ(peak_for_fp32("hgx-h100", true), "peak_fp32");
  EXPECT_EQ(peak_for_fp32("hgx-h100", false), "peak_vector");
  EXPECT_EQ(peak_for_fp32("mi250", true), "peak_fp32");
  EXPECT_EQ(peak_for_fp32("mi250", false), "peak_fp32_matrix");
}

// B200's 75 TFLOP/s are more than H100's 67, whatever clocks GEMMs on matrix units are held at:
// within their limits both boards keep the boost clock.
TEST(MatrixPeak, VectorUnitsHaveTheClockThatPowerAllows) {
  Training training;
  training.tf32 = false;
  // H100 at 500 W and as a card of 350 W, V100 and the others of 250 to 350 W draw more than that
  // at their boost clocks; V100's sustained clock is that of FP32 products.
  for (const char* node :
       {"hgx-h100-500w", "h100-pcie", "l40s", "a100-pcie", "a10g", "dgx1-v100", "titan-rtx"}) {
    const auto cluster = read_cluster(node);
    ASSERT_TRUE(cluster) << cluster.error().message;
    const Gpu& gpu = cluster->node.gpu;
    EXPECT_FALSE(multiplies_at_boost(gpu, training, Precision::kFp32)) << node;
    EXPECT_EQ(clocked_share(gpu, training, Precision::kFp32),
              gpu.sustained_clock_hz / gpu.boost_clock_hz)
        << node;
  }
  for (const char* node : {"hgx-h100", "hgx-b200"}) {
    const auto cluster = read_cluster(node);
    ASSERT_TRUE(cluster) << cluster.error().message;
    const Gpu& gpu = cluster->node.gpu;
    EXPECT_EQ(clocked_share(gpu, training, Precision::kFp32), 1) << node;
    EXPECT_EQ(clocked_share(gpu, training, Precision::kBf16),
              gpu.sustained_clock_hz / gpu.boost_clock_hz);
    EXPECT_EQ(clocked_share(gpu, {}, Precision::kFp32), gpu.sustained_clock_hz / gpu.boost_clock_hz)
        << "as TF32";
  }
}

TEST(MatrixPeak, ANarrowFormatWithoutUnitsTakesTheNextWider) {
  const auto cluster = read_cluster("hgx-a100-80gb");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(matrix_peak(cluster->node.gpu, {}, Precision::kBf16), "peak_bf16");
  EXPECT_EQ(matrix_peak(cluster->node.gpu, {}, Precision::kFp8), "peak_fp16");
}

}  // namespace
}  // namespace ergometer::spec
