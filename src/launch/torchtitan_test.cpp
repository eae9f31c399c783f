#include "launch/torchtitan.h"

#include <gtest/gtest.h>

#include "launch/test_job.h"

namespace ergometer::launch {
namespace {

TEST(Torchtitan, SaysALayout) {
  std::vector<std::string> notes;
  const auto toml = torchtitan_toml(test_job({{"model", "llama3-70b"},
                                              {"gpus", "64"},
                                              {"tp", "8"},
                                              {"fsdp", "true"},
                                              {"recompute", "full"},
                                              {"gbs", "64"}}),
                                    20, notes);
  ASSERT_TRUE(toml) << toml.error().message;
  EXPECT_TRUE(notes.empty());
  for (const char* line :
       {"name = \"llama3\"", "flavor = \"70B\"", "local_batch_size = 1", "global_batch_size = 64",
        "data_parallel_replicate_degree = 1", "data_parallel_shard_degree = 8",
        "tensor_parallel_degree = 8", "mode = \"full\"", "steps = 20"})
    EXPECT_NE(toml->find(std::string("\n") + line + '\n'), std::string::npos) << line << *toml;
}

TEST(Torchtitan, SaysHowFp8IsScaled) {
  const auto section = [](const char* recipe) {
    std::vector<std::string> notes;
    const std::string toml = torchtitan_toml(test_job({{"model", "llama3-8b"},
                                                       {"gpus", "8"},
                                                       {"fsdp", "true"},
                                                       {"fp8", "true"},
                                                       {"fp8_recipe", recipe}}),
                                             20, notes)
                                 .value();
    return toml.substr(toml.find("[quantize.linear.float8]"));
  };
  EXPECT_EQ(section("rowwise"), "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n");
  EXPECT_NE(section("tensorwise").find("enable_fsdp_float8_all_gather = true"), std::string::npos);
}

TEST(Torchtitan, RefusesModelsItDoesNotHave) {
  std::vector<std::string> notes;
  const auto toml = torchtitan_toml(
      test_job({{"model", "gpt3-175b"}, {"gpus", "64"}, {"tp", "8"}, {"pp", "8"}}), 20, notes);
  ASSERT_FALSE(toml);
  EXPECT_NE(toml.error().message.find("no flavor of the model gpt3-175b"), std::string::npos);
}

TEST(Torchtitan, RefusesAShardedOptimizerAlone) {
  std::vector<std::string> notes;
  const auto toml = torchtitan_toml(test_job({{"model", "llama3-8b"}, {"gpus", "16"}}), 20, notes);
  ASSERT_FALSE(toml);
  EXPECT_NE(toml.error().message.find("take --fsdp"), std::string::npos);
}

TEST(Torchtitan, RefusesOffloadingAndNarrowWeights) {
  std::vector<std::string> notes;
  const auto toml = torchtitan_toml(offloading_job(), 20, notes);
  ASSERT_FALSE(toml);
  EXPECT_EQ(toml.error().message, "torchtitan cannot be told activations on the host");
  const auto narrow = torchtitan_toml(narrow_weights_job(), 20, notes);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().message, "torchtitan cannot be told weights kept in FP8");
}

}  // namespace
}  // namespace ergometer::launch
