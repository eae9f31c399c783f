#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

Model vision_model(std::string_view json) {
  return base::value_of(parse_model(json, "config.json"));
}

std::string vision_error(std::string_view json) {
  return base::error_of(parse_model(json, "config.json"));
}

TEST(VisionFamilies, InternVL) {
  const Model model = *read_model("internvl-chat-v1.5");
  ASSERT_NE(model.vision, nullptr);
  const Vision& vision = *model.vision;
  EXPECT_EQ(model.hidden, 6144);
  EXPECT_EQ(vision.tower.layer_count(), 45);
  EXPECT_EQ(vision.tile_tokens, 1025);
  EXPECT_EQ(vision.tokens(), 256);  // 32 x 32 patches, four to a token
  EXPECT_EQ(vision.tiles_per_image, 13);
  EXPECT_EQ(vision.projector_in, 12'800);
  EXPECT_EQ(model.pipeline_layers(), 45 + 48);
  EXPECT_TRUE(vision.tower.bidirectional);
}

TEST(VisionFamilies, InternVLOfTransformers) {
  const Model model = vision_model(R"({"model_type": "internvl", "downsample_ratio": 0.5,
    "text_config": {"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
                    "num_attention_heads": 14, "num_key_value_heads": 2},
    "vision_config": {"model_type": "internvl_vision", "hidden_size": 1024, "attention_bias": true,
                      "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
                      "image_size": [448, 448], "patch_size": [14, 14], "norm_type": "layer_norm"}})");
  EXPECT_EQ(model.vision->tile_tokens, 1025);
  EXPECT_EQ(model.vision->tower.hidden, 1024);
  EXPECT_TRUE(model.vision->tower.qkv_bias);
  EXPECT_EQ(model.hidden, 896);
}

TEST(VisionFamilies, LlavasDecoderHasItsClassesSizes) {
  const Model model = *read_model("llava-1.5-7b");
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.layer_count(), 32);
  EXPECT_EQ(model.vision->tokens(), 576);  // 24 x 24
  EXPECT_EQ(model.vision->tiles_per_image, 1);
  // A grid of two by two, and the image as a whole.
  EXPECT_EQ(read_model("llava-v1.6-mistral-7b")->vision->tiles_per_image, 5);
}

TEST(VisionFamilies, QwenVLTakesImagesWhole) {
  const Model model = *read_model("qwen2.5-vl-7b");
  const Vision& vision = *model.vision;
  EXPECT_TRUE(vision.any_size);
  EXPECT_EQ(vision.patch_values, 3 * 2 * 14 * 14);
  EXPECT_EQ(vision.tower.layers[0].window, 64);
  EXPECT_EQ(vision.tower.layers[7].window, 0);
  EXPECT_EQ(vision.projector_inner, 4 * 1280);
  const Model older = vision_model(R"({"model_type": "qwen2_vl", "hidden_size": 1536,
    "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2,
    "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "mlp_ratio": 4,
                      "num_heads": 16, "hidden_act": "quick_gelu"}})");
  EXPECT_EQ(older.vision->tower.hidden, 1280);
  EXPECT_EQ(older.vision->tower.ffn, 5120);
  EXPECT_EQ(older.vision->tower.layers[0].window, 0);
}

TEST(VisionFamilies, SayWhatIsWrong) {
  EXPECT_EQ(vision_error(R"({"model_type": "internvl_chat"})"),
            "config.json:1: llm_config: is missing; allowed: the decoder's sizes");
  EXPECT_EQ(vision_error(R"({"model_type": "llava", "vision_config": {"patch_size": 13},
    "text_config": {}})"),
            "config.json:1: vision_config.image_size: found 336; allowed: a multiple of patch_size "
            "= 13, up to 16384");
  EXPECT_EQ(vision_error(R"({"model_type": "llava", "vision_config": {},
    "text_config": {"model_type": "made_up"}})"),
            "config.json:2: text_config.model_type: found \"made_up\"; allowed: a family of text "
            "models");
}

}  // namespace
}  // namespace ergometer::spec
