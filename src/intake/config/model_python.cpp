#include "intake/config/model_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/reader/python_changes.h"
#include "intake/reader/python_text.h"
#include "spec/catalog/read.h"
#include "spec/model/model_families.h"
#include "spec/model/model_names.h"
#include "spec/model/tokenizers.h"

namespace ergometer::intake {
namespace {

/// Keys of configurations that make another model: what is not known of them is refused.
constexpr std::array kSizeKeys = std::to_array<std::string_view>({"hidden_size",
                                                                  "intermediate_size",
                                                                  "num_hidden_layers",
                                                                  "num_attention_heads",
                                                                  "num_key_value_heads",
                                                                  "head_dim",
                                                                  "vocab_size",
                                                                  "max_position_embeddings",
                                                                  "n_embd",
                                                                  "n_layer",
                                                                  "n_head",
                                                                  "n_inner",
                                                                  "n_positions",
                                                                  "ffn_dim",
                                                                  "d_model",
                                                                  "n_heads",
                                                                  "n_layers",
                                                                  "num_layers",
                                                                  "num_heads",
                                                                  "num_experts",
                                                                  "num_local_experts",
                                                                  "num_experts_per_tok",
                                                                  "moe_intermediate_size",
                                                                  "shared_expert_intermediate_size",
                                                                  "n_routed_experts",
                                                                  "n_shared_experts",
                                                                  "first_k_dense_replace",
                                                                  "tie_word_embeddings",
                                                                  "hidden_act",
                                                                  "sliding_window",
                                                                  "kv_lora_rank",
                                                                  "q_lora_rank",
                                                                  "qk_nope_head_dim",
                                                                  "qk_rope_head_dim",
                                                                  "v_head_dim",
                                                                  "word_embed_proj_dim",
                                                                  "num_kv_heads",
                                                                  "new_decoder_architecture",
                                                                  "multi_query",
                                                                  "parallel_attn",
                                                                  "bias",
                                                                  "alibi",
                                                                  "expansion_ratio",
                                                                  "max_seq_len",
                                                                  "attn_config",
                                                                  "no_bias",
                                                                  "decoder_sparse_step",
                                                                  "mlp_only_layers",
                                                                  "attention_bias",
                                                                  "mlp_bias"});

/// Configuration classes of transformers whose defaults are a published model's sizes.
struct ClassDefaults {
  std::string_view model_type, model;
};
constexpr std::array kClassDefaults = std::to_array<ClassDefaults>({{"gpt2", "gpt2"},
                                                                    {"gpt_neox", "gpt-neox-20b"},
                                                                    {"llama", "llama-7b"},
                                                                    {"mistral", "mistral-7b"},
                                                                    {"mixtral", "mixtral-8x7b"},
                                                                    {"opt", "opt-125m"}});

/// "qwen2_moe" of "Qwen2MoeConfig"; empty: none that is known.
std::string_view family_of(std::string_view class_name) {
  constexpr std::string_view kEnding = "Config";
  if (!class_name.ends_with(kEnding)) return "";
  const std::string wanted = base::lower(class_name.substr(0, class_name.size() - kEnding.size()));
  for (const spec::ModelFamily& family : spec::model_families()) {
    std::string name(family.model_type);
    std::erase(name, '_');
    if (name == wanted) return family.model_type;
  }
  return "";
}

/// The config.json of a model's folder, or what is itself such a file, beside a file or here; empty
/// where there is none.
std::string config_of(const std::string& name, const std::string& file) {
  if (name.empty()) return "";
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code ignored;
  for (const std::filesystem::path& it :
       {folder / name / "config.json", std::filesystem::path(name) / "config.json"})
    if (std::filesystem::is_regular_file(it, ignored)) return it.string();
  return name.ends_with(".json") ? file_beside(name, file) : "";
}

/// The config.json that a name on a hub or a path stands for; nothing where there is none.
nlohmann::json published(const std::string& name, const std::string& file) {
  nlohmann::json config;
  if (const spec::CatalogEntry* entry = spec::find_hub_model(name)) {
    config = nlohmann::json::parse(entry->text, nullptr, false);
  } else {
    const std::string path = config_of(name, file);
    const auto found = spec::find_model_file(path.empty() ? name : path);
    const auto text = found ? base::read_file(*found, spec::kLargestWritten) : found;
    if (text) config = nlohmann::json::parse(*text, nullptr, false);
  }
  if (config.is_object()) config.erase("_ergometer");
  return config.is_object() ? config : nlohmann::json();
}

/// A configuration as it is made, and where.
struct MadeConfig {
  nlohmann::json json;
  size_t at = 0;
  bool is_own = false;  ///< not a published one as it is
};

class ModelReader : PythonReader {
 public:
  explicit ModelReader(PythonProgram& program) : PythonReader(program) {}

