#include "launch/nemo.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "launch/test_job.h"
#include "spec/settings/settings.h"

namespace ergometer::launch {
namespace {

/// What NeMo would run, as our reader of its files understands it.
spec::Job read_back(const spec::Job& job, std::vector<std::string>& notes) {
  const auto yaml = nemo_yaml(job, 10, notes);
  EXPECT_TRUE(yaml) << base::error_of(yaml);
  std::vector<std::string> ignored;
  auto settings = spec::parse_nemo(*yaml, "nemo.yaml", ignored);
  EXPECT_TRUE(settings) << base::error_of(settings);
  settings->set("cluster", "hgx-h100", {"test", ""});
  auto back = spec::resolve(*settings);
  EXPECT_TRUE(back) << base::error_of(back);
  return std::move(*back);
}

TEST(Nemo, ReadsBackAsTheSameJob) {
  const std::map<std::string, std::map<std::string, std::string>> cases = {
      {"dense", {{"model", "llama3-70b"}, {"gpus", "32"}, {"tp", "4"}, {"pp", "4"}}},
      {"recomputed",
       {{"model", "gpt3-175b"},
        {"gpus", "64"},
        {"tp", "8"},
        {"pp", "4"},
        {"recompute", "full"},
        {"recompute_method", "block"},
        {"recompute_num_layers", "24"}}},
      {"experts", {{"model", "mixtral-8x7b"}, {"gpus", "64"}, {"ep", "8"}}},
      {"sharded", {{"model", "llama3-8b"}, {"gpus", "16"}, {"fsdp", "true"}}},
      {"adapters", {{"model", "llama3-70b"}, {"gpus", "16"}, {"tp", "8"}, {"lora", "32"}}},
  };
  for (const auto& [name, settings] : cases) {
    SCOPED_TRACE(name);
    const spec::Job job = test_job(settings);
    std::vector<std::string> notes;
    expect_same(job, read_back(job, notes));
    EXPECT_TRUE(notes.empty()) << notes.front();
  }
}

TEST(Nemo, RefusesWhatItCannotSay) {
  std::vector<std::string> notes;
  const auto yaml =
      nemo_yaml(test_job({{"model", "deepseek-v3"}, {"gpus", "256"}, {"ep", "32"}, {"gbs", "512"}}),
                10, notes);
  ASSERT_FALSE(yaml);
  EXPECT_EQ(yaml.error().message, "NeMo's configuration cannot say multi-head latent attention");
}

TEST(Nemo, RefusesAdaptersInSomeLayers) {
  std::vector<std::string> notes;
  const auto yaml = nemo_yaml(test_job({{"model", "llama3-70b"},
                                        {"gpus", "16"},
                                        {"tp", "8"},
                                        {"lora", "16"},
                                        {"lora_layers", "78,79"}}),
                              10, notes);
  ASSERT_FALSE(yaml);
  EXPECT_EQ(yaml.error().message, "NeMo's configuration cannot say adapters in some of the layers");
}

TEST(Nemo, RefusesOffloadingAndNarrowWeights) {
  std::vector<std::string> notes;
  const auto yaml = nemo_yaml(offloading_job(), 10, notes);
  ASSERT_FALSE(yaml);
  EXPECT_EQ(yaml.error().message, "NeMo's configuration cannot say activations on the host");
  const auto narrow = nemo_yaml(narrow_weights_job(), 10, notes);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().message, "NeMo's configuration cannot say weights kept in FP8");
}

}  // namespace
}  // namespace ergometer::launch
