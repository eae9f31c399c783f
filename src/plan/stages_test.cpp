#include "plan/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using test::fake_workload;
using test::make_job;
using Layers = std::vector<int64_t>;

TEST(Stages, ChunkJOfStageRHoldsLayersFromJPPlusR) {
  const spec::Job job = make_job({.pp = 2, .vpp = 2, .layers = 8});
  const std::vector<Stage> stages = divide(job, fake_workload(job));
  EXPECT_EQ(stages[0].chunks[0].layers, (Layers{-1, 0, 1}));
  EXPECT_EQ(stages[1].chunks[0].layers, (Layers{2, 3}));
  EXPECT_EQ(stages[0].chunks[1].layers, (Layers{4, 5}));
  EXPECT_EQ(stages[1].chunks[1].layers, (Layers{6, 7, -1}));
}

TEST(Stages, EmbeddingAndLossStandForALayerEach) {
  // Llama 3.1 405B: 126 layers and two stand-ins over 16 stages of 8.
  spec::Job job = make_job({.pp = 16, .layers = 126});
  job.parallelism.embedding_counts_as_layer = job.parallelism.loss_counts_as_layer = true;
  Layers expected(16, 8);
  expected.front() = expected.back() = 7;
  EXPECT_EQ(layers_per_chunk(job), expected);
}

TEST(Stages, FirstAndLastStageAsAskedTheRestEven) {
  spec::Job job = make_job({.pp = 4, .layers = 26});
  job.parallelism.first_stage_layers = 6;
  job.parallelism.last_stage_layers = 4;
  EXPECT_EQ(layers_per_chunk(job), (Layers{6, 8, 8, 4}));
  job.parallelism.vpp = 2;
  EXPECT_EQ(layers_per_chunk(job), (Layers{3, 4, 4, 2, 3, 4, 4, 2}));
}

TEST(Stages, AnExplicitListIsTakenAsItIs) {
  spec::Job job = make_job({.pp = 2, .vpp = 2, .layers = 9});
  job.parallelism.stage_layers = {4, 2, 2, 1};
  const std::vector<Stage> stages = divide(job, fake_workload(job));
  EXPECT_EQ(stages[0].chunks[0].layers, (Layers{-1, 0, 1, 2, 3}));
  EXPECT_EQ(stages[1].chunks[1].layers, (Layers{8, -1}));
}

TEST(Stages, RecomputationCoversLayersAndWithTheUniformMethodMtp) {
  spec::Job job = make_job({.pp = 2, .layers = 8});
  job.model.mtp_layers = 1;
  job.training.recompute = spec::Recompute::kFull;
  const auto recomputed = [&job](size_t stage) {
    const workload::Workload workload = fake_workload(job);
    const Chunk chunk = divide(job, workload)[stage].chunks[0];
    std::string out;
    for (size_t i = 0; i < chunk.blocks.size(); ++i)
      out += is_recomputed(chunk, workload, i) ? 'r' : '.';
    return out;
  };
  EXPECT_EQ(recomputed(0), ".rrrr");   // embedding and four layers
  EXPECT_EQ(recomputed(1), "rrrrr.");  // four layers, MTP, head
  job.training.recompute_method = spec::RecomputeMethod::kBlock;
  job.training.recompute_layers = 3;
  EXPECT_EQ(recomputed(0), ".rrr.");
  EXPECT_EQ(recomputed(1), "rrr...");
  job.training.recompute = spec::Recompute::kSelective;
  EXPECT_EQ(recomputed(0), ".....");
}

TEST(Stages, AllEndWithALossWhereTheyTrainApart) {
  const spec::Job job = make_job({.pp = 4, .layers = 4});
  workload::Workload workload = fake_workload(job);
  workload.stage_loss_block = workload.head_block;
  const std::vector<Stage> stages = divide(job, workload);
  for (const Stage& stage : stages) {
    const std::vector<int>& blocks = stage.chunks[0].blocks;
    EXPECT_EQ(blocks.back(), workload.head_block);
    EXPECT_EQ(std::ranges::count(blocks, workload.head_block), 1);
  }
}

// A tower of two layers of 32 over tiles of four patches, merged to one token each, before a
// decoder of two layers of 64.
TEST(Stages, AVisionTowerComesFirst) {
  spec::Job job = make_job({.pp = 2, .layers = 2});
  spec::Vision vision;
  vision.tower.hidden = 32;
  vision.tower.ffn = 64;
  vision.tower.heads = vision.tower.kv_heads = 4;
  vision.tower.head_dim = 8;
  vision.tower.bidirectional = true;
  vision.tower.layers.resize(2);
  vision.tile_tokens = vision.merged = 4;
  vision.patch_values = 12;
  vision.projector_in = 128;
  vision.projector_inner = 64;
  job.model.vision = std::make_shared<const spec::Vision>(vision);
  job.training.images_per_sample = job.training.tiles_per_image = 2;
  const auto divided = [&](Layers layers) {
    job.parallelism.stage_layers = std::move(layers);
    return divide(job, workload::lower(job));
  };
  const auto crossing = [&] { return borders(job, workload::lower(job)); };
  const double batch = static_cast<double>(job.training.micro_batch);
  // Inside the tower: 2 bytes of 32 for each of four tiles' four patches.
  std::vector<Stage> stages = divided({1, 3});
  EXPECT_EQ(stages[0].chunks[0].layers, (Layers{-1, 0}));
  EXPECT_EQ(stages[1].chunks[0].layers, (Layers{1, -1, -1, 2, 3, -1}));
  EXPECT_EQ(crossing(), (std::vector<Border>{{batch * 2 * 32 * 4 * 4, true}}));
  // Behind the projector: 2 bytes of 64 for each tile.
  stages = divided({2, 2});
  EXPECT_EQ(stages[0].chunks[0].layers, (Layers{-1, 0, 1, -1}));
  EXPECT_EQ(stages[1].chunks[0].layers, (Layers{-1, 2, 3, -1}));
  EXPECT_EQ(crossing(), (std::vector<Border>{{batch * 2 * 64 * 4, true}}));
  stages = divided({3, 1});
  EXPECT_EQ(stages[0].chunks[0].layers, (Layers{-1, 0, 1, -1, -1, 2}));
  EXPECT_FALSE(crossing().front().tiles);
}

}  // namespace
}  // namespace ergometer::plan
