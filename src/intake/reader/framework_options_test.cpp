#include "intake/reader/framework_options.h"

#include <gtest/gtest.h>

#include <set>

namespace ergometer::intake {
namespace {

using Kind = Leftover::Kind;

TEST(FrameworkOptions, TheTableIsWhole) {
  const auto& options = framework_options();
  EXPECT_GT(options.size(), 500u);
  std::set<std::string> seen, frameworks;
  for (const FrameworkOption& it : options) {
    EXPECT_TRUE(seen.insert(it.framework + ' ' + it.option).second)
        << it.framework << ": " << it.option << " stands twice";
    frameworks.insert(it.framework);
  }
  for (const char* name : {"megatron-lm", "deepspeed", "trainer", "accelerate", "torchtitan",
                           "nemo-1", "nemo-2", "megatron-bridge", "primus", "peft"})
    EXPECT_TRUE(frameworks.contains(name)) << name;
}

TEST(FrameworkOptions, TellWhatIsNotUsed) {
  const Leftover idle = classify("megatron-lm", "--save-interval", "train.sh:3");
  EXPECT_EQ(idle.kind, Kind::kNoEffect);
  EXPECT_EQ(idle.where, "train.sh:3");
  const Leftover quantized =
      classify("deepspeed", "zero_optimization.zero_quantized_gradients", "ds.json:7");
  EXPECT_EQ(quantized.kind, Kind::kNotModelled);
  EXPECT_EQ(quantized.says, "time: gradients are reduced in 4 bit (ZeRO++)");
  const Leftover misspelt = classify("megatron-lm", "--save-intervall", "train.sh:3");
  EXPECT_EQ(misspelt.kind, Kind::kUnknown);
  EXPECT_EQ(misspelt.says, "--save-interval");
  const Leftover also =
      classify("deepspeed", "gradient_acumulation_steps", "", {"gradient_accumulation_steps"});
  EXPECT_EQ(also.says, "gradient_accumulation_steps");
  EXPECT_EQ(classify("megatron-lm", "--cpu-offloading", "").kind, Kind::kNoEffect);
  // PEFT trains embed_tokens and lm_head in full where they are named there.
  for (const char* framework : {"trainer", "axolotl", "llama-factory", "peft", "ms-swift"})
    EXPECT_EQ(classify(framework, "modules_to_save", "").kind, Kind::kNotModelled) << framework;
  EXPECT_EQ(classify("deepspeed", "qqqqqqqqqqqqqqqq", "").says, "");
}

TEST(FrameworkOptions, SectionsAndRelatives) {
  EXPECT_EQ(classify("torchtitan", "checkpoint.anything", "").kind, Kind::kNoEffect);
  // Primus takes Megatron-LM's arguments, NeMo 2 Megatron-Core's names in any section.
  EXPECT_EQ(classify("primus", "--tensorboard-dir", "").kind, Kind::kNoEffect);
  EXPECT_EQ(classify("nemo-2", "model.config.layernorm_epsilon", "").kind, Kind::kNoEffect);
  EXPECT_EQ(classify("nemo-2", "model.config.attention_chunk_size", "").kind, Kind::kNotModelled);
  EXPECT_TRUE(is_listed_option("deepspeed", "steps_per_print"));
  EXPECT_FALSE(is_listed_option("torchtitan", "checkpoint.anything"));
}

TEST(FrameworkOptions, ATableWithMistakesIsRefused) {
  const auto effect =
      parse_framework_options("framework,option,effect,says\na,b,speed,c\n", "t.csv");
  ASSERT_FALSE(effect);
  EXPECT_TRUE(effect.error().message.starts_with("t.csv:2: effect is 'speed'"));
  const auto says = parse_framework_options("framework,option,effect,says\na,b,time,\n", "t.csv");
  ASSERT_FALSE(says);
  EXPECT_EQ(says.error().message, "t.csv:2: says is empty: what is changed?");
}

}  // namespace
}  // namespace ergometer::intake