  Result<std::optional<spec::FlatValue>> read() {
    const std::vector<Call> all = makers();
    if (all.size() > kMostMakers)
      return input_error(
          "{}: found more than {} calls that make a model; allowed: as many as a script has that "
          "is written by hand",
          file_, kMostMakers);
    for (const auto& [at, open] : all) {
      const auto reached = values_.reached(at, true);
      if (reached && !*reached) continue;
      ERGOMETER_ASSIGN(const auto made, configuration_of(at, open));
      if (!made || !made->is_own) continue;
      const int line = line_at(text_, made->at);
      const std::string where = fmt::format("{}:{}", file_, line);
      if (!reached)
        return input_error(
            "{}: whether this configuration is the model's is known only when the script runs; "
            "give --model with its config.json",
            where);
      const std::string config = base::json_line(made->json);
      if (const auto model = spec::parse_model(config, "its configuration"); !model)
        return input_error("{}: {}", where, model.error().message);
      return std::optional(spec::FlatValue{config, line, where});
    }
    return std::optional<spec::FlatValue>();
  }

 private:
  using Call = std::pair<size_t, size_t>;  ///< where it begins, where its parenthesis opens

  static constexpr size_t kMostMakers = 100;

  /// Calls that make a model of a configuration, or may.
  std::vector<Call> makers() const {
    std::vector<Call> all;
    for (const char* ending : {"ForCausalLM(", "LMHeadModel("})
      for (size_t at = text_.find(ending); at != text_.npos; at = text_.find(ending, at + 1)) {
        const size_t open = at + std::string_view(ending).size() - 1;
        const size_t start = statements_.start(at);
        if (!text_.substr(start, at - start).starts_with("class ")) all.emplace_back(at, open);
      }
    for (const char* method : {"from_config", "_from_config", "from_pretrained"})
      for (const auto& [at, open] : calls_of(text_, method)) {
        const std::string owner = owner_of(at);
        const bool loads = owner.ends_with("LM") || base::contains(owner, "Model");
        if (loads) all.emplace_back(at, open);
      }
    std::ranges::sort(all);
    return all;
  }
  /// "AutoConfig" of `transformers.AutoConfig.from_pretrained`.
  std::string owner_of(size_t at) const {
    size_t end = at;
    if (end > 0 && text_[end - 1] == '.') --end;
    size_t begin = end;
    while (begin > 0 && is_word(text_[begin - 1])) --begin;
    return text_.substr(begin, end - begin);
  }

  Result<std::optional<MadeConfig>> configuration_of(size_t at, size_t open) {
    const bool loads = text_.compare(at, 15, "from_pretrained") == 0;
    const std::vector<PythonArgument> arguments = arguments_of_call(text_, open);
    std::string expression, name;
    for (const PythonArgument& it : arguments) {
      if (it.name == "config" || (it.name.empty() && !loads && expression.empty()))
        expression = it.value;
      if (loads && (it.name.empty() || it.name == "pretrained_model_name_or_path") && name.empty())
        name = it.value;
    }
    if (!expression.empty()) return made_by(expression, at);
    // from_pretrained("gpt2", n_layer=6): such words are the configuration's.
    const bool changes = std::ranges::any_of(
        arguments, [](const PythonArgument& it) { return base::contains(kSizeKeys, it.name); });
    if (!loads || !changes) return std::optional<MadeConfig>();
    return from_published(name, arguments, at);
  }

