#include "spec/recipe/recipe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spec/catalog/read.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

Settings recipe_settings(const test::Values& more) {
  return test::settings_of({{"model", "llama3-70b"}, {"cluster", "hgx-h100"}, {"gpus", "64"}},
                           more);
}

TEST(Recipe, EveryFileOfTheCatalogReadsAndNamesProfilesThatExist) {
  int count = 0;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind == CatalogKind::kSoftware) {
      const auto choice = find_recipe(entry.name);
      ASSERT_TRUE(choice) << choice.error().message;
      EXPECT_NE(choice->recipe, nullptr) << entry.name;
    }
    if (entry.kind != CatalogKind::kRecipe) continue;
    const auto recipe = parse_recipe(entry.text, std::string(entry.path));
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(recipe->name, entry.name);
    for (const Recipe::Profile& profile : recipe->profiles)
      EXPECT_TRUE(read_software(profile.name)) << profile.name;
    ++count;
  }
  EXPECT_GE(count, 15);
}

TEST(Recipe, TakesTheRulesOfAnother) {
  const auto with_rules = [](const char* rules) {
    return parse_recipe(fmt::format("name: mine\ntitle: Mine\nprofiles:\n"
                                    "  - {{profile: pytorch-fsdp}}\nrules:\n  - {}\n",
                                    rules),
                        "mine.yaml");
  };
  const auto torchtitan = find_recipe("torchtitan")->recipe;
  const auto all = with_rules("{rules_of: torchtitan}"),
             one = with_rules("{rules_of: torchtitan, setting: tf32}");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(all->rules.size(), torchtitan->rules.size());
  ASSERT_EQ(one->rules.size(), 1);
  EXPECT_EQ(one->rules.front().settings,
            (std::vector<std::pair<std::string, std::string>>{{"tf32", "false"}}));
  const auto unknown = with_rules("{rules_of: torchtitanic}"),
             unset = with_rules("{rules_of: torchtitan, setting: optimizer}");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(
      unknown.error().message,
      "mine.yaml:6: rules[0].rules_of: found \"torchtitanic\"; allowed: a recipe of the catalog");
  ASSERT_FALSE(unset);
  EXPECT_EQ(unset.error().message,
            "mine.yaml:6: rules[0].setting: found \"optimizer\"; allowed: what a rule of "
            "torchtitan sets");
}

TEST(Recipe, IsCalledAsItsUsersCallIt) {
  for (const char* words : {"nemo-25.07", "NeMo 25.07", "Megatron-Bridge 25.07", "dgxc 25.07"}) {
    const auto choice = find_recipe(words);
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(name_of(*choice), "nemo 25.07") << words;
  }
  EXPECT_EQ(name_of(*find_recipe("MLPerf v5.0")), "mlperf 5.0");
  EXPECT_EQ(name_of(*find_recipe("mlperf")), "mlperf 5.1");
  EXPECT_EQ(name_of(*find_recipe("megatron-core-25")), "nemo 25.09");
  EXPECT_EQ(find_recipe("megatron-core-25")->profile, "megatron-core-25");
  const auto unknown = find_recipe("nemoo 25.07");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean nemo?"), std::string::npos)
      << unknown.error().message;
}

TEST(Recipe, NumbersOfReleasesAreOrdered) {
  EXPECT_EQ(release_number("25.07"), 2507);
  EXPECT_EQ(release_number("5.1"), 501);
  EXPECT_EQ(release_number("25.04.01"), 2504);
  EXPECT_EQ(release_number("2024"), 202400);
  EXPECT_EQ(release_number(""), 0);
  EXPECT_EQ(release_number("rc"), 0);
}

TEST(RecipeCondition, HoldsOfSettingsAndFacts) {
  const Settings said =
      recipe_settings({{"fsdp", "yes"}, {"tensor_model_parallel_size", "4"}, {"fp8", "true"}});
  const auto parts = read_job_parts(said);
  ASSERT_TRUE(parts) << parts.error().message;
  RecipeDraft draft(said, *parts);
  draft.release = "25.07";
  const auto holds = [&](std::string_view text) {
    const auto condition = RecipeCondition::parse(text);
    EXPECT_TRUE(condition) << condition.error().message;
    return condition && condition->holds(draft);
  };
  EXPECT_TRUE(holds(""));
  EXPECT_TRUE(holds("fsdp=true, tp>1, pp=1, precision=fp8, task=pretrain"));
  EXPECT_TRUE(holds("gpu=A100*|H100*, architecture=hopper, gpu_gb<128, vendor=NVIDIA"));
  EXPECT_TRUE(holds("release>=25.07, release<25.09, dp=16, model=llama3*, experts=0"));
  EXPECT_TRUE(holds("tp, !pp, zero!=1"));
  EXPECT_FALSE(holds("tp>4"));
  EXPECT_FALSE(holds("fsdp=true, pp"));
  EXPECT_FALSE(RecipeCondition::parse("colour=red"));
  EXPECT_FALSE(RecipeCondition::parse("tp>many"));
}

