#include "study/neighbours/neighbours.h"

#include <gtest/gtest.h>

#include <set>

namespace ergometer::study {
namespace {

using Values = std::vector<std::string>;

spec::Settings job_of(const std::map<std::string, std::string>& more = {}) {
  spec::Settings settings;
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"model", "llama3-8b"},
                                          {"cluster", "hgx-h100"},
                                          {"gpus", "16"},
                                          {"num_layers", "8"},
                                          {"tensor_model_parallel_size", "2"}})
    settings.set(name, value, {"test", ""});
  for (const auto& [name, value] : more) settings.set(name, value, {"test", ""});
  return settings;
}

Result<Neighbours> around(const spec::Settings& job, const char* list) {
  return neighbours(job, *settings_to_vary(list));
}

TEST(Neighbours, AreTheLegalJobsOfTheLadders) {
  const auto found = around(job_of({{"global_batch_size", "32"}}), "tp,pp");
  ASSERT_TRUE(found) << found.error().message;
  // 16 GPUs: tp x pp of at most 16; 8 layers, so that 16 stages are none.
  EXPECT_EQ(found->ladders[0].values, (Values{"1", "2", "4", "8", "16"}));
  EXPECT_EQ(found->ladders[1].values, (Values{"1", "2", "4", "8"}));
  EXPECT_EQ(found->points.size(), 5u + 4 + 3 + 2);
  EXPECT_EQ(found->points[found->job].id, "tp=2,pp=1");
  EXPECT_EQ(found->at[found->job], (std::vector<size_t>{1, 0}));
  for (const Point& point : found->points) {
    const auto job = spec::resolve(point.settings);
    ASSERT_TRUE(job) << point.id << ": " << job.error().message;
    EXPECT_EQ(std::to_string(job->parallelism.tp), point.axes.at("tp"));
    EXPECT_EQ(job->parallelism.dp, 16 / job->parallelism.tp / job->parallelism.pp);
  }
}

// FSDP alone would suggest PyTorch's own: the switch would be blamed for another framework.
TEST(Neighbours, KeepTheSoftwareThatIsAssumedOfTheJob) {
  const auto found = around(job_of({{"global_batch_size", "32"}}), "fsdp");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->points.size(), 2u);
  for (const Point& point : found->points) {
    const auto job = spec::resolve(point.settings);
    ASSERT_TRUE(job) << point.id << ": " << job.error().message;
    EXPECT_EQ(job->recipe.name, "megatron-lm") << point.id;
    EXPECT_EQ(job->recipe.source, "inferred") << point.id;
  }
}

TEST(Neighbours, AreNoMoreThanAPageTakes) {
  const auto found = around(job_of({{"global_batch_size", "64"}}), "tp,pp,mbs,cap,clock");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->points.size(), kMostNeighbours);
  EXPECT_GT(found->points.size(), kMostNeighbours / 2);
  std::set<std::string> names;
  for (const Point& point : found->points) EXPECT_TRUE(names.insert(point.id).second) << point.id;
  for (size_t i = 0; i < found->ladders.size(); ++i) {
    std::set<size_t> seen;
    for (const auto& at : found->at) seen.insert(at[i]);
    EXPECT_EQ(seen.size(), found->ladders[i].values.size()) << found->ladders[i].word();
    EXPECT_GE(seen.size(), 2u);
  }
}

// Micro batches of a replica would mean another batch on other GPUs; so would none given.
TEST(Neighbours, KeepTheBatch) {
  for (const std::map<std::string, std::string>& batch :
       {std::map<std::string, std::string>{}, {{"gradient_accumulation_steps", "4"}}}) {
    spec::Settings job = job_of(batch);
    const int64_t own = spec::resolve(job)->training.global_batch;
    const auto found = around(job, "tp");
    ASSERT_TRUE(found) << found.error().message;
    for (const Point& point : found->points)
      EXPECT_EQ(spec::resolve(point.settings)->training.global_batch, own) << point.id;
  }
}

TEST(Neighbours, OfASettingThatCannotChangeAreAnError) {
  const auto found = around(job_of({{"global_batch_size", "32"}}), "tp,ep");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("ep: the job has 1"), std::string::npos);
  EXPECT_NE(found.error().message.find("mixture of experts"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::study