  /// What an expression makes, or what a name stands for with what becomes of it.
  Result<std::optional<MadeConfig>> made_by(const std::string& expression, size_t at) {
    if (const size_t open = expression.find('('); open != expression.npos)
      return called(expression, open, at);
    const std::vector<PythonBinding> all = bindings_of(expression, at);
    if (all.empty()) return std::optional<MadeConfig>();
    std::optional<MadeConfig> made;
    bool any_own = false;
    for (const PythonBinding& it : all) {
      made.reset();
      if (const size_t open = it.expression.find('('); open != std::string::npos) {
        ERGOMETER_ASSIGN(made, called(it.expression, open, it.at));
      }
      any_own = any_own || (made && made->is_own);
    }
    if (any_own && (all.size() > 1 || !values_.reached(all.back().at, true)))
      return unknown(expression, all.back().expression, all.back().at);
    if (!made) return made;
    for (const PythonChange& it : python_changes(values_, statements_, text_, expression, made->at))
      if (it.at < at) ERGOMETER_TRY(change(it, *made));
    return made;
  }
  /// What a name may stand for at a place, by its function or else the module: what surely was
  /// given to it last, and what perhaps was behind that.
  std::vector<PythonBinding> bindings_of(const std::string& name, size_t at) const {
    std::vector<PythonBinding> all;
    for (size_t scope = values_.names().scope(at); all.empty(); scope = PythonNames::kModule) {
      for (const PythonBinding& it : values_.names().bindings(name, scope)) {
        const auto reached = values_.reached(it.at, true);
        if (it.at >= at || it.index >= 0 || it.expression.empty() || reached == false) continue;
        if (reached) all.clear();
        all.push_back(it);
      }
      if (scope == PythonNames::kModule) break;
    }
    return all;
  }
  Result<void> change(const PythonChange& it, MadeConfig& made) {
    if (it.attribute.empty() || !base::contains(kSizeKeys, it.attribute)) return {};
    const auto reached = values_.reached(it.at, true);
    if (reached && !*reached) return {};
    const auto value = values_.value(it.expression, it.at);
    // A few words more or less of a published vocabulary.
    const bool small = !made.is_own && it.attribute == "vocab_size" && !is_known(value);
    if (small) return {};
    if (!reached || it.expression.empty() || !is_known(value))
      return unknown(it.attribute, trimmed(statements_.statement(it.at)), it.at);
    set(it.attribute, *value, made);
    return {};
  }

  Result<std::optional<MadeConfig>> called(const std::string& expression, size_t open, size_t at) {
    std::string maker = trimmed(std::string_view(expression).substr(0, open));
    const size_t dot = maker.rfind('.');
    const std::string method = maker.substr(dot + 1);  // npos + 1 is 0
    const std::vector<PythonArgument> arguments = arguments_of_call(expression, open);
    if (method == "from_pretrained" || method == "for_model") {
      const std::string first = arguments.empty() ? "" : arguments.front().value;
      if (method == "from_pretrained") return from_published(first, arguments, at);
      const auto type = values_.text(first, at);
      if (!type) return std::optional<MadeConfig>();
      return from_class(*type, {arguments.begin() + 1, arguments.end()}, at);
    }
    const std::string_view family = family_of(method);
    if (family.empty()) return std::optional<MadeConfig>();
    return from_class(std::string(family), arguments, at);
  }
  Result<std::optional<MadeConfig>> from_published(const std::string& name,
                                                   const std::vector<PythonArgument>& arguments,
                                                   size_t at) {
    const auto said = values_.text(name, at);
    if (!said) return std::optional<MadeConfig>();
    MadeConfig made{published(*said, file_), at, false};
    if (made.json.is_null()) return std::optional<MadeConfig>();
    ERGOMETER_TRY(add(arguments, made));
    return std::optional(std::move(made));
  }
  Result<std::optional<MadeConfig>> from_class(const std::string& family,
                                               const std::vector<PythonArgument>& arguments,
                                               size_t at) {
    MadeConfig made{nlohmann::json::object(), at, true};
    for (const ClassDefaults& it : kClassDefaults)
      if (it.model_type == family) made.json = published(std::string(it.model), file_);
    // As many as there are heads, unless it is said.
    if (family == "llama") made.json.erase("num_key_value_heads");
    // As wide as the layers are, unless it is said.
    if (family == "opt") made.json.erase("word_embed_proj_dim");
    made.json["model_type"] = family;
    for (const PythonArgument& it : arguments)
      if (it.name.empty() && !it.value.starts_with("**"))
        return input_error(
            "{}:{}: a configuration's {} has no name; allowed: hidden_size=... and its like", file_,
            line_at(text_, at), it.value.substr(0, 60));
    ERGOMETER_TRY(add(arguments, made));
    return std::optional(std::move(made));
  }