TEST(Recipe, FillsWhatIsLeftOpenAndSaysSo) {
  const auto made = resolve(recipe_settings({{"software", "nemo 25.07"},
                                             {"tensor_model_parallel_size", "4"},
                                             {"pipeline_model_parallel_size", "4"},
                                             {"global_batch_size", "128"},
                                             {"overlap_grad_reduce", "true"}}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->recipe.name, "nemo 25.07");
  EXPECT_EQ(made->recipe.source, "given");
  EXPECT_EQ(made->software.name, "megatron-core-25");
  EXPECT_TRUE(made->training.overlap_param_gather);
  EXPECT_TRUE(made->training.overlap_tp);
  EXPECT_FALSE(made->training.gradients_fp32);
  EXPECT_EQ(made->parallelism.vpp, 5);  // 80 layers on 4 stages, as the published configuration
  EXPECT_TRUE(made->origins.at("overlap_param_gather").text.starts_with("recipe nemo 25.07: "));
  EXPECT_EQ(made->origins.at("overlap_grad_reduce").text, "--overlap_grad_reduce");
}

// --fsdp without a stage is ZeRO 3.
TEST(Recipe, DeepSpeedDoesTheSameByEitherWordForZero3) {
  for (const test::Values& words :
       {test::Values{{"software", "deepspeed"}, {"zero", "3"}},
        test::Values{{"software", "deepspeed"}, {"fsdp", "true"}},
        test::Values{{"software", "deepspeed"}, {"fsdp", "true"}, {"zero", "3"}}}) {
    const auto made = resolve(recipe_settings(words));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->parallelism.shards_parameters());
    EXPECT_FALSE(made->training.gradients_fp32);
    EXPECT_TRUE(made->training.overlap_grad_reduce);
    EXPECT_TRUE(made->training.overlap_param_gather);
  }
}

TEST(Recipe, TheReleaseChoosesTheProfile) {
  const auto profile = [](const char* software) {
    const auto made =
        resolve(recipe_settings({{"software", software}, {"tensor_model_parallel_size", "8"}}));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->software.name : "";
  };
  EXPECT_EQ(profile("nemo 24.07"), "megatron-core-24");
  EXPECT_EQ(profile("nemo 25.04"), "megatron-core-25");
  EXPECT_EQ(profile("nemo 26.02.01"), "megatron-core-26.02");
  EXPECT_EQ(profile("Megatron-Core 0.16"), "megatron-core-26");
  EXPECT_EQ(profile("mlperf 5.1"), "mlperf-5.0");  // on Hopper
}

TEST(Recipe, IsInferredWhereNobodyNamesOne) {
  const auto plain = resolve(recipe_settings({{"tensor_model_parallel_size", "8"}}));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->recipe.source, "inferred");
  EXPECT_EQ(plain->recipe.name, "megatron-lm");
  EXPECT_EQ(plain->software.name, "megatron-lm");
  const auto sharded = resolve(recipe_settings({{"fsdp", "true"}}));
  ASSERT_TRUE(sharded) << sharded.error().message;
  EXPECT_EQ(sharded->recipe.name, "pytorch-fsdp 2026");
  EXPECT_EQ(sharded->software.name, "pytorch-fsdp");
}

// Every layout of a few sizes under every recipe: what a recipe leaves open never contradicts what
// was said, nor another of its lines.
TEST(Recipe, NeverContradictsTheJob) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kRecipe) continue;
    for (const char* tp : {"1", "4"})
      for (const char* pp : {"1", "2"})
        for (const char* precision : {"bf16", "fp8"})
          for (const char* model : {"llama3-70b", "mixtral-8x7b"}) {
            const auto made = resolve(recipe_settings({{"software", entry.name.c_str()},
                                                       {"model", model},
                                                       {"tensor_model_parallel_size", tp},
                                                       {"pipeline_model_parallel_size", pp},
                                                       {"precision", precision},
                                                       {"global_batch_size", "128"}}));
            EXPECT_TRUE(made) << entry.name << " " << model << " tp " << tp << " pp " << pp << " "
                              << precision << ": " << made.error().message;
          }
  }
}

TEST(Recipe, RefusesWhatItCannotRead) {
  const auto bad = parse_recipe(
      "name: x\ntitle: y\nprofiles: [{profile: nanotron}]\nrules:\n  - set: {zeroo: 1}\n    "
      "source: z\n",
      "mine.yaml");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.substr(0, 11), "mine.yaml:5") << bad.error().message;
  const auto condition = parse_recipe(
      "name: x\ntitle: y\nprofiles: [{profile: nanotron, when: colour=red}]\n", "mine.yaml");
  ASSERT_FALSE(condition);
  EXPECT_NE(condition.error().message.find("colour is neither a setting nor a fact"),
            std::string::npos)
      << condition.error().message;
}

}  // namespace
}  // namespace ergometer::spec
