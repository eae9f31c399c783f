// Models that see: a vision tower, a projector and a decoder of another family, nested in one file.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "spec/model/model_families.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kLargestSide = 16'384;  // pixels
constexpr int64_t kMostPlanes = 64;       // channels, or frames, of a patch

/// None of these is another one's decoder.
constexpr std::array<std::string_view, 7> kSeeing = {
    "gemma3", "internvl", "internvl_chat", "llava", "llava_next", "qwen2_5_vl", "qwen2_vl"};

/// What the configuration class of a tower says when the file does not.
struct TowerDefaults {
  int64_t hidden, layers, heads, ffn, image, patch;
};

/// A decoder whose family its own object names.
void read_decoder(ConfigReader* text, std::string_view fallback, Model& model) {
  if (text == nullptr) return;
  const std::string type = text->text("model_type", std::string(fallback));
  const auto family = std::ranges::find(model_families(), type, &ModelFamily::model_type);
  if (family == model_families().end() || base::contains(kSeeing, std::string_view(type)))
    return text->refuse("model_type", "found \"{}\"; allowed: a family of text models", type);
  family->read(*text, model);
  if (model.head_dim == 0 && model.heads > 0) model.head_dim = model.hidden / model.heads;
}

/// A side in pixels, where some files write height and width.
int64_t side(ConfigReader& config, std::string_view key, int64_t fallback) {
  const nlohmann::json* value = config.raw(key);
  if (value == nullptr || !value->is_array()) return config.size(key, fallback);
  const std::vector<int64_t> sides = config.counts(key);
  if (sides.size() == 2 && sides[0] == sides[1] && sides[0] > 0) return sides[0];
  if (!config.error())
    config.refuse(key, "found two unlike sides; allowed: one number, or the same twice");
  return fallback;
}

/// A size that no tower comes near the most of.
int64_t small(ConfigReader& config, const char* key, int64_t fallback, int64_t most) {
  const int64_t found = config.size(key, fallback);
  if (found <= most) return found;
  config.refuse(key, "found {}; allowed: up to {}", found, most);
  return fallback;
}

/// An encoder of LayerNorm blocks with biases and an ungated MLP.
void read_encoder(ConfigReader& config, const TowerDefaults& defaults, Model& tower) {
  tower.hidden = config.size("hidden_size", defaults.hidden);
  tower.embedding_dim = tower.hidden;
  tower.heads = tower.kv_heads = config.size("num_attention_heads", defaults.heads);
  tower.ffn = config.size("intermediate_size", defaults.ffn);
  const char* const depth = config.has("depth") ? "depth" : "num_hidden_layers";
  const int64_t layers = config.size(depth, defaults.layers);
  if (layers > kMostLayers)
    config.refuse(depth, "found {}; allowed: up to {}", layers, kMostLayers);
  else
    tower.layers.resize(static_cast<size_t>(layers));
  if (tower.hidden % tower.heads != 0)
    config.refuse("num_attention_heads", "found {}; allowed: a divisor of {}", tower.heads,
                  tower.hidden);
  tower.head_dim = tower.hidden / tower.heads;
  set_biased_gpt(tower);
  read_activation(config, "gelu", tower);
  tower.bidirectional = true;
  tower.dropout = config.real("hidden_dropout", 0, 0, 1);
  tower.final_norm = false;
}

/// Patches of square tiles of one size, at learned positions.
void read_tiles(ConfigReader& config, const TowerDefaults& defaults, Vision& vision) {
  const int64_t image = side(config, "image_size", defaults.image);
  const int64_t patch = side(config, "patch_size", defaults.patch);
  if (image % patch != 0 || image > kLargestSide)
    return config.refuse("image_size", "found {}; allowed: a multiple of patch_size = {}, up to {}",
                         image, patch, kLargestSide);
  vision.class_token = true;
  vision.tile_tokens = (image / patch) * (image / patch) + 1;
  vision.patch_values = small(config, "num_channels", 3, kMostPlanes) * patch * patch;
  vision.tower.positions = PositionKind::kLearned;
  vision.tower.position_rows = vision.tile_tokens;
}

