#include "workload/vision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "workload/flops.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using namespace test;

spec::Model catalog_model(const char* name) { return base::value_of(spec::read_model(name)); }

/// Two layers of 64 over tiles of 16 patches and a class token, four patches to a token of a
/// decoder of two layers of 128.
spec::Job small_job() {
  spec::Job job = job_of(dense_model(2, 128, 512, 4, 4, 1024), 64);
  spec::Vision vision;
  vision.tower = gpt_model(2, 64, 4, 0);
  vision.tower.dropout = 0;
  vision.tower.bidirectional = true;
  vision.tower.final_norm = false;
  vision.tower.position_rows = vision.tile_tokens = 17;
  vision.class_token = vision.patch_bias = true;
  vision.patch_values = 588;
  vision.merged = 4;
  vision.norm_width = vision.projector_in = 256;
  vision.norm_bias = true;
  vision.projector_inner = 128;
  job.model.vision = std::make_shared<const spec::Vision>(vision);
  job.training.images_per_sample = 2;
  job.training.tiles_per_image = 3;
  job.training.tokens_per_image = 12;
  return job;
}

std::vector<int> all_blocks(const Workload& workload) {
  std::vector<int> blocks = workload.layer_blocks;
  for (const int block : {workload.patch_block, workload.projector_block, workload.embedding_block,
                          workload.head_block})
    blocks.push_back(block);
  return blocks;
}

const Block& block_at(const Workload& workload, int index) {
  return workload.blocks[static_cast<size_t>(index)];
}

double model_flops_of(const Workload& workload, const std::vector<Item>& items) {
  double sum = 0;
  for (const Item& item : items)
    if (item.kind == Item::Kind::kOperator) sum += op_of(workload, item).model_flops;
  return sum;
}

double model_flops_of_operators(const spec::Job& job) {
  const Workload workload = lower(job);
  double sum = 0;
  for (const int index : all_blocks(workload)) {
    const Block& block = block_at(workload, index);
    sum += model_flops_of(workload, block.forward) + model_flops_of(workload, block.backward);
  }
  return sum * static_cast<double>(job.micro_batches() * job.stage_ranks());
}

