#include "validation/rows/run_job.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "validation/rows/test_row.h"

namespace ergometer::validation {
namespace {

using test::row;

TEST(RunLayout, ModelsWithoutALayoutAreSplitUntilTheyFit) {
  // 175 billion parameters at 2 + 2 + 12 / dp bytes on 64 GPUs of 80 GB: over 16 of them
  // 11 B x 7 = 77 GB leave no room for activations, over 32 it is 5.5 B x 10 = 55 GB. Batches
  // of 3.2 million tokens.
  const auto blank = make_job(row("source,framework,task,model,gpu,gpus,seq,tokens_per_s_total",
                                  "x,NeMo-Megatron,pretrain,GPT-175B,A100-SXM4-80GB,64,2048,7500"));
  ASSERT_TRUE(blank) << blank.error().message;
  EXPECT_EQ(blank->job.parallelism.tp, 8);
  EXPECT_EQ(blank->job.parallelism.pp, 4);
  EXPECT_EQ(blank->job.training.global_batch, 3'200'000 / 2048);
  // Each is filled once, and not called a correction of the row.
  int filled = 0;
  for (const Fill& fill : blank->fills) {
    if (!fill.setting.ends_with("model_parallel_size") || fill.setting.starts_with("virtual"))
      continue;
    ++filled;
    EXPECT_NE(fill.reason.find("does not give its layout"), std::string::npos) << fill.reason;
  }
  EXPECT_EQ(filled, 2);
}

// One trillion parameters fit no split of 8 GPUs: the job stays as it was.
TEST(RunLayout, ModelsThatNoSplitMakesFitStayWhole) {
  const auto made = make_job(row("source,framework,task,model,gpu,gpus,seq,tokens_per_s_total",
                                 "x,NeMo-Megatron,pretrain,GPT-1T,A100-SXM4-80GB,8,2048,750"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.parallelism.tp * made->job.parallelism.pp, 1);
  for (const Fill& fill : made->fills) {
    EXPECT_NE(fill.setting, "tensor_model_parallel_size");
    EXPECT_NE(fill.setting, "pipeline_model_parallel_size");
  }
}

TEST(RunLayout, ProductOfSplitsFillsANodeFirst) {
  const auto of = [](const std::string& gpus_per_node) {
    const auto made =
        make_job(row("source,framework,task,model,gpu,gpus,gpus_per_node,mbs,gbs,seq,notes",
                     "Narayanan et al. SC21,Megatron-LM,pretrain,GPT-174.6B,A100-SXM4-80GB,384," +
                         gpus_per_node + ",1,1536,2048,model-parallel size (tp*pp) = 96; x"));
    EXPECT_TRUE(made) << made.error().message;
    return std::pair(made->job.parallelism.tp, made->job.parallelism.pp);
  };
  EXPECT_EQ(of(""), std::pair(int64_t{8}, int64_t{12}));
  EXPECT_EQ(of("8"), std::pair(int64_t{8}, int64_t{12}));
  EXPECT_EQ(of("4"), std::pair(int64_t{4}, int64_t{24}));
}

// 70 billion parameters in FP8 and the activations fit 141 GB, and not 80.
TEST(RunLayout, MlperfSplitsLlama2WhereMemoryIsSmall) {
  const auto tp = [](const std::string& gpu) {
    const auto made =
        make_job(row("source,framework,task,model,seq,gpu,gpus,gbs",
                     "MLPerf Training v5.0 results,NeMo,lora,Llama 2 70B,8192," + gpu + ",8,8"));
    EXPECT_TRUE(made) << made.error().message;
    return made->job.parallelism.tp;
  };
  EXPECT_EQ(tp("H100-SXM5-80GB"), 4);
  EXPECT_EQ(tp("H200-SXM-141GB"), 1);
}

TEST(RunLayout, MlperfKeepsNarrowWeightsByAssumption) {
  const auto made = make_job(
      row("source,framework,task,model,seq,gpu,gpus,gbs,precision",
          "MLPerf Training v5.1 results,NeMo,lora,Llama 2 70B,8192,H200-SXM-141GB,8,8,FP8"));
  ASSERT_TRUE(made) << made.error().message;
  for (const Fill& fill : made->fills)
    if (fill.setting == "fp8_param_gather") {
      EXPECT_EQ(fill.reason,
                "recipe mlperf 5.1: FP8_PARAMS of NVIDIA's configurations, recalled (assumed)");
    }
  EXPECT_TRUE(made->job.training.fp8_parameters);
}

}  // namespace
}  // namespace ergometer::validation
