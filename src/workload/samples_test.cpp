#include "workload/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "spec/job/sample_sizes.h"
#include "workload/sequence_loads.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using namespace test;
using spec::SamplePacking;

/// A decoder of two layers behind a tower whose tiles become 256 tokens.
spec::Job job_of_samples(const std::string& samples, SamplePacking packing, int64_t batch) {
  spec::Job job = job_of(dense_model(2, 256, 512, 4, 4, 1024), 4096, 1, 8);
  spec::Vision vision;
  vision.tower = dense_model(2, 64, 256, 4, 4, 0);
  vision.tile_tokens = 1024;
  vision.merged = 4;
  job.model.vision = std::make_shared<const spec::Vision>(vision);
  spec::Training& t = job.training;
  t.global_batch = batch;
  t.sequence_lengths = *spec::parse_samples(samples);
  t.tiles_per_image = 1;
  t.tokens_per_image = 256;
  t.sample_packing = packing;
  t.sequence_batching = packing == SamplePacking::kNone ? spec::SequenceBatching::kPadded
                                                        : spec::SequenceBatching::kVariable;
  return job;
}

int64_t tokens_in(const std::vector<Sample>& samples) {
  int64_t sum = 0;
  for (const Sample& sample : samples)
    sum += std::accumulate(sample.lengths.begin(), sample.lengths.end(), int64_t{0});
  return sum;
}

std::vector<Sample> unlike_samples(int64_t count) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < count; ++i) samples.push_back({{200 + i % 7 * 150}, i % 4});
  return samples;
}

TEST(Pack, OneRoundIsTheOrderOfTheData) {
  // Each fills a group.
  const std::vector<Sample> packed = pack({{{4000}, 1}, {{4000}, 2}, {{4000}, 3}}, {4000, 0}, 1, 1);
  ASSERT_EQ(packed.size(), 3u);
  for (const Sample& sample : packed) EXPECT_EQ(sample.lengths.size(), 1u);
}

TEST(Pack, KeepsEverySampleAndBothLimits) {
  for (const int64_t rounds : {1, 2, 50}) {
    const std::vector<Sample> packed = pack(unlike_samples(500), {4096, 18}, rounds, 7);
    EXPECT_EQ(tokens_in(packed), tokens_in(unlike_samples(500)));
    size_t members = 0;
    for (const Sample& sample : packed) {
      EXPECT_LE(tokens_in({sample}), 4096);
      EXPECT_LE(sample.tiles, 18);
      members += sample.lengths.size();
    }
    EXPECT_EQ(members, 500u);
  }
}

TEST(Pack, ASampleAboveTheLimitIsAlone) {
  const std::vector<Sample> packed = pack({{{100}, 40}, {{100}, 1}}, {4096, 18}, 3, 1);
  EXPECT_EQ(packed.size(), 2u);
}

TEST(PackingRatios, ByHand) {
  spec::Job job = job_of_samples("counts:1/100", SamplePacking::kNone, 4);
  job.parallelism.dp = 2;
  std::vector<MicroBatch> batches(4);
  const int64_t tiles[] = {4, 4, 3, 1}, tokens[] = {100, 50, 80, 80}, real[] = {90, 50, 80, 60};
  for (size_t i = 0; i < 4; ++i) {
    batches[i].tiles = tiles[i];
    batches[i].tokens = tokens[i];
    batches[i].real_tokens = real[i];
  }
  const PackingRatios ratios = packing_ratios(job, batches);
  EXPECT_NEAR(ratios.tile_distance, (0.0 + 2.0 / 6) / 2, 1e-12);
  EXPECT_NEAR(ratios.token_distance, (50.0 / 200 + 0) / 2, 1e-12);
  EXPECT_NEAR(ratios.padding, 1 - 280.0 / 310, 1e-12);
  EXPECT_EQ(ratios.tiles, 3);
}

// Samples of 2 +- 1.5 images and 500 +- 300 tokens of text. Published for vision sets at 18 images
// and 4,096 tokens (OmniBal): distance of tokens 0.121 after one round and 0.015 after fifty,
// padding 0.149 after one. After fifty 0.063 are published; here it is what full groups lack,
// 0.016. Padding and distance of the same tokens say how full the fullest group is: (1 - 0.063) /
// (1 - 0.015) = 0.951 of the room, and one is full from 0.969 on. So the published padding holds
// more than room left in groups, 3 to 5 %: as much as samples filled up to some 64 to 128 tokens
// leave.
TEST(PackingRatios, RoundsBringThePublishedDistance) {
  spec::Job job = job_of_samples("lognormal:2,1.5,500,300", SamplePacking::kBoth, 4096);
  const auto after = [&](int64_t rounds) {
    job.training.packing_rounds = rounds;
    return packing_ratios(job, draw_step(job, 0));
  };
  const PackingRatios once = after(1), often = after(50);
  EXPECT_NEAR(once.token_distance, 0.121, 0.02);
  EXPECT_NEAR(once.padding, 0.149, 0.02);
  EXPECT_NEAR(often.token_distance, 0.015, 0.02);
  EXPECT_LT(often.padding, 0.063);
  EXPECT_LT(often.tile_distance, once.tile_distance);
}

TEST(ImageSamples, AreDrawnByTheirMoments) {
  const spec::Job job = job_of_samples("lognormal:2,1.5,500,300", SamplePacking::kNone, 20'000);
  double tiles = 0, tokens = 0;
  for (const MicroBatch& batch : draw_step(job, 0)) {
    tiles += static_cast<double>(batch.tiles) / 20'000;
    tokens += static_cast<double>(batch.real_tokens) / 20'000;
  }
  EXPECT_NEAR(tiles, 2, 0.05);
  EXPECT_NEAR(tokens, 500 + 256 * tiles, 15);
}

TEST(ImageSamples, TowerFollowsTilesAndDecoderTokens) {
  const spec::Job job = job_of_samples("counts:1/3000,7/100", SamplePacking::kNone, 64);
  const SequenceLoads loads = sequence_loads(job);
  ASSERT_TRUE(loads.has_tiles());
  Operator op;
  EXPECT_EQ(loads.measure(op), 0u);
  op.vision = true;
  EXPECT_EQ(loads.measure(op), loads.loads.size() - 1);
  // A tile's load times the lowered tiles are whole images.
  for (const double load : loads.loads.back()) {
    const double tiles = load * static_cast<double>(loads.base.tiles);
    EXPECT_TRUE(std::abs(tiles - 1) < 1e-9 || std::abs(tiles - 7) < 1e-9) << tiles;
  }
}

}  // namespace
}  // namespace ergometer::workload
