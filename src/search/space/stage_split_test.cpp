#include "search/space/stage_split.h"

#include "plan/stages.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

using Layers = std::vector<int64_t>;
using enum Split;

spec::Job job_of(const char* model, const char* software) {
  const Space space = test::space_of({{"model", model},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "64"},
                                      {"gbs", "64"},
                                      {"software", software}});
  return space.bases().front().megatron;
}

Layers layers_of(spec::Job job, Split split, int64_t pp, int64_t vpp) {
  job.parallelism.pp = pp;
  job.parallelism.vpp = vpp;
  apply_split(split, {}, job);
  return plan::layers_per_chunk(job);
}

TEST(StageSplit, CountsTheEndsAsLayersWhereThatDivides) {
  const spec::Job job = job_of("llama3.1-405b", "megatron-lm");
  EXPECT_EQ(splits_of(job, 16, 8), std::vector{kEmbeddingAndLoss});
  const Layers layers = layers_of(job, kEmbeddingAndLoss, 16, 8);
  EXPECT_EQ(layers.front(), 0);
  EXPECT_EQ(layers[1], 1);
  EXPECT_EQ(layers.back(), 0);
  EXPECT_EQ(splits_of(job, 129, 1), std::vector<Split>{});
}

TEST(StageSplit, EqualDivisionsAreTriedOnce) {
  // 126 layers on 16 stages: both ends shorter is what counting them as layers gives.
  const spec::Job job = job_of("llama3.1-405b", "megatron-lm");
  EXPECT_EQ(splits_of(job, 16, 1), (std::vector{kEmbeddingAndLoss, kShortLast}));
  EXPECT_EQ(layers_of(job, kShortLast, 16, 1).back(), 6);
}

TEST(StageSplit, LayersThatDivideMayStillLeaveRoomForTheHead) {
  // The head of 70 billion parameters costs 1.2 layers, that of 8 billion 2.4.
  const spec::Job large = job_of("llama3-70b", "megatron-lm");
  EXPECT_EQ(splits_of(large, 8, 1), (std::vector{kGiven, kShortLast, kShortEnds}));
  EXPECT_EQ(splits_of(large, 8, 2), std::vector{kGiven});
  const spec::Job small = job_of("llama3-8b", "megatron-lm");
  EXPECT_EQ(layers_of(small, kShortLast, 4, 1), (Layers{9, 9, 9, 5}));
  EXPECT_EQ(layers_of(small, kShortEnds, 4, 1), (Layers{7, 9, 9, 7}));
}

TEST(StageSplit, AListWhereNothingElseDivides) {
  const spec::Job job = job_of("deepseek-v3", "megatron-lm");
  EXPECT_EQ(splits_of(job, 8, 1), (std::vector{kShortLast, kShortEnds}));
  ASSERT_EQ(splits_of(job, 8, 2), std::vector{kOwn});
  EXPECT_EQ(layers_of(job, kOwn, 8, 2).back(), 1);
}

TEST(StageSplit, FrameworksDivideTheirOwnWay) {
  const spec::Job torch = job_of("llama3.1-405b", "torchtitan");
  EXPECT_EQ(splits_of(torch, 16, 1), std::vector{kOwn});
  EXPECT_EQ(splits_of(torch, 2, 1), std::vector{kGiven});
  const spec::Job nanotron = job_of("llama3-8b", "nanotron");
  EXPECT_EQ(splits_of(nanotron, 4, 1), std::vector{kOwn});
  EXPECT_EQ(layers_of(nanotron, kOwn, 4, 1), (Layers{9, 9, 8, 6}));
}

}  // namespace
}  // namespace ergometer::search
