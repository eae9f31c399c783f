#include "spec/recipe/recipe_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/job/node_groups.h"

namespace ergometer::spec {
namespace {

constexpr std::array kPrecisions = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"fp4", "nvfp4"}, {"fp8", "fp8"}, {"fp16", "fp16"}, {"bf16", "bf16"}});

bool same_shape(const Model& a, const Model& b) {
  return a.hidden == b.hidden && a.ffn == b.ffn && a.heads == b.heads && a.kv_heads == b.kv_heads &&
         a.vocab == b.vocab && a.layer_count() == b.layer_count() &&
         a.experts.count == b.experts.count && a.experts.ffn == b.experts.ffn;
}

/// The catalog's name, which aliases and files of the same shape share.
std::string name_of(const Settings& said, const Model& model) {
  const Settings::Value* value = said.find("model");
  if (value == nullptr) return "";
  if (const CatalogEntry* entry = find_in_catalog(CatalogKind::kModel, value->text))
    return entry->name;
  const std::string width = fmt::format("{}", model.hidden);  // spares reading most files
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kModel || entry.text.find(width) == entry.text.npos) continue;
    const auto known = read_model(entry.name);
    if (known && same_shape(*known, model)) return entry.name;
  }
  return "";
}

}  // namespace

RecipeDraft::RecipeDraft(const Settings& said, const JobParts& parts)
    : said_(said), parts_(parts) {}

const std::string& RecipeDraft::model_name() const {
  if (!model_name_) model_name_ = name_of(said_, parts_.model);
  return *model_name_;
}

bool RecipeDraft::said(std::string_view name) const {
  if (said_.find(name) != nullptr) return true;
  if (name != "precision") return false;
  return std::ranges::any_of(kPrecisions,
                             [&](const auto& it) { return said_.find(it.first) != nullptr; });
}

bool RecipeDraft::has(std::string_view name) const {
  return said(name) || defaults_.find(name) != nullptr || (name == "release" && !release.empty());
}

std::string RecipeDraft::fact(std::string_view name) const {
  const auto gpu = [&]() -> const Gpu& { return most_common_gpu(parts_.cluster, gpus()); };
  if (name == "release") return release;
  if (name == "architecture") return gpu().architecture;
  if (name == "gpu") return gpu().name;
  if (name == "gpu_gb") return fmt::format("{:.0f}", gpu().memory_bytes / 1e9);
  if (name == "vendor") return gpu().vendor;
  if (name == "model") return model_name();
  if (name == "experts") return fmt::format("{}", parts_.model.experts.count);
  if (name == "hidden") return fmt::format("{}", parts_.model.hidden);
  if (name == "latent") return parts_.model.attention == AttentionKind::kLatent ? "true" : "false";
  if (name == "dp") return fmt::format("{}", replicas());
  if (name == "task") return has("lora") ? "lora" : has("packed_mean_length") ? "sft" : "pretrain";
  return "";
}

std::string RecipeDraft::text(std::string_view name) const {
  if (std::string known = fact(name); !known.empty()) return known;
  const Settings::Value* value = said_.find(name);
  if (name == "precision" && value == nullptr)
    for (const auto& [flag, precision] : kPrecisions)
      if (const Settings::Value* asked = said_.find(flag); asked && says_yes(asked->text))
        return std::string(precision);
  if (value == nullptr) value = defaults_.find(name);
  const SettingInfo* info = find_setting(name);
  if (info == nullptr) return "";
  if (info->kind == SettingKind::kSwitch)
    return value != nullptr && says_yes(value->text) ? "true" : "false";
  if (value != nullptr) return value->text;
  return info->kind == SettingKind::kInteger && info->min == 1 ? "1" : "";
}

int64_t RecipeDraft::number(std::string_view name, int64_t fallback) const {
  if (!has(name)) return fallback;
  const auto number = base::parse_integer(text(name));
  return number && *number > 0 ? *number : fallback;
}

void RecipeDraft::fill(std::string_view setting, std::string value, const std::string& origin) {
  if (!has(setting)) defaults_.set(setting, std::move(value), Origin{origin, ""});
}

int64_t RecipeDraft::gpus() const {
  const int64_t cluster = parts_.cluster.nodes > 0 ? parts_.cluster.nodes : 1;
  return number("gpus", cluster * parts_.cluster.node.gpus);
}

int64_t RecipeDraft::replicas() const {
  // One after the other: the product of the sizes may be beyond 64 bits.
  const int64_t left = gpus() / number("tensor_model_parallel_size", 1) /
                       number("context_parallel_size", 1) /
                       number("pipeline_model_parallel_size", 1);
  return std::max<int64_t>(left, 1);
}

}  // namespace ergometer::spec