  Result<void> add(const std::vector<PythonArgument>& arguments, MadeConfig& made) {
    for (const PythonArgument& it : arguments) {
      if (it.value.starts_with("**")) {
        ERGOMETER_TRY(spread(it.value.substr(2), made));
        continue;
      }
      auto value = values_.value(it.value, made.at);
      const bool counts = base::contains(kSizeKeys, it.name);
      if (!counts && made.is_own && is_known(value)) set(it.name, *value, made);
      if (!counts) continue;
      if (!is_known(value)) value = vocabulary(it.value, made.at);
      if (!is_known(value)) return unknown(it.name, it.value, made.at);
      set(it.name, *value, made);
    }
    return {};
  }
  Result<void> spread(const std::string& name, MadeConfig& made) {
    const auto items = values_.value(trimmed(name), made.at);
    // What is handed to a published one is where it lies, seldom a size.
    if ((!items || !items->is_object()) && !made.is_own) return {};
    if (!items || !items->is_object()) return unknown("**" + name, name, made.at);
    for (const auto& [key, value] : items->items()) {
      const bool counts = base::contains(kSizeKeys, key);
      if (!counts && !(made.is_own && is_known(value))) continue;
      if (!is_known(value)) return unknown(key, name, made.at);
      set(key, value, made);
    }
    return {};
  }
  /// With all its parts.
  static bool is_known(const PythonValues::Value& value) {
    return value && !value->is_discarded() &&
           std::ranges::all_of(value->is_structured() ? *value : nlohmann::json::array(),
                               [](const nlohmann::json& part) { return is_known(part); });
  }
  static void set(const std::string& key, const nlohmann::json& value, MadeConfig& made) {
    const auto found = made.json.find(key);
    if (found != made.json.end() && *found == value) return;
    made.is_own = true;
    if (value.is_null())
      made.json.erase(key);
    else
      made.json[key] = value;
  }

  /// len(tokenizer) and tokenizer.vocab_size of a tokenizer that is published.
  PythonValues::Value vocabulary(const std::string& expression, size_t at) {
    constexpr std::string_view kLength = "len(", kSize = ".vocab_size";
    std::string name = expression;
    if (name.starts_with(kLength) && name.ends_with(')'))
      name = name.substr(kLength.size(), name.size() - kLength.size() - 1);
    else if (name.ends_with(kSize))
      name.resize(name.size() - kSize.size());
    else
      return std::nullopt;
    const std::vector<PythonBinding> all = bindings_of(trimmed(name), at);
    if (all.size() != 1) return std::nullopt;
    const PythonBinding& made = all.front();
    const size_t open = made.expression.find('(');
    if (!base::contains(made.expression.substr(0, open), "okenizer")) return std::nullopt;
    for (const PythonArgument& it : arguments_of_call(made.expression, open))
      if (it.name.empty() || it.name == "pretrained_model_name_or_path")
        if (const auto from = values_.text(it.value, made.at))
          if (const int64_t words = spec::tokenizer_vocabulary(*from); words > 0) return words;
    return std::nullopt;
  }

  tl::unexpected<base::Error> unknown(const std::string& key, const std::string& found,
                                      size_t at) const {
    return input_error(
        "{}:{}: {}: found {}, which is known only when the script runs; a literal can be read, and "
        "--model with the config.json that it makes says the same",
        file_, line_at(text_, at), key, found.substr(0, 60));
  }
};

}  // namespace

Result<std::optional<spec::FlatValue>> python_model(PythonProgram& program) {
  return ModelReader(program).read();
}

}  // namespace ergometer::intake
