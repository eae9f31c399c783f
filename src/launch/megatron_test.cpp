#include "launch/megatron.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/test_support.h"
#include "intake/launch_script.h"
#include "launch/test_job.h"
#include "spec/catalog/read.h"
#include "spec/settings/settings.h"
#include "workload/parameters.h"

namespace ergometer::launch {
namespace {

/// What a launch script made of these arguments says.
Result<spec::Job> read_back(const Arguments& layout, const Arguments& model, int64_t gpus,
                            const std::string& cluster, std::vector<std::string>& ignored) {
  ERGOMETER_ASSIGN(spec::Settings settings,
                   intake::parse_megatron_arguments(megatron_text(model) + megatron_text(layout),
                                                    "train.sh", ignored));
  settings.set("cluster", cluster, {"test", ""});
  settings.set("gpus", std::to_string(gpus), {"test", ""});
  return spec::resolve(settings);
}

struct Case {
  const char* name;
  std::map<std::string, std::string> settings;
};

const Case kCases[] = {
    {"dense", {{"model", "llama3-70b"}, {"gpus", "32"}, {"tp", "4"}, {"pp", "4"}, {"gbs", "128"}}},
    {"interleaved",
     {{"model", "gpt3-175b"},
      {"gpus", "64"},
      {"tp", "8"},
      {"pp", "4"},
      {"vpp", "3"},
      {"gbs", "64"},
      {"recompute", "full"},
      {"recompute_method", "block"},
      {"recompute_num_layers", "4"},
      {"overlap_grad_reduce", "true"},
      {"overlap_p2p", "true"}}},
    {"uneven",
     {{"model", "llama3-70b"},
      {"gpus", "32"},
      {"tp", "4"},
      {"pp", "4"},
      {"gbs", "128"},
      {"stage_layers", "19,21,21,19"},
      {"recompute", "selective"}}},
    {"experts",
     {{"model", "mixtral-8x7b"},
      {"gpus", "64"},
      {"ep", "8"},
      {"gbs", "256"},
      {"moe_token_dispatcher_type", "flex"},
      {"moe_flex_dispatcher_backend", "deepep"}}},
    {"latent",
     {{"model", "deepseek-v3"},
      {"gpus", "256"},
      {"ep", "32"},
      {"pp", "8"},
      {"gbs", "512"},
      {"fp8", "true"},
      {"fp8_recipe", "blockwise"},
      {"fp8_param_gather", "true"},
      {"decoder_first_pipeline_num_layers", "5"},
      {"decoder_last_pipeline_num_layers", "8"}}},
    {"context",
     {{"model", "llama3-8b"},
      {"gpus", "16"},
      {"cp", "4"},
      {"tp", "2"},
      {"gbs", "16"},
      {"seq", "32768"},
      {"cp_comm_type", "a2a"}}},
    {"sharded", {{"model", "llama3-8b"}, {"gpus", "16"}, {"fsdp", "true"}, {"gbs", "64"}}},
    {"offloaded",
     {{"model", "llama3-8b"},
      {"gpus", "16"},
      {"tp", "2"},
      {"gbs", "64"},
      {"zero", "1"},
      {"linear_cross_entropy_fusion", "true"},
      {"optimizer_cpu_offload", "true"}}},
};

TEST(Megatron, ReadsBackAsTheSameJob) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const spec::Job job = test_job(one.settings);
    const auto model = megatron_model(job.model);
    ASSERT_TRUE(model) << model.error().message;
    std::vector<std::string> ignored;
    const auto back = read_back(megatron_layout(job), *model, job.gpus, "hgx-h100", ignored);
    ASSERT_TRUE(back) << back.error().message;
    expect_same(job, *back);
  }
}

/// Of every model that Megatron-LM's arguments can say, all parameters come back.
TEST(Megatron, SaysTheCatalogsModels) {
  size_t said = 0;
  std::vector<std::string> refused;
  for (const std::string_view name : spec::catalog_names(spec::CatalogKind::kModel)) {
    SCOPED_TRACE(name);
    const auto model = spec::read_model(std::string(name));
    ASSERT_TRUE(model);
    const auto arguments = megatron_model(*model);
    if (!arguments) {
      EXPECT_NE(arguments.error().message.find("cannot say"), std::string::npos);
      refused.emplace_back(name);
      continue;
    }
    ++said;
    std::vector<std::string> ignored;
    const auto settings =
        intake::parse_megatron_arguments(megatron_text(*arguments), "train.sh", ignored);
    ASSERT_TRUE(settings) << settings.error().message;
    const auto back = spec::read_model(settings->find("model")->text);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(workload::count_parameters(*back).total, workload::count_parameters(*model).total);
    EXPECT_EQ(back->layer_count(), model->layer_count());
    EXPECT_EQ(back->kv_heads, model->kv_heads);
  }
  EXPECT_GT(said, 60U);
}

