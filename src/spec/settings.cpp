#include "spec/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

struct OtherName {
  std::string_view word, setting;
};
constexpr std::array kOtherNames = std::to_array<OtherName>({
    {"nodes", "gpus"},
    {"nnodes", "gpus"},
    {"num_nodes", "gpus"},
    {"node_count", "gpus"},
    {"ranks", "gpus"},
    {"num_processes", "gpus"},
    {"devices", "gpus"},
    {"hardware", "cluster"},
    {"machine", "cluster"},
    {"system", "cluster"},
    {"platform", "cluster"},
    {"instance", "cluster"},
    {"instance_type", "cluster"},
    {"gpu", "cluster"},
    {"gpu_type", "cluster"},
    {"node_type", "cluster"},
    {"framework", "software"},
    {"library", "software"},
    {"layers", "num_layers"},
    {"depth", "num_layers"},
    {"batch", "global_batch_size"},
    {"batch_size", "global_batch_size"},
    {"train_batch_size", "global_batch_size"},
    {"total_batch_size", "global_batch_size"},
    {"local_batch_size", "micro_batch_size"},
    {"per_device_batch_size", "micro_batch_size"},
    {"per_device_train_batch_size", "micro_batch_size"},
    {"context_length", "seq_length"},
    {"context_window", "seq_length"},
    {"max_length", "seq_length"},
    {"max_seq_len", "seq_length"},
    {"max_sequence_length", "seq_length"},
    {"block_size", "seq_length"},
    {"tokens_per_sequence", "seq_length"},
    {"recompute", "recompute_granularity"},
    {"checkpointing", "recompute_granularity"},
    {"checkpoint_activations", "recompute_granularity"},
    {"activation_checkpointing", "recompute_granularity"},
    {"gradient_checkpointing", "recompute_granularity"},
    {"activation_recomputation", "recompute_granularity"},
    {"dtype", "precision"},
    {"data_type", "precision"},
    {"mixed_precision", "precision"},
    {"power_limit", "power_cap"},
    {"tdp", "power_cap"},
    {"clock", "lock_clock"},
    {"sharding", "zero"},
    {"sharding_strategy", "zero"},
    {"sm_clock", "lock_clock"},
    {"gpu_clock", "lock_clock"},
    {"frequency", "lock_clock"},
    {"ambient", "inlet_c"},
    {"ambient_temperature", "inlet_c"},
    {"room_temperature", "inlet_c"},
    {"inlet_temperature", "inlet_c"},
});

}  // namespace

void Settings::merge(const Settings& over) {
  constexpr std::array kSamePrecision = {"precision", "bf16", "fp16", "fp8", "fp4"};
  constexpr std::array kSameBatch = {"global_batch_size", "gradient_accumulation_steps"};
  const auto give_way = [&](const auto& group) {
    for (const char* name : group)
      if (over.find(name) != nullptr)
        for (const char* same : group) erase(same);
  };
  give_way(kSamePrecision);
  give_way(kSameBatch);
  for (const auto& [name, value] : over.values_) values_[name] = value;
}

std::string plain_number(std::string_view name, std::string text) {
  const bool in_thousands = text.ends_with('k') || text.ends_with('K');
  if (!in_thousands && text.find(',') == text.npos) return text;
  const SettingInfo* info = find_setting(name);
  if (info == nullptr || info->kind != SettingKind::kInteger) return text;
  constexpr int64_t kMost = 1'000'000;
  if (!in_thousands) {
    const auto number = base::parse_count(text);
    return number ? fmt::format("{}", *number) : text;
  }
  const auto number = base::parse_integer(std::string_view(text).substr(0, text.size() - 1));
  const bool tokens = info->name == "seq_length" && number && *number > 0 && *number < kMost;
  return tokens ? fmt::format("{}", *number * 1024) : text;
}

const SettingInfo* setting_also_called(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string name = base::lower(word);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const OtherName& other : kOtherNames)
    if (other.word == name) return find_setting(other.setting);
  return nullptr;
}

std::optional<std::string_view> nearest_setting(std::string_view word) {
  if (const SettingInfo* meant = setting_also_called(word)) return meant->name;
  // A path of keys ends in the setting: "parallelism.tensor_parallel".
  if (const size_t dot = word.rfind('.'); dot != word.npos) word.remove_prefix(dot + 1);
  std::vector<std::string_view> known;
  for (const SettingInfo& info : setting_table()) {
    known.push_back(info.name);
    if (!info.short_name.empty()) known.push_back(info.short_name);
  }
  return base::nearest(word, known);
}

}  // namespace ergometer::spec
