#include "validation/rows/names.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"
#include "validation/rows/model_table.h"

namespace ergometer::validation {
namespace {

/// The catalog's or the table's model behind a name.
std::string model_of(std::string_view name) {
  const auto found = find_model(parse_model_name(name).key);
  if (!found) return "";
  return found->in_catalog ? found->text : found->where.substr(0, found->where.find(" ("));
}

TEST(Names, CatalogModelsInManySpellings) {
  EXPECT_EQ(model_of("LLAMA3.1_405B"), "llama3.1-405b");
  EXPECT_EQ(model_of("Llama 3.1 405b (405b-Proxy, reduced layers)"), "llama3.1-405b");
  EXPECT_EQ(model_of("LLAMA3_70B"), "llama3-70b");
  EXPECT_EQ(model_of("Maxtext LLama2 70b"), "llama2-70b");
  EXPECT_EQ(model_of("Llama3 70b Finetuning LORA"), "llama3-70b");
  EXPECT_EQ(model_of("meta-llama/Llama-3.3-70B-Instruct"), "llama3.1-70b");
  EXPECT_EQ(model_of("Llama3 70B 2-node"), "llama3-70b");
  EXPECT_EQ(model_of("Qwen3_235B_a22B (tokendrop)"), "qwen3-235b-a22b");
  EXPECT_EQ(model_of("Qwen2.5 32B 2-node"), "qwen2.5-32b");
  EXPECT_EQ(model_of("MPT-7b"), "mpt-7b");
  EXPECT_EQ(model_of("DeepSeekV3 (w/o MTP)"), "deepseek-v3");
  EXPECT_EQ(model_of("Deepseek V3"), "deepseek-v3");
  EXPECT_EQ(model_of("deepseekv2 reduced to 4 layers"), "deepseek-v2");
  EXPECT_EQ(model_of("Nemotron4 340b"), "nemotron-4-340b");
  EXPECT_EQ(model_of("Nemotron 340b"), "nemotron-4-340b");
  EXPECT_EQ(model_of("Nemotron-22B"), "nemotron-3-22b");
  EXPECT_EQ(model_of("Grok1 314b"), "grok-1");
  EXPECT_EQ(model_of("GPT OSS 120B"), "gpt-oss-120b");
  EXPECT_EQ(model_of("GPT-3 175B"), "gpt3-175b");
  EXPECT_EQ(model_of("GPT3-355M"), "gpt3-350m");
  EXPECT_EQ(model_of("turing-530B"), "megatron-530b");
  EXPECT_EQ(model_of("GPT-18.4B"), "megatron-18b");
  EXPECT_EQ(model_of("Kimi K2"), "kimi-k2");
  EXPECT_EQ(model_of("Mixtral-8x22B"), "mixtral-8x22b");
  EXPECT_EQ(model_of("Llama3Config8B"), "llama3-8b");
  EXPECT_EQ(model_of("Qwen3-VL 235B"), "qwen3-235b-a22b");
  EXPECT_EQ(model_of("Qwen3-235B-A22B-Thinking"), "qwen3-235b-a22b");
  EXPECT_EQ(model_of("NVIDIA-Nemotron-Nano-12B-v2"), "nemotron-nano-12b-v2");
  EXPECT_EQ(model_of("Nemotron Nano v2 9B"), "nemotron-nano-9b-v2");
  EXPECT_EQ(model_of("Moonlight 16B"), "moonlight-16b-a3b");
}

TEST(Names, ModelTableBehindTheCatalog) {
  EXPECT_EQ(model_of("GPT-126M"), "model table: GPTConfig126M");
  EXPECT_EQ(model_of("Llama-3.1-Nemotron-Ultra-253B"),
            "model table: Llama31NemotronUltra253BConfig");
  EXPECT_EQ(model_of("no such model 3b"), "");
}

TEST(Names, EveryRowOfTheTableThatIsFoundMakesAModel) {
  for (const base::CsvRow& row : catalog_table("models").rows) {
    const auto found = find_model(parse_model_name(row.cells[0]).key);
    if (!found) continue;
    const auto model = spec::read_model(found->text);
    ASSERT_TRUE(model) << row.cells[0] << ": " << model.error().message;
    EXPECT_EQ(model->unknown_keys.size(), 0u) << row.cells[0];
  }
}

TEST(Names, WhatANameSaysBesides) {
  EXPECT_TRUE(parse_model_name("DeepSeekV3 (tokendrop)").token_drop);
  EXPECT_EQ(parse_model_name("DeepSeekV3 (w/o MTP)").mtp, false);
  EXPECT_EQ(parse_model_name("DeepSeekV3 (w/ MTP)").mtp, true);
  EXPECT_EQ(parse_model_name("DeepSeekV3").mtp, std::nullopt);
  EXPECT_EQ(parse_model_name("llama3_405b reduced to 4 layers").layers, 4);
  EXPECT_TRUE(parse_model_name("Llama3 8b Finetuning LORA").lora);
  EXPECT_FALSE(parse_model_name("Llama3 8b Finetuning SFT").lora);
}

TEST(Names, Precisions) {
  EXPECT_EQ(parse_precision("FP8-CS", true).fp8_recipe, "tensorwise");
  EXPECT_EQ(parse_precision("MXFP8", true).fp8_recipe, "mxfp8");
  EXPECT_EQ(parse_precision("FP8 block/MX", true).fp8_recipe, "mxfp8");
  EXPECT_EQ(parse_precision("FP8 block/MX", false).fp8_recipe, "blockwise");
  EXPECT_EQ(parse_precision("FP8 (float8 linear)", false).fp8_recipe, "tensorwise");
  EXPECT_EQ(parse_precision("FP8 rowwise", false).fp8_recipe, "rowwise");
  EXPECT_EQ(parse_precision("FP16 mixed", false).precision, "fp16");
  EXPECT_EQ(parse_precision("NVFP4", true).precision, "nvfp4");
  EXPECT_EQ(parse_precision("int8", true).precision, "");
}

TEST(Names, Releases) {
  EXPECT_EQ(release_number("NeMo 25.04.rc2"), 2504);
  EXPECT_EQ(release_number("dgxc 24.11.1"), 2411);
  EXPECT_EQ(release_number("NeMo 26.8"), 2608);
  EXPECT_EQ(release_number("2026.04"), 2604);
  EXPECT_EQ(release_number("MLPerf v5.1"), 0);
  EXPECT_EQ(release_number("core_v0.17.25"), 0);
  EXPECT_EQ(release_number("torch 2.26.08"), 0);
  const std::vector<Version> versions = versions_in("MLPerf v5.1, core r0.16.2");
  ASSERT_EQ(versions.size(), 2);
  EXPECT_EQ(versions[0].major * 100 + versions[0].minor, 501);
  EXPECT_EQ(versions[1].minor, 16);
}

}  // namespace
}  // namespace ergometer::validation