/// Two matrices behind so many patches, merged.
void set_projector(ConfigReader& config, std::string_view key, const Model& model, int64_t merged,
                   Vision& vision) {
  const int64_t patches = vision.tile_tokens - (vision.class_token ? 1 : 0);
  if (merged < 1 || patches % merged != 0)
    return config.refuse(key,
                         "makes one token of {} of a tile's {} patches; allowed: what divides them",
                         merged, patches);
  vision.merged = merged;
  vision.projector_in = merged * vision.tower.hidden;
  vision.projector_inner = model.hidden;
}

void read_intern_tower(ConfigReader& config, Vision& vision) {
  constexpr TowerDefaults kDefaults{3200, 48, 25, 12800, 448, 14};
  Model& tower = vision.tower;
  read_encoder(config, kDefaults, tower);
  read_tiles(config, kDefaults, vision);
  vision.patch_bias = true;
  const bool own = config.has("qkv_bias");
  tower.qkv_bias = own ? config.flag("qkv_bias", false) : config.flag("attention_bias", false);
  const bool wide =
      config.flag(config.has("qk_normalization") ? "qk_normalization" : "use_qk_norm", false);
  tower.qk_norm = tower.wide_qk_norm = wide;
  tower.layer_scale = true;
  if (config.text("norm_type", "rms_norm") != "rms_norm") return;
  tower.norm = NormKind::kRmsNorm;
  tower.norm_bias = false;
}

/// CLIP's: a norm before the layers and one behind them.
void read_clip_tower(ConfigReader& config, Vision& vision) {
  constexpr TowerDefaults kDefaults{1024, 24, 16, 4096, 336, 14};
  const std::string type = config.text("model_type", "clip_vision_model");
  if (type != "clip_vision_model")
    config.refuse("model_type", "found \"{}\"; allowed: clip_vision_model", type);
  config.raw("vocab_size");  // of the text model that CLIP was trained with
  read_encoder(config, kDefaults, vision.tower);
  read_tiles(config, kDefaults, vision);
  vision.tower.embedding_norm = vision.tower.final_norm = true;
}

void read_intern(ConfigReader& config, std::string_view text, Model& model) {
  ConfigReader* tower = config.child("vision_config");
  if (!config.has(text)) return config.refuse(text, "is missing; allowed: the decoder's sizes");
  read_decoder(config.child(text), "qwen2", model);
  model.tied_embeddings = config.flag("tie_word_embeddings", model.tied_embeddings);
  if (tower == nullptr)
    return config.refuse("vision_config", "is missing; allowed: the tower's sizes");
  Vision vision;
  read_intern_tower(*tower, vision);
  const double ratio = config.real("downsample_ratio", 0.5, 0.01, 1);
  set_projector(config, "downsample_ratio", model, std::llround(1 / (ratio * ratio)), vision);
  vision.norm_width = vision.projector_in;
  vision.norm_bias = true;
  const int64_t most = config.size("max_dynamic_patch", 12);
  if (config.flag("dynamic_image_size", true))
    vision.tiles_per_image = most + (most > 1 && config.flag("use_thumbnail", true) ? 1 : 0);
  model.vision = std::make_shared<const Vision>(std::move(vision));
}

/// Tiles of the largest grid that an image is cut by, and the image as a whole.
int64_t grid_tiles(ConfigReader& config, int64_t image) {
  const nlohmann::json* grids = config.raw("image_grid_pinpoints");
  int64_t most = 4;
  if (grids != nullptr && grids->is_array() && !grids->empty()) most = 1;
  if (grids != nullptr && grids->is_array())
    for (const nlohmann::json& grid : *grids)
      if (grid.is_array() && grid.size() == 2 && grid[0].is_number_integer() &&
          grid[1].is_number_integer())
        most = std::max(most, (grid[0].get<int64_t>() / image) * (grid[1].get<int64_t>() / image));
  return std::min<int64_t>(most, 4096) + 1;
}

/// \return the side of a tile.
int64_t read_clip_and_llama(ConfigReader& config, Model& model, Vision& vision) {
  ConfigReader* tower = config.child("vision_config");
  ConfigReader* text = config.child("text_config");
  if (tower == nullptr || text == nullptr) {
    config.refuse(tower == nullptr ? "vision_config" : "text_config",
                  "is missing; allowed: the sizes of the tower and of the decoder");
    return 1;
  }
  read_decoder(text, "llama", model);
  model.tied_embeddings = config.flag("tie_word_embeddings", model.tied_embeddings);
  read_clip_tower(*tower, vision);
  set_projector(config, "vision_config", model, 1, vision);
  return side(*tower, "image_size", 336);
}

