#include "cli/analyze/gpu_peak.h"

#include <gtest/gtest.h>

namespace ergometer::cli {
namespace {

std::optional<analysis::DevicePeak> peak(const std::string& gpu) {
  run::RankTrace trace;
  trace.gpu = gpu;
  return peak_of({trace});
}

// The data sheets: H100 SXM 989 TFLOP/s in BF16 and 3.35 TB/s, A100 40 GB 1.555 TB/s.
TEST(GpuPeak, ComesFromTheCatalogByTheDriversName) {
  ASSERT_TRUE(peak("NVIDIA H100 80GB HBM3"));
  EXPECT_DOUBLE_EQ(peak("NVIDIA H100 80GB HBM3")->bf16_flops, 989e12);
  EXPECT_DOUBLE_EQ(peak("NVIDIA H100 80GB HBM3")->bytes_per_s, 3.35e12);
  ASSERT_TRUE(peak("NVIDIA A100-SXM4-40GB"));
  EXPECT_DOUBLE_EQ(peak("NVIDIA A100-SXM4-40GB")->bytes_per_s, 1.555e12);
  ASSERT_TRUE(peak("NVIDIA GeForce RTX 4090"));
  EXPECT_EQ(peak("NVIDIA GeForce RTX 4090")->gpu, "RTX-4090-24GB");
  ASSERT_TRUE(peak("AMD Instinct MI300X VF"));
  EXPECT_EQ(peak("AMD Instinct MI300X VF")->gpu, "MI300X");
}

TEST(GpuPeak, IsNotGuessed) {
  for (const char* name : {"", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA RTX A1000",
                           "NVIDIA H100 NVL", "NVIDIA A100-PCIE-40GB", "NVIDIA A100-PG509-200"})
    EXPECT_FALSE(peak(name)) << name;
  run::RankTrace one, other;
  one.gpu = "NVIDIA H200";
  other.gpu = "NVIDIA B200";
  EXPECT_FALSE(peak_of({one, other}));
  EXPECT_FALSE(peak_of({}));
}

}  // namespace
}  // namespace ergometer::cli
