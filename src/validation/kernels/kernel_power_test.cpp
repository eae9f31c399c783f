// Reads rows as tables of kernels' power write them, against numbers worked by hand.
#include "validation/kernels/kernel_power.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/csv.h"
#include "base/file.h"
#include "base/test_support.h"
#include "validation/kernels/kernel_power_row.h"

namespace ergometer::validation {
namespace {

constexpr std::string_view kGemmHeader =
    "device,framework,version,kernel_source,dtype,m,n,k,latency_ms,tflops,power_w,power_limit_w\n";
constexpr std::string_view kAttentionHeader =
    "device,phase,framework,version,kernel_source,batch_size,isl,step,num_heads,"
    "num_key_value_heads,head_dim,window_size,attn_dtype,kv_cache_dtype,latency_ms,power_w,"
    "power_limit_w\n";

std::string gemm_line(std::string_view device, std::string_view dtype, std::string_view shape,
                      std::string_view measured) {
  return fmt::format("{},VLLM,1,default,{},{},{}\n", device, dtype, shape, measured);
}

KernelPowerReport scored_power(const std::string& text) {
  return base::value_of(score_kernel_power_text(text, "table.csv"));
}

std::string power_error(const std::string& text) {
  return base::error_of(score_kernel_power_text(text, "table.csv"));
}

workload::Operator attention_of(const std::string& cells) {
  const auto table = base::parse_csv(std::string(kAttentionHeader) + cells + "\n", "table.csv");
  EXPECT_TRUE(table.has_value());
  const auto work = attention_power_row(*table, 0, "table.csv");
  EXPECT_TRUE(work.has_value()) << base::error_of(work);
  return work ? work->op : workload::Operator{};
}

TEST(KernelPower, ReadsAttention) {
  // 2 prompts of 4 tokens, 8 heads on 2 of width 64: 1 + 2 + 3 + 4 = 10 pairs a head.
  const auto prompt = attention_of("H200,prefill,VLLM,1,x,2,4,0,8,2,64,0,bfloat16,fp8,1,500,700");
  EXPECT_DOUBLE_EQ(prompt.flops, 4.0 * 64 * 8 * 2 * 10);
  // Queries and results in 16 bit, keys and values of one byte.
  EXPECT_DOUBLE_EQ(prompt.bytes, 2.0 * 64 * (2 * 2 * 8 * 4 + 2 * 1 * 2 * 4));
  // A window of 2: 1 + 2 + 2 + 2 pairs.
  const auto window = attention_of("H200,prefill,VLLM,1,x,2,4,0,8,2,64,2,bfloat16,fp8,1,500,700");
  EXPECT_DOUBLE_EQ(window.flops, 4.0 * 64 * 8 * 2 * 7);
  // The 100th token of a sequence meets 100 keys, or those of its window.
  const auto decode = attention_of("H200,decode,VLLM,1,x,2,1,99,8,2,64,0,bfloat16,fp8,1,500,700");
  EXPECT_DOUBLE_EQ(decode.flops, 4.0 * 64 * 8 * 2 * 100);
  EXPECT_DOUBLE_EQ(decode.bytes, 2.0 * 64 * (2 * 2 * 8 * 1 + 2 * 1 * 2 * 100));
  const auto last = attention_of("H200,decode,VLLM,1,x,2,1,99,8,2,64,16,bfloat16,fp8,1,500,700");
  EXPECT_DOUBLE_EQ(last.flops, 4.0 * 64 * 8 * 2 * 16);
  // TensorRT-LLM's call rotates first: all of 8 + 2 + 2 heads read and written once more.
  const auto rotated =
      attention_of("GB200,prefill,TRTLLM,1,x,2,4,0,8,2,64,0,bfloat16,fp8,1,500,1200");
  EXPECT_DOUBLE_EQ(rotated.bytes - prompt.bytes, 2 * 2.0 * 64 * 2 * 4 * 12);
}

TEST(KernelPower, AddsUpAKernelBelowItsLimit) {
  // H200, BF16, 4096^3 in 1 ms: 137.4 TFLOP/s, far below the limit, at the highest clock.
  const auto report = scored_power(
      std::string(kGemmHeader) + gemm_line("H200", "bfloat16", "4096,4096,4096", "1,137,300,700"));
  ASSERT_EQ(report.rows.size(), 1u);
  const double flops = 2.0 * 4096 * 4096 * 4096, bytes = 3 * 2.0 * 4096 * 4096;
  // 49 W constant, 60 W leakage, 39 W awake; 0.52 pJ a FLOP, 39 pJ a byte of L2 (tiles of 256 x
  // 128: 2 (1/256 + 1/128) / 2 bytes a FLOP), 93 pJ a byte of HBM.
  const double joules =
      flops * 0.52e-12 + (flops * (1.0 / 256 + 1.0 / 128) + bytes) * 39e-12 + bytes * 93e-12;
  EXPECT_NEAR(report.rows[0].at_measured_w, 49 + 60 + 39 + joules / 1e-3, 0.01);
  EXPECT_TRUE(report.rows[0].scored);
  EXPECT_FALSE(report.rows[0].settled);  // nothing to compare it with
}

TEST(KernelPower, StaysWithinTheLimitOfTheRow) {
  // 700 TFLOP/s would take 918 W at the highest clock; the clock gives way, by steps of 15 MHz.
  const auto report =
      scored_power(std::string(kGemmHeader) +
                   gemm_line("H200", "bfloat16", "8192,8192,8192", "1.5707,700,690,700") +
                   gemm_line("H200", "bfloat16", "8192,8192,8192", "1.5707,700,490,500"));
  ASSERT_EQ(report.rows.size(), 2u);
  // Boards hold 98.7 % of the limit: 691 and 493.5 W.
  EXPECT_LE(report.rows[0].at_measured_w, 691);
  EXPECT_GT(report.rows[0].at_measured_w, 681);
  EXPECT_LE(report.rows[1].at_predicted_w, 493.5);
  EXPECT_GT(report.rows[1].at_predicted_w, 483.5);
  EXPECT_GT(report.rows[1].predicted_s, report.rows[0].predicted_s);
}

TEST(KernelPower, SettledReadingsAreTheUpperOnesOfKernelsAlike) {
  std::string text(kGemmHeader);
  // Nine times the same kernel: what ran before is in the readings of three of them.
  for (const int watts : {690, 688, 400, 691, 689, 520, 690, 687, 640})
    text +=
        gemm_line("H200", "bfloat16", "8192,8192,8192", fmt::format("1.5707,700,{},700", watts));
  // Seven of another rate are too few to tell.
  for (int i = 0; i < 7; ++i)
    text += gemm_line("H200", "bfloat16", "8192,8192,8192", "3.2,344,500,700");
  const auto report = scored_power(text);
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_EQ(report.lines[0].every.rows, 16);
  // 0.93 of 691 W, the reading at rank 0.95 x 8 = 7.6: 642.6 W.
  EXPECT_EQ(report.lines[0].settled.rows, 6);
  EXPECT_LT(report.lines[0].settled.mean_pct, 2.5);
  EXPECT_GT(report.lines[0].every.mean_pct, report.lines[0].settled.mean_pct);
}

TEST(KernelPower, MoreWorkASecondIsNotSettledAtLessPower) {
  std::string text(kGemmHeader);
  // Eight of one rate at 600 W, and eight of three times the rate half way from idle.
  for (int i = 0; i < 8; ++i) {
    text += gemm_line("H200", "bfloat16", "8192,8192,8192", "4.5,244,600,700");
    text += gemm_line("H200", "bfloat16", "8192,8192,8192", "1.5,733,390,700");
  }
  const auto report = scored_power(text);
  EXPECT_EQ(report.lines[0].settled.rows, 8);
  EXPECT_TRUE(report.rows[0].settled);
  EXPECT_FALSE(report.rows[1].settled);
}

TEST(KernelPower, ShortKernelsAndUnknownMachinesAreCounted) {
  const auto report = scored_power(
      std::string(kGemmHeader) + gemm_line("H200", "bfloat16", "4096,4096,4096", "0.5,1,300,700") +
      gemm_line("TPU", "bfloat16", "4096,4096,4096", "1,1,300,700") +
      gemm_line("H200", "nvfp4", "4096,4096,4096", "1,1,300,700"));
  EXPECT_EQ(report.scored, 0);
  EXPECT_EQ(report.short_ones, 1);
  EXPECT_EQ(report.skipped, 2);
  EXPECT_NE(report.rows[1].skipped_reason.find("TPU"), std::string::npos);
  EXPECT_NE(report.rows[2].skipped_reason.find("FP4"), std::string::npos);
}

TEST(KernelPower, RefusesCellsThatAreNoSuchNumbers) {
  const std::string header(kGemmHeader);
  EXPECT_EQ(power_error(header + gemm_line("H200", "int4", "1,1,1", "1,1,300,700")),
            "table.csv:2: dtype = \"int4\" is not allowed; it is one of bfloat16, float16, fp8, "
            "fp8_block, nvfp4");
  EXPECT_EQ(power_error(header + gemm_line("H200", "fp8", "0,1,1", "1,1,300,700")),
            "table.csv:2: m = \"0\" is not allowed; it is a whole number from 1 to 1048576");
  EXPECT_EQ(power_error(header + gemm_line("H200", "fp8", "1,1,1", "-1,1,300,700")),
            "table.csv:2: latency_ms = \"-1\" is not allowed; it is a number from 1e-6 to 1e9");
  EXPECT_EQ(power_error(header + gemm_line("H200", "fp8", "1,1,1", "1e-308,1,300,700")),
            "table.csv:2: latency_ms = \"1e-308\" is not allowed; it is a number from 1e-6 to 1e9");
  EXPECT_NE(power_error("device,power_w,latency_ms\n").find("framework"), std::string::npos);
  EXPECT_NE(power_error(std::string(kAttentionHeader) +
                        "H200,train,VLLM,1,x,2,4,0,8,2,64,0,bfloat16,fp8,1,500,700\n")
                .find("phase = \"train\""),
            std::string::npos);
}

TEST(KernelPower, TablesAreToldApartByTheirColumns) {
  EXPECT_TRUE(is_kernel_power(kGemmHeader));
  EXPECT_TRUE(is_kernel_power(kAttentionHeader));
  EXPECT_FALSE(is_kernel_power("id,kind,device,n_devices,config,metric,value,unit,source\n"));
}

}  // namespace
}  // namespace ergometer::validation