TEST(Vision, TowersAndProjectorsOfPublishedModels) {
  // InternViT-300M: 24 x (4 x 1024^2 + 4 x 1024 + 2 x 1024 x 4096 + 5120 + 2 norms of 2048 + 2
  // scales of 1024), patches 588 x 1024 + 1024, a class token, 1025 positions: 304,012,288.
  // Projector: a norm of 4096 with bias, 4096 x 4096 + 4096 twice: 33,570,816.
  EXPECT_EQ(count_parameters(catalog_model("internvl2-8b")).vision, 304'012'288 + 33'570'816);
  // InternViT-6B: 45 x (4 x 3200^2 + 3200 + 2 x 3200 x 12800 + 16000 + 6 x 3200), patches 588 x
  // 3200 + 3200, class token, 1025 positions; a norm of 12800, 12800 x 6144 and 6144 x 6144.
  EXPECT_EQ(count_parameters(catalog_model("internvl-chat-v1.5")).vision,
            5'536'496'000 + 116'429'824);
  // CLIP ViT-L/14 at 336 pixels and 1024 x 4096, 4096 x 4096.
  EXPECT_EQ(count_parameters(catalog_model("llava-1.5-7b")).vision, 303'507'456 + 20'979'712);
  // 32 x 19,702,200, patches of two frames 1176 x 1280, and the merger.
  EXPECT_EQ(count_parameters(catalog_model("qwen2.5-vl-7b")).vision, 676'550'144);
}

TEST(Vision, BlocksHoldWhatIsCounted) {
  for (const char* name : {"internvl2-8b", "internvl-chat-v1.5", "llava-1.5-7b", "qwen2.5-vl-7b"}) {
    spec::Job job = small_job();
    job.model = catalog_model(name);
    job.training.vocab_multiple = 1;
    const Workload workload = lower(job);
    double held = 0;
    for (const int index : all_blocks(workload)) held += block_at(workload, index).parameters.dense;
    EXPECT_EQ(held, static_cast<double>(count_parameters(job.model).total)) << name;
  }
}

TEST(Vision, FlopsOfATileByHand) {
  spec::Job job = small_job();
  const spec::Job blind = [&] {
    spec::Job copy = job;
    copy.model.vision = nullptr;
    return copy;
  }();
  // A tile: 16 patches x 588 x 64 without an input's gradient; two layers of 17 tokens x (4 x 64^2
  // + 2 x 64 x 256) and 17^2 pairs x 2 x 64; 4 tokens x (256 x 128 + 128 x 128).
  const double patches = 2.0 * 2 * 16 * 588 * 64;
  const double layers = 3.0 * 2 * 2 * (17 * (4 * 64 * 64 + 2 * 64 * 256) + 17 * 17 * 2 * 64);
  const double projector = 3.0 * 2 * 4 * (256 * 128 + 128 * 128);
  const double tiles = 6.0 * static_cast<double>(job.training.global_batch);
  EXPECT_EQ(model_flops_per_step(job).value() - model_flops_per_step(blind).value(),
            tiles * (patches + layers + projector));
}

TEST(Vision, FlopsAreThoseOfTheOperators) {
  for (const auto& frozen : std::vector<std::vector<std::string>>{{},
                                                                  {"vision"},
                                                                  {"projector"},
                                                                  {"language"},
                                                                  {"vision", "language"},
                                                                  {"vision", "projector"}}) {
    spec::Job job = small_job();
    job.training.freeze = frozen;
    EXPECT_EQ(model_flops_of_operators(job), model_flops_per_step(job).value());
    job.parallelism.tp = 2;
    job.parallelism.sequence_parallel = true;
    EXPECT_EQ(model_flops_of_operators(job), model_flops_per_step(job).value());
  }
  spec::Job windows = small_job();
  windows.model = catalog_model("qwen2.5-vl-7b");
  windows.training.tiles_per_image = 1;
  EXPECT_EQ(model_flops_of_operators(windows), model_flops_per_step(windows).value());
}

TEST(Vision, AFrozenTowerHasNoBackward) {
  spec::Job job = small_job();
  job.training.freeze = {"vision"};
  const Workload workload = lower(job);
  for (const int index : {workload.patch_block, workload.layer_blocks.front()}) {
    const Block& block = block_at(workload, index);
    EXPECT_TRUE(block.backward.empty());
    EXPECT_EQ(block.parameters.trainable_dense, 0);
    EXPECT_EQ(block.activations.kept, 0);
  }
  EXPECT_FALSE(block_at(workload, workload.projector_block).backward.empty());
}

TEST(Vision, AFrozenDecoderPassesGradientsOn) {
  spec::Job job = small_job();
  job.training.freeze = {"vision", "language"};
  const Workload workload = lower(job);
  const Block& layer = block_at(workload, workload.layer_blocks.back());
  EXPECT_FALSE(layer.backward.empty());
  EXPECT_EQ(layer.parameters.trainable_dense, 0);
  for (const Item& item : layer.backward)
    if (item.kind == Item::Kind::kOperator) {
      EXPECT_NE(op_of(workload, item).pass, Pass::kWeight);
    }
}

TEST(Vision, AWindowIsASequenceOfItsOwn) {
  spec::Job job = small_job();
  job.model = catalog_model("qwen2.5-vl-7b");
  job.training.tiles_per_image = 1;
  const spec::Job tower = tower_job(job);
  const Shapes shapes = tower_shapes(tower, shapes_of(job), {.window = 64});
  // Two images of 1024 patches: 32 windows.
  EXPECT_EQ(shapes.batch, 32);
  EXPECT_EQ(shapes.key_length, 64);
  EXPECT_FALSE(shapes.causal);
}

}  // namespace
}  // namespace ergometer::workload
