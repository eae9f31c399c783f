#include <gtest/gtest.h>

#include <cmath>

#include "engine/simulate.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {
namespace {

spec::Settings settings(std::initializer_list<std::pair<const char*, const char*>> said) {
  spec::Settings result;
  for (const auto& [name, value] : said) result.set(name, value, {"test", ""});
  return result;
}

spec::Settings gpt3() {
  return settings({{"model", "gpt3-175b"},
                   {"cluster", "selene"},
                   {"gpus", "1024"},
                   {"tensor_model_parallel_size", "8"},
                   {"pipeline_model_parallel_size", "8"},
                   {"micro_batch_size", "1"},
                   {"global_batch_size", "1536"}});
}

spec::Settings mixture() {
  return settings({{"model", "mixtral-8x7b"},
                   {"cluster", "hgx-h100"},
                   {"gpus", "256"},
                   {"tensor_model_parallel_size", "2"},
                   {"pipeline_model_parallel_size", "4"},
                   {"expert_model_parallel_size", "8"},
                   {"micro_batch_size", "1"},
                   {"global_batch_size", "512"},
                   {"seq_length", "4096"}});
}

double sum_of_shares(const Side& side) {
  double sum = 0;
  for (const Measure& each : side.measures)
    if (each.scale == Scale::kShare) sum += each.value;
  return sum;
}

/// Everything that a share may do: be within 3 points, or be said to be lost, and why.
void expect_told(const Proxy& proxy) {
  for (const Row& row : proxy.rows) {
    const bool share = row.large.scale == Scale::kShare;
    const double points = 100 * std::abs(row.small.value - row.large.value);
    EXPECT_FALSE(share && points > 3 && row.kept) << row.large.name;
    EXPECT_TRUE(row.kept || !row.lost.empty()) << row.large.name;
  }
  EXPECT_NEAR(sum_of_shares(proxy.large), 1, 1e-6);
  EXPECT_NEAR(sum_of_shares(proxy.small), 1, 1e-6);
}

TEST(FindProxy, Gpt3OfAThousandGpusKeepsItsSharesOnThirtyTwo) {
  const auto proxy = find(gpt3(), 32, 2);
  ASSERT_TRUE(proxy) << proxy.error().message;
  EXPECT_EQ(proxy->large.job.gpus, 1024);
  EXPECT_EQ(proxy->small.job.gpus, 32);
  EXPECT_EQ(lost_shares(proxy->rows), 0U);
  expect_told(*proxy);
}

TEST(FindProxy, ItsSettingsAreTheJob) {
  const auto proxy = find(mixture(), 32, 2);
  ASSERT_TRUE(proxy) << proxy.error().message;
  expect_told(*proxy);
  const auto job = spec::resolve(proxy->settings);
  ASSERT_TRUE(job) << job.error().message;
  const auto run = engine::simulate(*job, {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->performance.step_time_s, proxy->small.run.performance.step_time_s);
  EXPECT_EQ(run->memory.peak_bytes, proxy->small.run.memory.peak_bytes);
  EXPECT_EQ(run->power.mean_w_per_gpu, proxy->small.run.power.mean_w_per_gpu);
}

TEST(FindProxy, ExpertsOfAGpuAreKept) {
  const auto proxy = find(mixture(), 8, 2);
  ASSERT_TRUE(proxy) << proxy.error().message;
  const spec::Job &a = proxy->large.job, &b = proxy->small.job;
  EXPECT_EQ(a.model.experts.count / a.parallelism.ep, b.model.experts.count / b.parallelism.ep);
}

TEST(FindProxy, ThreadsChangeNothing) {
  const auto one = find(mixture(), 16, 1), four = find(mixture(), 16, 4);
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->distance, four->distance);
  EXPECT_EQ(one->small.job.training.global_batch, four->small.job.training.global_batch);
}

TEST(JudgeProxy, AJobIsItsOwnBestProxy) {
  const auto proxy = judge(mixture(), mixture());
  ASSERT_TRUE(proxy) << proxy.error().message;
  EXPECT_EQ(proxy->distance, 0);
  EXPECT_TRUE(proxy->keeps_all());
}

TEST(FindProxy, GpusThatCannotBe) {
  for (const int64_t gpus : {1032, 4096, 12}) EXPECT_FALSE(find(gpt3(), gpus, 1)) << gpus;
}

}  // namespace
}  // namespace ergometer::study::proxy
