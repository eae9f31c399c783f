#include "intake/config/model_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/file.h"
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
                                                                  "word_embed_proj_dim"});

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

/// The config.json that a name on a hub or a path stands for; nothing where there is none.
nlohmann::json published(const std::string& name, const std::string& file) {
  nlohmann::json config;
  if (const spec::CatalogEntry* entry = spec::find_hub_model(name)) {
    config = nlohmann::json::parse(entry->text, nullptr, false);
  } else {
    std::string path = file_beside(name, file);
    if (path.empty()) path = file_beside(name + "/config.json", file);
    const auto found = path.empty() ? spec::find_model_file(name) : spec::find_model_file(path);
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

class ModelReader {
 public:
  ModelReader(PythonValues& values, const PythonStatements& statements, const std::string& text,
              const std::string& file)
      : values_(values), statements_(statements), text_(text), file_(file) {}

  Result<std::optional<spec::FlatValue>> read() {
    for (const auto& [at, open] : makers()) {
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
      if (const auto model = spec::parse_model(made->json.dump(), "its configuration"); !model)
        return input_error("{}: {}", where, model.error().message);
      return std::optional(spec::FlatValue{made->json.dump(), line, where});
    }
    return std::optional<spec::FlatValue>();
  }

 private:
  using Call = std::pair<size_t, size_t>;  ///< where it begins, where its parenthesis opens

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
    const auto binding = binding_of(expression, at);
    if (!binding) return std::optional<MadeConfig>();
    const size_t open = binding->expression.find('(');
    if (open == std::string::npos) return std::optional<MadeConfig>();
    ERGOMETER_ASSIGN(auto made, called(binding->expression, open, binding->at));
    if (!made) return made;
    for (const PythonChange& it : python_changes(values_, statements_, text_, expression, made->at))
      if (it.at < at) ERGOMETER_TRY(change(it, *made));
    return made;
  }
  /// The last that is given to a name before a place, in its function or the module.
  std::optional<PythonBinding> binding_of(const std::string& name, size_t at) const {
    std::optional<PythonBinding> last;
    for (size_t scope = values_.names().scope(at); !last; scope = PythonNames::kModule) {
      for (const PythonBinding& it : values_.names().bindings(name, scope))
        if (it.at < at && it.index < 0 && !it.expression.empty()) last = it;
      if (scope == PythonNames::kModule) break;
    }
    return last;
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
      return type ? from_class(*type, arguments, at) : std::optional<MadeConfig>();
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
    ERGOMETER_TRY(add(arguments, made));
    return std::optional(std::move(made));
  }

  Result<void> add(const std::vector<PythonArgument>& arguments, MadeConfig& made) {
    for (const PythonArgument& it : arguments) {
      if (it.value.starts_with("**")) {
        ERGOMETER_TRY(spread(it.value.substr(2), made));
        continue;
      }
      if (!base::contains(kSizeKeys, it.name)) continue;
      auto value = values_.value(it.value, made.at);
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
      if (!base::contains(kSizeKeys, key)) continue;
      if (!is_known(value)) return unknown(key, name, made.at);
      set(key, value, made);
    }
    return {};
  }
  static bool is_known(const PythonValues::Value& value) {
    return value && !value->is_discarded() && !value->is_object();
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
    const auto binding = binding_of(trimmed(name), at);
    if (!binding) return std::nullopt;
    const size_t open = binding->expression.find('(');
    if (!base::contains(binding->expression.substr(0, open), "okenizer")) return std::nullopt;
    for (const PythonArgument& it : arguments_of_call(binding->expression, open))
      if (it.name.empty() || it.name == "pretrained_model_name_or_path")
        if (const auto from = values_.text(it.value, binding->at))
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

  PythonValues& values_;
  const PythonStatements& statements_;
  const std::string& text_;
  const std::string& file_;
};

}  // namespace

Result<std::optional<spec::FlatValue>> python_model(PythonValues& values,
                                                    const PythonStatements& statements,
                                                    const std::string& text,
                                                    const std::string& file) {
  return ModelReader(values, statements, text, file).read();
}

}  // namespace ergometer::intake
