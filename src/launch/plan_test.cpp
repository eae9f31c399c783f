#include "launch/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "launch/manifest.h"
#include "launch/test_job.h"

namespace ergometer::launch {
namespace {

using SettingsText = std::map<std::string, std::string>;

spec::Settings settings_of(const SettingsText& written) {
  spec::Settings settings;
  settings.set("model", "llama3-8b", {"test", ""});
  settings.set("cluster", "hgx-h100", {"test", ""});
  settings.set("gpus", "8", {"test", ""});
  settings.set("global_batch_size", "32", {"test", ""});
  settings.set("seq_length", "2048", {"test", ""});
  for (const auto& [name, text] : written)
    settings.set(spec::find_setting(name)->name, text, {"test", ""});
  return settings;
}

std::vector<NamedJob> three_jobs() {
  return {{"tp=1", settings_of({{"tp", "1"}, {"fsdp", "true"}})},
          {"tp=2", settings_of({{"tp", "2"}})},
          {"tp=4", settings_of({{"tp", "4"}})}};
}

std::string error_of(const SettingsText& written, Framework framework = Framework::kMegatron) {
  PlanOptions options;
  options.framework = framework;
  const auto plan = make_plan({{"a", settings_of(written)}}, options);
  return plan ? "" : plan.error().message;
}

TEST(Plan, EveryRepeatHasEveryJobOnce) {
  PlanOptions options;
  options.repeats = 4;
  const auto plan = make_plan(three_jobs(), options);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->runs.size(), 12U);
  std::set<std::vector<size_t>> orders;
  for (size_t repeat = 0; repeat < 4; ++repeat) {
    std::vector<size_t> order;
    for (size_t i = 0; i < 3; ++i) {
      const PlannedRun& run = plan->runs[3 * repeat + i];
      EXPECT_EQ(run.repeat, static_cast<int64_t>(repeat) + 1);
      EXPECT_EQ(run.number, static_cast<int64_t>(3 * repeat + i) + 1);
      order.push_back(run.job);
    }
    EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), 3U);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST(Plan, TheOrderDependsOnItsSeedAndOnNothingElse) {
  PlanOptions options;
  options.repeats = 5;
  const auto first = make_plan(three_jobs(), options);
  options.threads = 2;
  const auto again = make_plan(three_jobs(), options);
  options.order_seed = 7;
  const auto other = make_plan(three_jobs(), options);
  options.order_seed = 0;
  const auto written = make_plan(three_jobs(), options);
  ASSERT_TRUE(first && again && other && written);
  EXPECT_EQ(manifest_json(*first), manifest_json(*again));
  const auto order = [](const Plan& plan) {
    std::vector<size_t> jobs;
    for (const PlannedRun& run : plan.runs) jobs.push_back(run.job);
    return jobs;
  };
  EXPECT_NE(order(*first), order(*other));
  EXPECT_EQ(order(*written), (std::vector<size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Plan, TakesNoJobThatDoesNotFit) {
  PlanOptions options;
  const auto plan = make_plan({{"large", settings_of({{"model", "llama3-70b"}})}}, options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, base::ErrorKind::kNo);
  EXPECT_EQ(plan.error().message.substr(0, 26), "large: does not fit: needs");
}

/// What Megatron-LM's own checks refuse is never written.
TEST(Plan, TakesNoJobThatMegatronRefuses) {
  const auto says = [](const SettingsText& written, const char* text) {
    const std::string message = error_of(written);
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  says({{"pp", "2"}, {"tp", "4"}, {"schedule", "zb-h1"}}, "zero-bubble");
  says({{"pp", "2"}, {"tp", "4"}, {"schedule", "gpipe"}}, "GPipe");
  says({{"tp", "2"}, {"sequence_parallel", "false"}, {"tp_comm_overlap", "true"}},
       "--sequence-parallel");
  says({{"tp", "4"}, {"pp", "2"}, {"vpp", "2"}, {"overlap_p2p", "false"}}, "--overlap-p2p");
  says({{"tp", "4"}, {"lora", "16"}}, "pre-training");
  says({{"tp", "4"}, {"zero", "2"}}, "take --zero 1");
  says({{"model", "mixtral-8x7b"},
        {"num_layers", "2"},
        {"gpus", "24"},
        {"gbs", "24"},
        {"ep", "3"},
        {"moe_redundant_experts", "1"}},
       "--ep 3 divides 8 experts with their copies alone");
}

TEST(Plan, TorchtitanNeedsFsdp) {
  EXPECT_NE(error_of({{"tp", "2"}, {"zero", "1"}}, Framework::kTorchtitan).find("take --fsdp"),
            std::string::npos);
  EXPECT_EQ(error_of({{"tp", "2"}, {"fsdp", "true"}}, Framework::kTorchtitan), "");
}

}  // namespace
}  // namespace ergometer::launch
