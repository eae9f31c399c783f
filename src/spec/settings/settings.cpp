#include "spec/settings/settings.h"

#include <fmt/format.h>

#include <array>

#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::spec {
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

namespace {

/// Of tokens in a sequence, by the number's last letter: "8k", "1M".
int64_t unit_of(std::string_view text) {
  if (text.ends_with('k') || text.ends_with('K')) return 1 << 10;
  return text.ends_with('M') ? 1 << 20 : 1;
}

}  // namespace

std::string plain_number(std::string_view name, std::string text) {
  const int64_t unit = unit_of(text);
  if (unit == 1 && text.find(',') == text.npos) return text;
  const SettingInfo* info = find_setting(name);
  if (info == nullptr || info->kind != SettingKind::kInteger) return text;
  constexpr int64_t kMost = 1'000'000;
  if (unit == 1) {
    const auto number = base::parse_count(text);
    return number ? fmt::format("{}", *number) : text;
  }
  const auto number = base::parse_integer(std::string_view(text).substr(0, text.size() - 1));
  const bool tokens = info->name == "seq_length" && number && *number > 0 && *number < kMost;
  return tokens ? fmt::format("{}", *number * unit) : text;
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
