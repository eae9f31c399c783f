#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/collection.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/model/model_families.h"
#include "spec/model/model_names.h"

namespace ergometer::spec {
namespace {

constexpr size_t kLargestConfig = 16 << 20;

/// `file:line:column` of a byte, counted from one.
std::string position(const std::string& file, std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto lines = std::ranges::count(before, '\n');
  const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  return fmt::format("{}:{}:{}", file, lines + 1, before.size() - start + 1);
}

/// Where the key stands for the last time.
size_t last_key(std::string_view text, const std::string& key) {
  const size_t at = text.rfind(fmt::format("\"{}\"", key));
  return at == text.npos ? 0 : at;
}

/// The part of the library's message that a user understands.
std::string plain_syntax_error(std::string_view what) {
  const size_t colon = what.find("syntax error");
  const size_t dash = what.find(" - ", colon == what.npos ? 0 : colon);
  std::string_view reason = dash == what.npos ? what : what.substr(dash + 3);
  constexpr std::string_view kLastRead = "; last read: ";
  const size_t last = reason.find(kLastRead);
  if (last == reason.npos) return std::string(reason);
  return std::string(reason.substr(0, last)) +
         fmt::format(" (read so far: {})", reason.substr(last + kLastRead.size()));
}

/// Notes the first key that stands twice in one object; the library itself keeps the last.
class DuplicateKeys {
 public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event != Event::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!open_.back().insert(key).second && first_.empty()) first_ = key;
    return true;
  }
  const std::string& first() const { return first_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string first_;
};

Result<nlohmann::json> parse_object(std::string_view text, const std::string& file) {
  try {
    DuplicateKeys duplicates;
    nlohmann::json json = nlohmann::json::parse(text, std::ref(duplicates));
    if (!duplicates.first().empty())
      return input_error("{}: {}: stands twice in one object",
                         position(file, text, last_key(text, duplicates.first())),
                         duplicates.first());
    if (json.is_object()) return json;
    return input_error("{}:1: found {}; expected the object of a config.json", file,
                       describe(json));
  } catch (const nlohmann::json::parse_error& error) {
    const size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    return input_error("{}: not valid JSON: {}", position(file, text, byte),
                       plain_syntax_error(error.what()));
  } catch (const nlohmann::json::out_of_range& error) {
    // The library says which number no double holds, in quotes, but not where.
    const std::string_view what = error.what();
    const size_t open = what.find('\'');
    const size_t close = what.rfind('\'');
    const std::string_view number = open < close ? what.substr(open + 1, close - open - 1) : "";
    const size_t byte = number.empty() ? 0 : text.find(number);
    return input_error("{}: found the number {}; allowed: up to 1.7e308",
                       position(file, text, byte), number.substr(0, 40));
  }
}

std::vector<std::string_view> supported_types() {
  return base::mapped(model_families(), &ModelFamily::model_type);
}

/// The family that a stranger's keys look most like.
std::string_view nearest_family(const std::string& type, const nlohmann::json& json) {
  const std::vector<std::string_view> names = supported_types();
  if (const auto near = base::nearest(type, names)) return *near;
  if (json.contains("kv_lora_rank")) return "deepseek_v3";
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (json.contains(key)) return "mixtral";
  return json.contains("n_embd") ? "gpt2" : "llama";
}

Result<const ModelFamily*> choose_family(ConfigReader& config, const nlohmann::json& json) {
  if (!config.has("model_type"))
    config.refuse("model_type", "is missing; allowed: {}", fmt::join(supported_types(), ", "));
  const std::string type = config.text("model_type", "");
  if (config.error()) return tl::unexpected(*config.error());
  for (const ModelFamily& family : model_families())
    if (family.model_type == type) return &family;
  config.refuse("model_type",
                "found \"{}\", which is not supported; the nearest is \"{}\"; allowed: {}", type,
                nearest_family(type, json), fmt::join(supported_types(), ", "));
  return tl::unexpected(*config.error());
}

/// A bound against sizes that would overflow later on, ten thousand times above today's largest
/// model.
constexpr double kMostParameters = 1e16;
constexpr int64_t kMostPredictors = 64;  ///< layers of multi-token prediction

double rough_parameters(const Model& model) {
  const double hidden = static_cast<double>(model.hidden);
  const double attention =
      4.0 * hidden * static_cast<double>(model.heads) * static_cast<double>(model.head_dim);
  const double dense = 3.0 * hidden * static_cast<double>(model.ffn);
  const double experts =
      3.0 * hidden *
      (static_cast<double>(model.experts.ffn) * static_cast<double>(model.experts.count) +
       static_cast<double>(model.experts.shared_ffn));
  return static_cast<double>(model.layer_count()) * (attention + dense + experts) +
         2.0 * hidden * static_cast<double>(model.vocab) +
         hidden * static_cast<double>(model.position_rows);
}

/// Tower and projector; none without.
double rough_vision_parameters(const Model& model) {
  if (model.vision == nullptr) return 0;
  const Vision& vision = *model.vision;
  return rough_parameters(vision.tower) +
         static_cast<double>(vision.patch_values) * static_cast<double>(vision.tower.hidden) +
         static_cast<double>(vision.projector_inner) *
             static_cast<double>(vision.projector_in + model.hidden);
}

void check_heads(ConfigReader& config, Model& model) {
  if (model.head_dim == 0 && model.hidden % model.heads != 0)
    config.refuse("num_attention_heads",
                  "found {}; allowed: a divisor of hidden_size = {}, unless head_dim is given",
                  model.heads, model.hidden);
  if (model.head_dim == 0) model.head_dim = model.hidden / model.heads;
  if (model.kv_heads > model.heads || model.heads % model.kv_heads != 0)
    config.refuse("num_key_value_heads", "found {}; allowed: a divisor of the {} attention heads",
                  model.kv_heads, model.heads);
}

void check_model(ConfigReader& config, Model& model) {
  check_heads(config, model);
  const Experts& experts = model.experts;
  if (experts.count > 0 && (experts.top_k < 1 || experts.top_k > experts.count))
    config.refuse("num_experts_per_tok", "found {}; allowed: 1 to the {} experts", experts.top_k,
                  experts.count);
  if (model.layer_count() > kMostLayers)
    config.refuse("num_hidden_layers", "found {}; allowed: up to {} layers", model.layer_count(),
                  kMostLayers);
  if (model.mtp_layers > kMostPredictors)
    config.refuse("num_nextn_predict_layers", "found {}; allowed: 0 to {}", model.mtp_layers,
                  kMostPredictors);
  const double parameters = rough_parameters(model) + rough_vision_parameters(model);
  if (parameters > kMostParameters)
    config.refuse("hidden_size", "these sizes make about {:.2g} parameters; allowed: up to {:.0g}",
                  parameters, kMostParameters);
}

std::string source_of(ConfigReader& config) {
  ConfigReader* ours = config.child("_ergometer");
  if (ours == nullptr) return "";
  for (const char* key :
       {"parameters", "active_parameters", "parameters_source", "aliases", "left_out"})
    ours->raw(key);
  return ours->text("source", "");
}

/// A config.json in place of a file's name is called what it calls itself, if it does.
Result<Model> read_inline(const std::string& json_text) {
  ERGOMETER_ASSIGN(Model model, parse_model(json_text, "model"));
  const nlohmann::json json = nlohmann::json::parse(json_text, nullptr, false);
  const auto name = json.find("_name_or_path");
  if (name == json.end() || !name->is_string()) return model;
  const std::string said = name->get<std::string>();
  if (!said.empty() && !said.ends_with('/')) model.name = base::last_part(said, '/');
  return model;
}

}  // namespace

