#include "spec/model/model_names.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ergometer::spec {
namespace {

TEST(ModelNames, AreFoundAsHubsWriteThem) {
  for (const auto& [hub, name] :
       {std::pair("meta-llama/Meta-Llama-3-70B-Instruct", "llama3-70b"),
        std::pair("meta-llama/Llama-3.1-8B", "llama3.1-8b"),
        std::pair("meta-llama/Llama-2-7b-hf", "llama2-7b"),
        std::pair("meta-llama/Llama-3.3-70B-Instruct", "llama3.1-70b"),
        std::pair("Qwen/Qwen2.5-32B", "qwen2.5-32b"),
        std::pair("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        std::pair("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        std::pair("mistralai/Mistral-7B-v0.1", "mistral-7b"),
        std::pair("google/gemma-2-9b-it", "gemma2-9b"),
        std::pair("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        std::pair("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"),
        std::pair("openai/gpt-oss-20b", "gpt-oss-20b"),
        std::pair("tiiuae/falcon-40b-instruct", "falcon-40b"),
        std::pair("EleutherAI/gpt-j-6b", "gpt-j-6b"),
        std::pair("Qwen/Qwen1.5-110B-Chat", "qwen1.5-110b"),
        std::pair("deepseek-ai/deepseek-coder-6.7b-instruct", "deepseek-coder-6.7b"),
        std::pair("baichuan-inc/Baichuan2-13B-Chat", "baichuan2-13b"),
        std::pair("allenai/OLMo-7B", "olmo-7b"),
        std::pair("THUDM/GLM-4-9B-0414", "glm-4-9b-0414"),
        std::pair("microsoft/Phi-3-mini-128k-instruct", "phi-3.5-mini"),
        std::pair("CohereForAI/c4ai-command-r-v01", "command-r"),
        std::pair("tiiuae/Falcon3-7B-Instruct", "falcon3-7b"),
        std::pair("ibm-granite/granite-3.1-8b-instruct", "granite-3.1-8b"),
        std::pair("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"),
        std::pair("llama3.1_8B", "llama3.1-8b")}) {
    const CatalogEntry* entry = find_hub_model(hub);
    ASSERT_NE(entry, nullptr) << hub;
    EXPECT_EQ(entry->name, name) << hub;
  }
}

TEST(ModelNames, AreNotGuessed) {
  // Another vocabulary, another width, nothing at all.
  for (const char* hub :
       {"mistralai/Mistral-7B-v0.4", "meta-llama/Llama-3.1-9B",
        "CohereForAI/c4ai-command-r-08-2024", "allenai/OLMo-7B-0724-hf", "", "/", "base"})
    EXPECT_EQ(find_hub_model(hub), nullptr) << hub;
}

TEST(ModelNames, SuggestTheVersionThatIsKnown) {
  EXPECT_EQ(nearest_model("mistralai/Mistral-7B-Instruct-v0.4"), "mistral-7b");
  EXPECT_EQ(nearest_model("llama3-71b"), "llama3-70b");
}

TEST(ModelNames, SuggestWhatIsSpelledInAnotherWay) {
  EXPECT_EQ(nearest_model("llama33-70b"), "llama3.1-70b");
  EXPECT_EQ(nearest_model("gpt-530b"), "megatron-530b");
  EXPECT_EQ(nearest_model("Llama3Config8B"), "llama3-8b");
  EXPECT_EQ(nearest_model("mixtral-47b"), "mixtral-8x7b");
}

TEST(ModelNames, AFamilyHasSizes) {
  const auto sizes = model_sizes("llama3");
  EXPECT_NE(std::find(sizes.begin(), sizes.end(), "llama3-8b"), sizes.end());
  EXPECT_EQ(std::find(sizes.begin(), sizes.end(), "llama3.1-8b"), sizes.end());
  const auto wrong = read_model("llama3");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("which size? The catalog has llama3-"), std::string::npos)
      << wrong.error().message;
}

}  // namespace
}  // namespace ergometer::spec