void read_qwen_tower(ConfigReader& config, Vision& vision) {
  Model& tower = vision.tower;
  constexpr TowerDefaults kDefaults{1280, 32, 16, 5120, 448, 14};
  read_encoder(config, kDefaults, tower);
  const int64_t patch = small(config, "patch_size", kDefaults.patch, kDefaults.image / 2);
  const char* const channels = config.has("in_channels") ? "in_channels" : "in_chans";
  vision.patch_values = small(config, channels, 3, kMostPlanes) *
                        small(config, "temporal_patch_size", 2, kMostPlanes) * patch * patch;
  vision.any_size = true;
  vision.tile_tokens = (kDefaults.image / patch) * (kDefaults.image / patch);
  tower.positions = PositionKind::kRotary;
}

/// Norms as Llama's and a gated MLP; all layers but some attend inside windows.
void read_qwen25_tower(ConfigReader& config, Vision& vision) {
  read_qwen_tower(config, vision);
  Model& tower = vision.tower;
  read_activation(config, "silu", tower);
  tower.gated = true;
  tower.norm = NormKind::kRmsNorm;
  tower.norm_bias = false;
  const int64_t patches = config.size("window_size", 112) / config.size("patch_size", 14);
  const std::vector<int64_t> whole = config.counts("fullatt_block_indexes");
  for (size_t i = 0; i < tower.layers.size(); ++i)
    if (!base::contains(whole, static_cast<int64_t>(i))) tower.layers[i].window = patches * patches;
}

void read_qwen_vision(ConfigReader& config, Model& model,
                      void (*read_tower)(ConfigReader&, Vision&)) {
  ConfigReader* text = config.child("text_config");
  read_qwen2(text != nullptr ? *text : config, model);
  if (model.head_dim == 0 && model.heads > 0) model.head_dim = model.hidden / model.heads;
  ConfigReader* tower = config.child("vision_config");
  if (tower == nullptr)
    return config.refuse("vision_config", "is missing; allowed: the tower's sizes");
  Vision vision;
  read_tower(*tower, vision);
  const int64_t merge = tower->size("spatial_merge_size", 2);
  set_projector(*tower, "spatial_merge_size", model, merge * merge, vision);
  vision.projector_inner = vision.projector_in;
  vision.norm_width = vision.tower.hidden;
  vision.norm_bias = vision.tower.norm_bias;
  model.vision = std::make_shared<const Vision>(std::move(vision));
}

}  // namespace

void read_internlm2(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 11008, 103168, 2048}, model);
  model.qkv_bias = model.out_bias = config.flag("bias", false);
  model.qkv_matrix = QkvMatrix::kSliced;
}

void read_internvl_chat(ConfigReader& config, Model& model) {
  read_intern(config, "llm_config", model);
}

void read_internvl(ConfigReader& config, Model& model) {
  read_intern(config, "text_config", model);
}

void read_llava(ConfigReader& config, Model& model) {
  Vision vision;
  read_clip_and_llama(config, model, vision);
  model.vision = std::make_shared<const Vision>(std::move(vision));
}

void read_llava_next(ConfigReader& config, Model& model) {
  Vision vision;
  const int64_t image = read_clip_and_llama(config, model, vision);
  vision.tiles_per_image = grid_tiles(config, image);
  model.vision = std::make_shared<const Vision>(std::move(vision));
}

void read_qwen2_vl(ConfigReader& config, Model& model) {
  read_qwen_vision(config, model, [](ConfigReader& tower, Vision& vision) {
    read_qwen_tower(tower, vision);
    // Its `hidden_size` is the decoder's; the tower's own width has another name.
    Model& own = vision.tower;
    own.hidden = own.embedding_dim = tower.size("embed_dim", 1280);
    if (own.hidden % own.heads != 0)
      return tower.refuse("embed_dim", "found {}; allowed: a multiple of {} heads", own.hidden,
                          own.heads);
    own.head_dim = own.hidden / own.heads;
    own.ffn = std::llround(tower.real("mlp_ratio", 4, 0.1, 64) * static_cast<double>(own.hidden));
  });
}

void read_qwen2_5_vl(ConfigReader& config, Model& model) {
  read_qwen_vision(config, model, read_qwen25_tower);
}

}  // namespace ergometer::spec
