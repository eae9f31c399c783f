#include <gtest/gtest.h>

#include <numeric>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

Result<Job> vision_job(const char* model, const test::Values& values) {
  return resolve(test::settings_of({{"model", model}, {"cluster", "hgx-h100"}}, values));
}

std::string refused(const char* model, const test::Values& values) {
  return base::error_of(vision_job(model, values));
}

TEST(ResolveVision, TokensFollowFromTiles) {
  const auto job = vision_job("internvl2-8b", {{"gpus", "8"}, {"tiles_per_image", "4"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->training.images_per_sample, 1);
  EXPECT_EQ(job->training.tokens_per_image, 4 * 256);
  EXPECT_EQ(job->micro_batch_tiles(), 4);
}

TEST(ResolveVision, ImagesOfAnySize) {
  const auto job = vision_job("qwen2.5-vl-7b", {{"gpus", "8"}, {"image_tokens", "1000"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.vision->tile_tokens, 4000);
  EXPECT_EQ(job->training.tiles_per_image, 1);
}

TEST(ResolveVision, AdaptersAreTheDecoders) {
  const auto job = vision_job("internvl2-8b", {{"gpus", "8"}, {"lora", "16"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->training.freeze, (std::vector<std::string>{"vision", "projector"}));
}

TEST(ResolveVision, SamplesHaveTilesOfTheirImages) {
  const auto job = vision_job("internvl2-8b", {{"gpus", "8"},
                                               {"tiles_per_image", "3"},
                                               {"samples", "counts:2/500,0/9000"},
                                               {"seq", "4096"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->training.sequence_lengths.samples,
            (std::vector<SampleSize>{{0, 4096}, {6, 500 + 6 * 256}}));
  EXPECT_EQ(job->training.sequence_batching, SequenceBatching::kPadded);
}

// An image of 3 x 256 = 768 tokens: 2000 hold two, 700 none.
TEST(ResolveVision, ImagesThatDoNotFitWholeAreLeftOut) {
  const auto job = vision_job(
      "internvl2-8b",
      {{"gpus", "8"}, {"tiles_per_image", "3"}, {"samples", "counts:6/1,1/3000"}, {"seq", "2000"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->training.sequence_lengths.samples,
            (std::vector<SampleSize>{{3, 2000}, {6, 1 + 6 * 256}}));
  EXPECT_EQ(
      refused("internvl2-8b", {{"gpus", "8"},
                               {"tiles_per_image", "3"},
                               {"samples", "counts:2/500"},
                               {"seq_length", "700"}}),
      "--samples counts:2/500: an image of 768 tokens is more than --seq_length 700; try --seq "
      "768");
}

// A tower of 45 layers of 3200 and a decoder of 48 of 6144: 13 tiles of 1025 tokens are more work
// than 4096 tokens, so more of the eight stages are the tower's than without images.
TEST(ResolveVision, StagesAreDividedByProducts) {
  const auto layers = [](const char* tiles) {
    const auto job =
        vision_job("internvl-chat-v1.5",
                   {{"gpus", "8"}, {"pp", "8"}, {"gbs", "8"}, {"tiles_per_image", tiles}});
    EXPECT_TRUE(job) << job.error().message;
    return job ? job->parallelism.stage_layers : std::vector<int64_t>{};
  };
  for (const char* tiles : {"1", "13"}) {
    const std::vector<int64_t> parts = layers(tiles);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), 93);
  }
  EXPECT_GT(layers("1").front(), 45);  // all of the tower, and layers behind it
  EXPECT_LT(layers("13").front(), 20);
}

// 128 experts and 16 copies are six on each of 24 ranks, and the experts alone are not.
TEST(ResolveVision, ExpertsAreDivided) {
  const char* model =
      R"({"model_type": "internvl_chat", "downsample_ratio": 0.5, "force_image_size": 448,
          "llm_config": {"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 4,
            "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
            "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
            "num_experts_per_tok": 8, "vocab_size": 151936},
          "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 1024, "image_size": 448,
            "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
            "patch_size": 14}})";
  const auto with = [&](const char* gpus, const char* copies) {
    return vision_job(model, {{"gpus", gpus},
                              {"ep", gpus},
                              {"gbs", gpus},
                              {"tiles_per_image", "1"},
                              {"moe_redundant_experts", copies}});
  };
  EXPECT_TRUE(with("8", "8"));
  EXPECT_NE(base::error_of(with("24", "16")).find("not modelled together with a vision tower"),
            std::string::npos);
}

TEST(ResolveVision, SaysWhatIsWrong) {
  EXPECT_EQ(refused("llama3-8b", {{"gpus", "8"}, {"freeze", "vision"}}),
            "--freeze vision needs a model with a vision tower; llama3-8b has none");
  EXPECT_EQ(refused("internvl2-8b", {{"gpus", "8"}, {"image_tokens", "64"}}),
            "--image_tokens 64: internvl2-8b cuts images into tiles of 256 tokens; allowed: "
            "--tiles-per-image");
  EXPECT_EQ(
      refused("internvl2-8b", {{"gpus", "8"}, {"images_per_sample", "2"}}),
      "--images_per_sample 2: images of 6656 tokens are more than seq_length = 4096; try fewer, "
      "or --seq 6656");
  EXPECT_EQ(refused("internvl-chat-v1.5", {{"gpus", "8"}, {"tp", "2"}}),
            "--tp 2 does not divide the vision tower's 25 attention heads; try 1");
  EXPECT_EQ(refused("internvl2-8b", {{"gpus", "8"}, {"freeze", "vision,projector,language"}}),
            "--freeze vision,projector,language leaves nothing to train");
  EXPECT_EQ(refused("internvl2-8b", {{"gpus", "8"}, {"sample_packing", "both"}}),
            "--sample_packing both needs --samples");
  EXPECT_EQ(refused("internvl2-8b", {{"gpus", "8"}, {"cp", "2"}}),
            "--cp 2: tiles are not divided over context-parallel ranks; allowed: 1");
  EXPECT_EQ(refused("internvl2-8b",
                    {{"gpus", "8"}, {"samples", "counts:1/5"}, {"images_per_sample", "1"}}),
            "--images_per_sample 1 contradicts --samples counts:1/5; leave one out");
}

}  // namespace
}  // namespace ergometer::spec
