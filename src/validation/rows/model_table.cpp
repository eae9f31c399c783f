#include "validation/rows/model_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/model/model_spellings.h"

namespace ergometer::validation {
namespace {

using Json = nlohmann::json;

/// What the sizes alone do not tell about a family of the model table.
struct Family {
  std::string_view key;   ///< a squashed name begins with it
  std::string_view type;  ///< config.json's model_type
  int64_t vocab;          ///< where the table leaves it blank
};
constexpr std::array kFamilies = std::to_array<Family>({
    {"qwen3next", "", 0},
    {"qwen3", "qwen3", 151936},
    {"qwen2", "qwen2", 151936},
    {"gemma2", "gemma2", 256000},
    {"gemma3", "gemma3_text", 262144},
    {"gemma", "gemma", 256000},
    {"codegemma", "gemma", 256000},
    {"codellama", "llama", 32016},
    {"llama2", "llama", 32000},
    {"llama4", "", 0},
    {"llama3", "llama", 128256},
    {"llama", "llama", 32000},
    {"aquila", "llama", 100008},
    {"baichuan", "llama", 125696},
    {"chatglm", "llama", 65024},
    {"mistralnemo", "mistral", 131072},
    {"mistral", "mistral", 32768},
    {"mixtral", "mixtral", 32000},
    {"nemotronh", "", 0},
    {"nemotron", "nemotron", 256000},
    {"starcoder2", "starcoder2", 49152},
    {"starcoder", "megatron", 49152},
    {"phi3", "phi3", 32064},
    {"gptoss", "gpt_oss", 201088},
    {"gpt", "megatron", 50257},
    {"megatron", "megatron", 51200},
    {"mpt", "mpt", 50368},
    {"ling", "llama", 157184},
    {"moe", "llama", 163840},
});

const Family* family_of(const std::string& key) {
  const auto it = std::ranges::find_if(
      kFamilies, [&](const Family& family) { return key.starts_with(family.key); });
  return it == kFamilies.end() || it->type.empty() ? nullptr : &*it;
}

void set_size(Json& config, const char* key, int64_t value) {
  if (value > 0) config[key] = value;
}

int64_t size_cell(const base::CsvTable& table, size_t row, std::string_view column) {
  const auto number = base::parse_integer(table.cell(row, column));
  return number && *number > 0 ? *number : 0;
}

ModelSizes sizes_of(const base::CsvTable& table, size_t row) {
  const auto size = [&](std::string_view column) { return size_cell(table, row, column); };
  return {size("layers"),
          size("hidden"),
          size("ffn"),
          size("heads"),
          size("kv_heads"),
          size("head_dim"),
          size("vocab"),
          size("experts"),
          size("topk"),
          size("moe_ffn"),
          size("shared_expert_ffn"),
          size("first_dense_layers"),
          0};
}

void set_sizes(Json& config, const ModelSizes& s) {
  set_size(config, "num_hidden_layers", s.layers);
  set_size(config, "hidden_size", s.hidden);
  set_size(config, "intermediate_size", s.ffn);
  set_size(config, "num_attention_heads", s.heads);
  set_size(config, "num_key_value_heads", s.kv_heads);
  set_size(config, "head_dim", s.head_dim);
  set_size(config, "vocab_size", s.vocab);
  set_size(config, "max_position_embeddings", s.positions);
}

/// Megatron's words for a mixture: layers before `first_dense` are dense.
void set_experts(Json& config, const ModelSizes& s) {
  if (s.experts == 0) return;
  config["num_experts"] = s.experts;
  config["num_experts_per_tok"] = std::max<int64_t>(s.top_k, 1);
  set_size(config, "moe_intermediate_size", s.expert_ffn);
  set_size(config, "moe_shared_expert_intermediate_size", s.shared_ffn);
  if (s.first_dense > 0 && s.first_dense < s.layers)
    config["moe_layer_freq"] =
        fmt::format("([0]*{}+[1]*{})", s.first_dense, s.layers - s.first_dense);
}

/// DeepSeek's latent attention, which the table has no columns for: the ranks of V2, V2-Lite and
/// V3, which all have the same head dimensions.
void set_latent(Json& config, const ModelSizes& s) {
  config["multi_latent_attention"] = true;
  config["q_lora_rank"] = s.hidden >= 5120 ? 1536 : 0;
  config["kv_lora_rank"] = 512;
  config["qk_head_dim"] = 128;
  config["qk_pos_emb_head_dim"] = 64;
  config["v_head_dim"] = 128;
}

std::string config_of(const base::CsvTable& table, size_t row, const std::string& key) {
  ModelSizes sizes = sizes_of(table, row);
  if (sizes.layers == 0 || sizes.hidden == 0 || sizes.heads == 0) return "";
  if (sizes.ffn == 0) sizes.ffn = 4 * sizes.hidden;
  const Family* family = family_of(key);
  const bool latent = table.cell(row, "attention") == "mla";
  if (family == nullptr && !latent) return "";
  if (!latent && sizes.vocab == 0) sizes.vocab = family->vocab;
  sizes.positions = 131072;
  if (latent) {
    Json config = Json::parse(llama_config(sizes, false, false, false), nullptr, false);
    set_latent(config, sizes);
    return config.dump();
  }
  if (family->type == "megatron") return gpt_config(sizes);
  if (family->type == "llama" && sizes.experts > 0) return llama_config(sizes, false, false, false);
  Json config;
  config["model_type"] =
      family->type == "qwen3" && sizes.experts > 0 ? "qwen3_moe" : std::string(family->type);
  set_sizes(config, sizes);
  if (family->type == "mpt") {
    config = Json{{"model_type", "mpt"},
                  {"n_layers", sizes.layers},
                  {"d_model", sizes.hidden},
                  {"n_heads", sizes.heads},
                  {"vocab_size", sizes.vocab},
                  {"max_seq_len", 2048},
                  {"expansion_ratio", sizes.ffn / sizes.hidden},
                  {"no_bias", true},
                  {"attn_config", {{"alibi", true}}}};
  } else if (family->type == "mixtral") {
    config["num_local_experts"] = sizes.experts;
    config["num_experts_per_tok"] = sizes.top_k;
  } else if (sizes.experts > 0) {
    config["num_experts"] = sizes.experts;
    config["num_experts_per_tok"] = sizes.top_k;
    set_size(config, "moe_intermediate_size", sizes.expert_ffn);
  }
  return config.dump();
}

/// Rows of the model table, by the key of their name.
const std::map<std::string, size_t>& table_keys() {
  static const std::map<std::string, size_t> keys = [] {
    std::map<std::string, size_t> result;
    const base::CsvTable& table = catalog_table("models");
    for (size_t row = 0; row < table.rows.size(); ++row) {
      std::string name(table.cell(row, "model"));
      if (const size_t at = name.find("Config"); at != name.npos) name.erase(at, 6);
      for (const std::string& spelling : spec::model_spellings(base::squashed(name)))
        result.emplace(spelling, row);
    }
    return result;
  }();
  return keys;
}

}  // namespace

const base::CsvTable& catalog_table(std::string_view name) {
  static const std::map<std::string, base::CsvTable, std::less<>> tables = [] {
    std::map<std::string, base::CsvTable, std::less<>> result;
    for (const spec::CatalogEntry& entry : spec::catalog()) {
      if (entry.kind != spec::CatalogKind::kTable) continue;
      auto table = base::parse_csv(entry.text, std::string(entry.path));
      ERGOMETER_CHECK(table.has_value(), table ? "" : table.error().message);
      result.emplace(entry.name, *std::move(table));
    }
    return result;
  }();
  const auto it = tables.find(name);
  ERGOMETER_CHECK(it != tables.end(), "a table that the catalog does not hold");
  return it->second;
}

std::optional<FoundModel> find_model(const std::string& key) {
  const std::vector<std::string> candidates = spec::model_spellings(key);
  for (const std::string& spelling : candidates)
    if (const spec::CatalogEntry* entry = spec::find_squashed_model(spelling))
      return FoundModel{entry->name, fmt::format("catalog model {}", entry->name), true};
  for (const std::string& spelling : candidates) {
    const auto it = table_keys().find(spelling);
    if (it == table_keys().end()) continue;
    const base::CsvTable& table = catalog_table("models");
    std::string config = config_of(table, it->second, spelling);
    if (config.empty()) continue;
    return FoundModel{std::move(config),
                      fmt::format("model table: {} ({})", table.cell(it->second, "model"),
                                  table.cell(it->second, "source")),
                      false};
  }
  return std::nullopt;
}

std::string gpt_config(const ModelSizes& sizes) {
  Json config{{"model_type", "megatron"}};
  set_sizes(config, sizes);
  if (sizes.kv_heads > 0 && sizes.kv_heads < sizes.heads) config["group_query_attention"] = true;
  set_experts(config, sizes);
  return config.dump();
}

std::string llama_config(const ModelSizes& sizes, bool tied_embeddings, bool qk_norm,
                         bool qkv_bias) {
  Json config{{"model_type", "megatron"},
              {"swiglu", true},
              {"normalization", "RMSNorm"},
              {"position_embedding_type", "rope"},
              {"add_bias_linear", false},
              {"hidden_dropout", 0.0},
              {"untie_embeddings_and_output_weights", !tied_embeddings}};
  set_sizes(config, sizes);
  if (sizes.kv_heads > 0 && sizes.kv_heads < sizes.heads) config["group_query_attention"] = true;
  if (qk_norm) config["qk_layernorm"] = true;
  if (qkv_bias) config["add_qkv_bias"] = true;
  set_experts(config, sizes);
  return config.dump();
}

}  // namespace ergometer::validation
