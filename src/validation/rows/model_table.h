#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/csv.h"

namespace ergometer::validation {

/// A table under catalog/tables/, by name ("models").
const base::CsvTable& catalog_table(std::string_view name);

/// What a model's key ("llama3.1405b", validation/rows/names.h) stands for.
struct FoundModel {
  std::string text;   ///< for the setting `model`: a catalog name, or a config.json made of a row
  std::string where;  ///< "catalog/models/llama3.1-405b.json", "model table: llama-33b (...)"
  bool in_catalog = false;
};
/// The first spelling that the catalog knows, else the first that the model table knows.
std::optional<FoundModel> find_model(const std::string& key);

/// Sizes of a decoder; 0: not given.
struct ModelSizes {
  int64_t layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
  int64_t experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0, first_dense = 0;
  int64_t positions = 0;
};
/// A config.json of a GPT (learned positions, GELU, 4 h, tied embeddings) or of a Llama (rotary
/// positions, SwiGLU, RMS norm, own output head) of the given sizes, inline for the setting
/// `model`.
std::string gpt_config(const ModelSizes& sizes);
std::string llama_config(const ModelSizes& sizes, bool tied_embeddings, bool qk_norm,
                         bool qkv_bias);

}  // namespace ergometer::validation
