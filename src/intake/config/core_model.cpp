#include "intake/config/core_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/model/layer_pattern.h"
#include "spec/model/model_names.h"
#include "spec/model/tokenizers.h"

namespace ergometer::intake {
namespace {

/// Names in Megatron-Core's configuration and in an inline Megatron model.
struct CoreName {
  std::string_view core, ours;
};
constexpr std::array kCoreSizes = std::to_array<CoreName>({
    {"num_layers", "num_layers"},
    {"hidden_size", "hidden_size"},
    {"ffn_hidden_size", "ffn_hidden_size"},
    {"num_attention_heads", "num_attention_heads"},
    {"num_query_groups", "num_query_groups"},
    {"kv_channels", "kv_channels"},
    {"num_moe_experts", "num_experts"},
    {"moe_router_topk", "moe_router_topk"},
    {"moe_ffn_hidden_size", "moe_ffn_hidden_size"},
    {"moe_shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
    {"q_lora_rank", "q_lora_rank"},
    {"kv_lora_rank", "kv_lora_rank"},
    {"qk_head_dim", "qk_head_dim"},
    {"qk_pos_emb_head_dim", "qk_pos_emb_head_dim"},
    {"v_head_dim", "v_head_dim"},
    {"mtp_num_layers", "mtp_num_layers"},
});
constexpr std::array kCoreFlags = std::to_array<CoreName>({
    {"add_bias_linear", "add_bias_linear"},
    {"add_qkv_bias", "add_qkv_bias"},
    {"qk_layernorm", "qk_layernorm"},
    {"multi_latent_attention", "multi_latent_attention"},
    {"moe_shared_expert_gate", "moe_shared_expert_gate"},
    {"moe_router_enable_expert_bias", "moe_router_enable_expert_bias"},
});

/// Classes whose name is not an alias in the catalog.
struct ClassName {
  std::string_view name, model;
};
constexpr std::array kClasses = std::to_array<ClassName>({
    {"Llama2Config7B", "llama2-7b"},
    {"Llama2Config13B", "llama2-13b"},
    {"Llama2Config70B", "llama2-70b"},
    {"Llama3Config8B", "llama3-8b"},
    {"Llama3Config70B", "llama3-70b"},
    {"Llama31Config8B", "llama3.1-8b"},
    {"Llama31Config70B", "llama3.1-70b"},
    {"Llama31Config405B", "llama3.1-405b"},
    {"Llama32Config1B", "llama3.2-1b"},
    {"Llama32Config3B", "llama3.2-3b"},
    {"MistralConfig7B", "mistral-7b"},
    {"MixtralConfig8x7B", "mixtral-8x7b"},
    {"MixtralConfig8x22B", "mixtral-8x22b"},
    {"DeepSeekV3Config", "deepseek-v3"},
    {"DeepSeekV2Config", "deepseek-v2"},
    {"DeepSeekV2LiteConfig", "deepseek-v2-lite"},
    {"Nemotron4Config15B", "nemotron-4-15b"},
    {"Nemotron4Config340B", "nemotron-4-340b"},
    {"Gemma2Config9B", "gemma2-9b"},
    {"Gemma2Config27B", "gemma2-27b"},
    {"Gemma3Config27B", "gemma3-27b"},
    {"GPTConfig175B", "gpt3-175b"},
    {"Qwen2Config7B", "qwen2.5-7b"},
    {"Qwen25Config7B", "qwen2.5-7b"},
    {"Qwen25Config14B", "qwen2.5-14b"},
    {"Qwen25Config32B", "qwen2.5-32b"},
    {"Qwen2Config72B", "qwen2.5-72b"},
    {"Qwen25Config72B", "qwen2.5-72b"},
    {"Qwen3Config8B", "qwen3-8b"},
    {"Qwen3Config14B", "qwen3-14b"},
    {"Qwen3Config32B", "qwen3-32b"},
    {"Qwen3MoEConfig30B_A3B", "qwen3-30b-a3b"},
    {"Qwen3MoEConfig235B_A22B", "qwen3-235b-a22b"},
    {"Phi3ConfigMini", "phi-3-mini"},
});

/// "nemo.collections.llm.gpt.model.llama.Llama3Config8B" is llama3-8b; null if nobody knows.
const spec::CatalogEntry* model_of_class(std::string_view target) {
  std::string name(base::last_part(target, '.'));
  if (const size_t at = name.find("ModelProvider"); at != name.npos)
    name.replace(at, std::string_view("ModelProvider").size(), "Config");
  for (const ClassName& it : kClasses)
    if (it.name == name) return spec::find_in_catalog(spec::CatalogKind::kModel, it.model);
  return spec::find_in_catalog(spec::CatalogKind::kModel, name);
}

class CoreModelReader {
 public:
  CoreModelReader(FlatReader& read, std::string section, std::string tokenizer)
      : read_(read), section_(std::move(section)), tokenizer_(std::move(tokenizer)) {}

  void read() {
    const std::string target = read_.text(section_ + "_target_");
    const spec::CatalogEntry* known = target.empty() ? nullptr : model_of_class(target);
    const nlohmann::json sizes = read_sizes(known);
    if (read_.error()) return;
    if (known != nullptr && agrees(*known, sizes)) {
      read_.set("model", known->name, section_ + "_target_");
      if (sizes.contains("num_layers"))
        read_.set_count("num_layers", sizes["num_layers"].get<int64_t>(), section_ + "num_layers");
      return;
    }
    if (!sizes.contains("num_layers") && !sizes.contains("hidden_size")) {
      if (known == nullptr || !sizes.contains("window_size")) return unknown(target);
      return read_.refuse(
          section_ + "window_size",
          fmt::format("that of {}, or another one beside all sizes of the model", known->name));
    }
    inline_model(sizes, known, target);
  }

 private:
  nlohmann::json read_sizes(const spec::CatalogEntry* known) {
    nlohmann::json sizes = nlohmann::json::object();
    for (const CoreName& it : kCoreSizes)
      if (const auto number = read_.integer(section_ + std::string(it.core), 0);
          number && *number > 0)
        sizes[it.ours] = *number;
    for (const CoreName& it : kCoreFlags)
      if (const auto flag = read_.said_flag(section_ + std::string(it.core)))
        sizes[it.ours] = *flag;
    read_window(known, sizes);
    for (const char* key :
         {"normalization", "position_embedding_type", "gated_linear_unit", "activation_func",
          "activation_func._target_", "hidden_dropout", "share_embeddings_and_output_weights",
          "vocab_size", "moe_layer_freq", "group_query_attention", "softmax_type"})
      read_.find(section_ + key);
    for (const char* key : {"vocab_size", "type", "model", "library", "tokenizer_type",
                            "tokenizer_model", "_target_", "pretrained_model_name"})
      read_.find(tokenizer_ + key);
    return sizes;
  }

  /// Some layers may have none: a number, every how many, or a list. Gemma 3's classes say the
  /// window's length alone.
  void read_window(const spec::CatalogEntry* known, nlohmann::json& sizes) {
    const std::string key = section_ + "window_size", skips = section_ + "window_attn_skip_freq";
    const std::string said = read_.text(key);
    auto window = spec::parse_attention_window(said);
    const auto length = base::parse_integer(said);
    if (known != nullptr && known->name.starts_with("gemma3") && length && *length > 0)
      window = *length;
    if (!said.empty() && !window) read_.refuse(key, "two whole numbers such as [128, 0]");
    if (window) sizes["window_size"] = *window;
    add_frequency(skips, "window_attn_skip_freq", sizes);
  }

  /// A number, or a list.
  void add_frequency(const std::string& key, const char* name, nlohmann::json& model) {
    const std::string said = read_.text(key);
    if (const auto every = base::parse_integer(said))
      model[name] = *every;
    else if (!said.empty())
      model[name] = said;
  }

  /// Of the catalog's model, which may have them in some layers. NeMo's classes give the window's
  /// own length as the tokens before.
  static bool has_window(const spec::Model& model, int64_t window) {
    return std::ranges::any_of(model.layers, [&](const spec::Layer& layer) {
      return layer.window == window || (layer.window > 0 && layer.window + 1 == window);
    });
  }

  static bool agrees(const spec::CatalogEntry& entry, const nlohmann::json& sizes) {
    const auto model = spec::read_model(entry.name);
    if (!model) return false;
    const auto same = [&](const char* name, int64_t value) {
      return !sizes.contains(name) || sizes[name].get<int64_t>() == value;
    };
    const bool dense = model->experts.count == 0;
    return same("hidden_size", model->hidden) && same("num_attention_heads", model->heads) &&
           same("num_query_groups", model->kv_heads) && same("num_experts", model->experts.count) &&
           (!dense || same("ffn_hidden_size", model->ffn)) &&
           (!sizes.contains("window_size") ||
            has_window(*model, sizes["window_size"].get<int64_t>()));
  }

  void unknown(const std::string& target) {
    if (!target.empty())
      read_.note("its model {} is not in the catalog; --model says which one is meant",
                 base::last_part(target, '.'));
  }

  void inline_model(nlohmann::json model, const spec::CatalogEntry* known,
                    const std::string& target) {
    for (const char* name : {"num_layers", "hidden_size", "num_attention_heads"})
      if (!model.contains(name))
        return read_.fail(
            {base::ErrorKind::kInput,
             fmt::format("{}: {}{} is missing, but other sizes of the model are given",
                         read_.file(), section_, name)});
    model["model_type"] = "megatron";
    if (!target.empty()) model["_name_or_path"] = base::last_part(target, '.');
    if (!model.contains("num_query_groups"))
      model["num_query_groups"] = model["num_attention_heads"];
    model["group_query_attention"] = true;
    add_flavour(model);
    if (!add_vocabulary(model, known)) return;
    read_.set("model", base::json_line(model), section_ + "num_layers");
  }

  void add_flavour(nlohmann::json& model) {
    const std::string activation = base::lower(read_.text(
        section_ + "activation_func", read_.text(section_ + "activation_func._target_")));
    const bool gated = read_.flag(section_ + "gated_linear_unit", activation.ends_with("silu"));
    if (gated) model["swiglu"] = true;
    if (!activation.empty())
      model["hidden_act"] = activation.ends_with("silu")           ? "silu"
                            : activation.ends_with("squared_relu") ? "relu2"
                            : activation.ends_with("relu")         ? "relu"
                                                                   : "gelu";
    const std::string norm = read_.text(section_ + "normalization");
    if (!norm.empty()) model["normalization"] = norm;
    if (const std::string softmax = read_.text(section_ + "softmax_type"); !softmax.empty())
      model["softmax_type"] = softmax;
    const std::string positions = read_.text(section_ + "position_embedding_type");
    if (!positions.empty()) model["position_embedding_type"] = positions;
    if (const auto shared = read_.said_flag(section_ + "share_embeddings_and_output_weights"))
      model["untie_embeddings_and_output_weights"] = !*shared;
    if (const auto dropout = base::parse_number(read_.text(section_ + "hidden_dropout")))
      model["hidden_dropout"] = *dropout;
    add_frequency(section_ + "moe_layer_freq", "moe_layer_freq", model);
  }

  bool add_vocabulary(nlohmann::json& model, const spec::CatalogEntry* known) {
    const auto of_model = read_.integer(section_ + "vocab_size", 1),
               of_tokenizer = read_.integer(tokenizer_ + "vocab_size", 1);
    if (of_model || of_tokenizer) {
      // The null tokenizer adds the word that ends a document, to those of a model that has none of
      // its own.
      const bool adds =
          known == nullptr && read_.text(tokenizer_ + "tokenizer_type") == "NullTokenizer";
      model["vocab_size"] = of_model ? *of_model : *of_tokenizer + (adds ? 1 : 0);
      return true;
    }
    int64_t size = 0;
    for (const char* key :
         {"type", "model", "tokenizer_type", "tokenizer_model", "pretrained_model_name"})
      if (const std::string name = read_.text(tokenizer_ + key); size == 0 && !name.empty())
        size = spec::tokenizer_vocabulary(name);
    if (size == 0 && known != nullptr)
      if (const auto same = spec::read_model(known->name)) size = same->vocab;
    if (size == 0) {
      read_.fail({base::ErrorKind::kInput,
                  fmt::format("{}: {}vocab_size is missing, and the tokenizer's is not known",
                              read_.file(), section_)});
      return false;
    }
    model["vocab_size"] = size;
    return true;
  }

  FlatReader& read_;
  std::string section_, tokenizer_;
};

}  // namespace

void read_core_model(FlatReader& read, const std::string& section, const std::string& tokenizer) {
  CoreModelReader(read, section, tokenizer).read();
}

}  // namespace ergometer::intake
