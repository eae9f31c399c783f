#include <algorithm>
#include <span>
#include <string>

#include "base/text.h"
#include "spec/job/job_words.h"
#include "spec/settings/setting_values.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

std::string normal(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string text(word);
  for (char& c : text) c = c == '-' ? '_' : base::lower(c);
  return text;
}

template <class Is>
const SettingInfo* first_that(Is is) {
  const std::span<const SettingInfo> table = setting_table();
  const auto it = std::ranges::find_if(table, is);
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

std::vector<std::string> SettingInfo::names(std::string_view list) const {
  std::vector<std::string> all = base::split(list, '|');
  for (std::string& one : all)
    if (one == kOwnName) one = name;
  return list.empty() ? std::vector<std::string>() : all;
}

const SettingInfo* find_setting(std::string_view word) {
  const std::string name = normal(word);
  if (name.empty()) return nullptr;
  return first_that([&](const SettingInfo& info) {
    return info.name == name || info.short_name == name || index_of(info.also, name) >= 0;
  });
}

const SettingInfo* setting_also_called(std::string_view word) {
  const std::string name = normal(word);
  return first_that([&](const SettingInfo& info) { return index_of(info.sought, name) >= 0; });
}

std::string setting_value(std::string_view name, const Job& job) {
  const SettingInfo* info = find_setting(name);
  return info == nullptr || info->text == nullptr ? "" : info->text(*info, job);
}

}  // namespace ergometer::spec
