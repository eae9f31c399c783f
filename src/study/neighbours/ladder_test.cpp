#include "study/neighbours/ladder.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::study {
namespace {

spec::Job job_with(const std::map<std::string, std::string>& more = {}) {
  spec::Settings settings;
  std::map<std::string, std::string> all = {
      {"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "16"}, {"global_batch_size", "48"}};
  for (const auto& [name, value] : more) all[name] = value;
  for (const auto& [name, value] : all) settings.set(name, value, {"test", ""});
  return *spec::resolve(settings);
}

using Values = std::vector<std::string>;

Ladder ladder_of(const char* word, const spec::Job& job) {
  const auto settings = settings_to_vary(word);
  EXPECT_TRUE(settings) << settings.error().message;
  return base::value_of(ladder(*settings->front(), job));
}

// 48 = 16 x 3: four halves down, four doubles up.
TEST(Ladder, SizesAreHalvedAndDoubled) {
  const Ladder batch = ladder_of("gbs", job_with());
  EXPECT_EQ(batch.values, (Values{"3", "6", "12", "24", "48", "96", "192", "384", "768"}));
  EXPECT_EQ(batch.own, 4u);
  const Ladder tensor = ladder_of("tp", job_with());
  EXPECT_EQ(tensor.values, (Values{"1", "2", "4", "8", "16"}));
  EXPECT_EQ(tensor.own, 0u);
}

TEST(Ladder, WordsSwitchesAndShortRangesAreWhole) {
  EXPECT_EQ(ladder_of("zero", job_with()).values, (Values{"0", "1", "2", "3"}));
  const Ladder recomputation =
      ladder_of("recompute", job_with({{"recompute_granularity", "full"}}));
  EXPECT_EQ(recomputation.values, (Values{"none", "selective", "full"}));
  EXPECT_EQ(recomputation.own, 2u);
  const Ladder fsdp = ladder_of("overlap-grad-reduce", job_with({{"overlap_grad_reduce", "true"}}));
  EXPECT_EQ(fsdp.values, (Values{"off", "on"}));
  EXPECT_EQ(fsdp.own, 1u);
}

// An H100 of 700 W can be set down to 200 W; 700 / 8, in steps of 50, is 100.
TEST(Ladder, CapsClocksAndInlets) {
  const Ladder own = ladder_of("cap", job_with());
  EXPECT_EQ(own.values, (Values{"200", "300", "400", "500", "600", "700"}));
  EXPECT_EQ(own.own, 5u);
  const Ladder given = ladder_of("power_cap", job_with({{"power_cap", "630"}}));
  EXPECT_EQ(given.values, (Values{"200", "300", "400", "500", "630", "700"}));
  EXPECT_EQ(given.own, 4u);
  const Ladder clock = ladder_of("clock", job_with());
  EXPECT_EQ(clock.values.back(), "1980");
  EXPECT_EQ(clock.own, clock.values.size() - 1);
  const Ladder inlet = ladder_of("inlet", job_with({{"inlet_c", "22"}}));
  EXPECT_EQ(inlet.values, (Values{"2", "7", "12", "17", "22", "27", "32", "37", "42"}));
}

TEST(Ladder, ListsOfSettings) {
  const auto settings = settings_to_vary("tp,pipeline-model-parallel-size,cap");
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->size(), 3u);
  EXPECT_EQ((*settings)[1]->short_name, "pp");
  EXPECT_EQ((*settings)[2]->name, "power_cap");
  const auto fault = [](const char* list) { return settings_to_vary(list).error().message; };
  EXPECT_NE(fault("tpp").find("found 'tpp'"), std::string::npos);
  EXPECT_NE(fault("tp,tensor_model_parallel_size").find("twice"), std::string::npos);
  EXPECT_NE(fault("dp").find("follows from others"), std::string::npos);
  EXPECT_NE(fault("stage_layers").find("no ladder"), std::string::npos);
  EXPECT_NE(fault("tp,pp,cp,mbs,gbs,zero").find("found 6 settings"), std::string::npos);
  EXPECT_NE(fault("").find("found 0 settings"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::study
