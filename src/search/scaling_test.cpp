#include "search/scaling.h"

#include <gtest/gtest.h>

#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

spec::Settings small_job(const char* batch) {
  return test::settings_of({{"model", "llama3-8b"},
                            {"cluster", "hgx-h100"},
                            {"gbs", batch},
                            {"seq_length", "2048"},
                            {"recompute", "none"},
                            {"cp", "1"},
                            {"pp", "1"},
                            {"tp", "4"},
                            {"mbs", "1"},
                            {"zero", "1"}});
}

SearchOptions one_thread() {
  SearchOptions options;
  options.top = 1;
  return options;
}

SpaceOptions on(std::vector<int64_t> gpus) {
  SpaceOptions space;
  space.gpus = std::move(gpus);
  return space;
}

TEST(Scaling, PartsAddUpToTheStepAndGrowthToTheTimeOfAToken) {
  const auto result = scale(small_job("64"), on({32, 8, 16}), one_thread(), Scaling::kStrong);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->sizes.size(), 3u);
  for (const AtSize& size : result->sizes) {
    ASSERT_TRUE(size.best.has_value()) << size.none;
    EXPECT_EQ(size.global_batch, 64);
    double sum = 0;
    for (const StepPart& part : size.parts) sum += part.seconds;
    EXPECT_NEAR(sum / size.best->run.performance.step_time_s, 1, 1e-9);
  }
  ASSERT_EQ(result->gains.size(), 2u);
  const AtSize &a = result->sizes[0], &b = result->sizes[1];
  EXPECT_EQ(a.gpus, 8);
  EXPECT_EQ(b.gpus, 16);
  const double before = a.best->run.performance.tokens_per_s,
               after = b.best->run.performance.tokens_per_s;
  double grown = 0;
  for (const Growth& growth : result->gains[0].growth) grown += growth.gpu_s_per_token;
  EXPECT_NEAR(grown / (16 / after - 8 / before), 1, 1e-9);
  EXPECT_NEAR(result->gains[0].tokens_per_s_per_gpu, (after - before) / 8, 1e-9 * after);
  EXPECT_NEAR(result->gains[0].of_first, (after - before) / before, 1e-9);
}

/// The network carries the gradients of two nodes; on one node NVLink does.
TEST(Scaling, ASecondNodeWaitsForGradients) {
  const auto result = scale(small_job("16"), on({8, 16}), one_thread(), Scaling::kStrong);
  ASSERT_TRUE(result.has_value());
  const std::vector<Growth>& growth = result->gains.at(0).growth;
  const auto of_gradients = std::ranges::find_if(
      growth, [](const Growth& it) { return it.group == "dp" && it.kind == "reduce_scatter"; });
  ASSERT_NE(of_gradients, growth.end());
  EXPECT_GT(of_gradients->gpu_s_per_token, 0);
  EXPECT_EQ(of_gradients->term, Term::kTransfer);
}

TEST(Scaling, AWeakBatchGrowsWithTheGpus) {
  const auto result = scale(small_job("16"), on({8, 16}), one_thread(), Scaling::kWeak);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->sizes[0].global_batch, 16);
  EXPECT_EQ(result->sizes[1].global_batch, 32);
  EXPECT_EQ(result->sizes[1].best->job.training.global_batch, 32);
  const auto broken = scale(small_job("2"), on({8, 12}), one_thread(), Scaling::kWeak);
  EXPECT_TRUE(broken.has_value());  // 2 * 12 / 8 = 3 sequences
  EXPECT_FALSE(scale(small_job("1"), on({8, 12}), one_thread(), Scaling::kWeak).has_value());
}

/// 12 GPUs are no multiple of tp 4 x a batch of 64; the others are told all the same.
TEST(Scaling, ASizeWithoutALayoutSaysWhy) {
  const auto result = scale(small_job("64"), on({8, 12, 16}), one_thread(), Scaling::kStrong);
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->sizes[1].best.has_value());
  EXPECT_NE(result->sizes[1].none, "");
  ASSERT_EQ(result->gains.size(), 1u);
  EXPECT_EQ(result->gains[0].to, 2u);
}

}  // namespace
}  // namespace ergometer::search