Result<std::string> find_model_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::string inside = (std::filesystem::path(path) / "config.json").string();
    if (std::filesystem::exists(inside, ignored)) return inside;
    return input_error("{}: the folder holds no config.json", path);
  }
  if (std::filesystem::exists(path, ignored)) return path;
  if (const std::vector<std::string_view> sizes = model_sizes(path); sizes.size() > 1)
    return input_error("{}: which size? The catalog has {}", path, fmt::join(sizes, ", "));
  const bool of_hub = path.find('/') != path.npos;
  return input_error(
      "{}: neither a model of the catalog nor a file{} (`ergometer catalog list` shows all{})",
      path, base::did_you_mean(nearest_model(path)),
      of_hub ? "; a model's own config.json, or its folder, can be given in its place" : "");
}

Result<Model> parse_model(std::string_view json_text, const std::string& file) {
  ERGOMETER_ASSIGN(const nlohmann::json json, parse_object(json_text, file));
  ConfigReader config(json, json_text, file);
  ERGOMETER_ASSIGN(const ModelFamily* family, choose_family(config, json));
  Model model;
  model.name = file;
  model.architecture = family->model_type;
  model.source = source_of(config);
  family->read(config, model);
  model.rotary_share = config.real("partial_rotary_factor", model.rotary_share, 0.01, 1);
  if (!config.error()) check_model(config, model);
  if (config.error()) return tl::unexpected(*config.error());
  model.unknown_keys = config.unknown_keys();
  return model;
}

Result<Model> read_model(const std::string& name_or_path) {
  if (name_or_path.starts_with('{')) return read_inline(name_or_path);
  if (const CatalogEntry* entry = find_in_catalog(CatalogKind::kModel, name_or_path)) {
    ERGOMETER_ASSIGN(Model model, parse_model(entry->text, std::string(entry->path)));
    model.name = entry->name;
    return model;
  }
  std::error_code ignored;
  if (const CatalogEntry* entry = find_hub_model(name_or_path);
      entry != nullptr && !std::filesystem::exists(name_or_path, ignored))
    return read_model(entry->name);
  ERGOMETER_ASSIGN(const std::string path, find_model_file(name_or_path));
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kLargestConfig));
  return parse_model(text, path);
}

}  // namespace ergometer::spec
