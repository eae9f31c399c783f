#include "spec/recipe/software.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

Settings software_settings(const test::Values& more) {
  return test::settings_of({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "8"}}, more);
}

TEST(Software, EveryProfileOfTheCatalogReads) {
  int count = 0;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kSoftware) continue;
    const auto profile = read_software(entry.name);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->software.name, entry.name);
    ++count;
  }
  EXPECT_GE(count, 15);
}

TEST(Software, FollowsTheFramework) {
  EXPECT_EQ(resolve(software_settings({}))->software.name, "megatron-lm");
  EXPECT_EQ(resolve(software_settings({{"fsdp", "true"}}))->software.name, "pytorch-fsdp");
  EXPECT_EQ(resolve(software_settings({{"framework", "nanotron"}}))->software.name, "nanotron");
}

TEST(Software, SettingsLieBelowTheUsers) {
  const auto quiet = resolve(software_settings({{"software", "megatron-lm-2022"}}));
  ASSERT_TRUE(quiet) << quiet.error().message;
  EXPECT_EQ(quiet->training.attention, AttentionBackend::kUnfused);
  EXPECT_EQ(resolve(software_settings({{"software", "vtrain"}, {"dropout", "0.1"}}))->model.dropout,
            0.1);
  EXPECT_EQ(quiet->parallelism.zero_stage, 0);
  EXPECT_EQ(quiet->origins.at("attention_backend").text, "software profile megatron-lm-2022");
  const auto said =
      resolve(software_settings({{"software", "SC21"}, {"attention_backend", "fa2"}}));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->training.attention, AttentionBackend::kFlash2);
  EXPECT_EQ(said->software.name, "megatron-lm-2021");
}

TEST(Software, UnknownProfilesNameTheNearest) {
  const auto wrong = resolve(software_settings({{"software", "torchtitann"}}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kInput);
  EXPECT_NE(wrong.error().message.find("did you mean torchtitan?"), std::string::npos)
      << wrong.error().message;
}

TEST(Software, BadFilesAreNamedByLineAndKey) {
  const auto bad = [](const char* yaml) {
    return parse_software(yaml, "mine.yaml").error().message;
  };
  EXPECT_EQ(bad("name: a\nframework: megatron\nsettings:\n  zeroo: 0\nparameters: {}\n"),
            "mine.yaml:4: settings.zeroo: is not a setting that a software profile may give; did "
            "you mean zero?");
  EXPECT_EQ(bad("name: a\nframework: megatron\nsettings:\n  attention_backend: fa9\n"
                "parameters: {}\n"),
            "mine.yaml:4: settings.attention_backend: found \"fa9\"; allowed: "
            "fused|unfused|fa1|fa2|fa3|cudnn");
  EXPECT_NE(bad("name: a\nframework: megatron\nparameters: {}\n").find("lacks host.launch"),
            std::string::npos);
}

}  // namespace
}  // namespace ergometer::spec