TEST(Megatron, RefusesWhatItCannotSay) {
  const auto model = spec::read_model("mamba2-8b");
  ASSERT_TRUE(model);
  const auto arguments = megatron_model(*model);
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().message,
            "mamba2-8b: Megatron-LM's arguments cannot say a model with state-space layers "
            "(pretrain_mamba.py takes another set)");
  // Its LayerNorm has no bias, which would come back as 81 x 6144 parameters more.
  const auto dbrx = spec::read_model("dbrx");
  ASSERT_TRUE(dbrx);
  const auto refused = megatron_model(*dbrx);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("LayerNorm without a bias"), std::string::npos);
}

// Hopper has neither MXFP8 nor FP4.
const std::map<std::string, std::string> kBlackwell = {
    {"model", "llama3-8b"}, {"cluster", "hgx-b200"}, {"gpus", "8"}, {"fp8_param_gather", "true"}};

TEST(Megatron, GathersMxfp8WeightsIntoTheGradients) {
  auto settings = kBlackwell;
  settings["fp8"] = "true";
  settings["fp8_recipe"] = "mxfp8";
  constexpr const char* kFlag = "--reuse-grad-buf-for-mxfp8-param-ag";
  EXPECT_EQ(megatron_text(megatron_layout(test_job(settings))).find(kFlag), std::string::npos);
  settings["overlap_grad_reduce"] = settings["overlap_param_gather"] = "true";
  EXPECT_NE(megatron_text(megatron_layout(test_job(settings))).find(kFlag), std::string::npos);
  settings["fp8_recipe"] = "tensorwise";
  EXPECT_EQ(megatron_text(megatron_layout(test_job(settings))).find(kFlag), std::string::npos);
}

TEST(Megatron, RefusesFp4Weights) {
  auto settings = kBlackwell;
  settings["fp4"] = "true";
  const auto checked = megatron_check(test_job(settings));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "Megatron-LM's arguments cannot say --fp8-param-gather with --fp4; leave it out");
}

TEST(Megatron, RefusesAScaleARow) {
  const auto checked = megatron_check(test_job({{"model", "llama3-8b"},
                                                {"cluster", "hgx-h100"},
                                                {"gpus", "8"},
                                                {"fp8", "true"},
                                                {"fp8_recipe", "rowwise"}}));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "Megatron-LM's pretrain_gpt.py has no argument for FP8 with a scale a row; take "
            "tensorwise");
}

TEST(Megatron, RefusesOverlappedExpertsWhereItDoes) {
  constexpr const char* kFlag = "overlap_moe_expert_parallel_comm";
  const auto refusal = [&](std::map<std::string, std::string> more) {
    more.insert({{"model", "mixtral-8x7b"}, {"gpus", "32"}, {"ep", "8"}, {kFlag, "true"}});
    return base::error_of(megatron_check(test_job(more)));
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"pp", "4"}, {"vpp", "2"}}), "");
  EXPECT_EQ(refusal({{"pp", "4"}}),
            "Megatron-LM would refuse this job: --overlap-moe-expert-parallel-comm with --pp above "
            "1 needs --vpp above 1");
  EXPECT_EQ(refusal({{"recompute", "full"}}),
            "Megatron-LM would refuse this job: --overlap-moe-expert-parallel-comm takes no full "
            "recomputation");
}

TEST(Megatron, RefusesAllToAllOfPartsOfHeads) {
  // 8 key/value heads of 32.
  const auto refusal = [](const char* tp, const char* cp) {
    return base::error_of(megatron_check(test_job({{"model", "llama3-8b"},
                                                   {"gpus", "32"},
                                                   {"tp", tp},
                                                   {"cp", cp},
                                                   {"cp_comm_type", "a2a"}})));
  };
  EXPECT_EQ(refusal("2", "4"), "");
  EXPECT_EQ(refusal("4", "4"),
            "Megatron-LM would refuse this job: --cp-comm-type a2a needs a number of key/value "
            "heads a rank that cp 4 divides; 8 over tp 4 are 2; take p2p");
}

TEST(Megatron, RefusesActivationsOnTheHost) {
  const auto checked = megatron_check(offloading_job());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "Megatron-LM's pretrain_gpt.py has no argument for activations on the host");
}

}  // namespace
}  // namespace ergometer::launch
