#include "spec/settings/setting_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/job/adjustments.h"
#include "spec/job/measure_range.h"

namespace ergometer::spec {

bool says_yes(std::string_view text) {
  const std::string word = base::lower(text);
  return word == "true" || word == "yes" || word == "on" || word == "1";
}

namespace {

constexpr size_t kLongestShown = 60;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    words.push_back(base::trimmed(text.substr(0, end), " "));
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

const SettingInfo& info_of(std::string_view name) {
  const SettingInfo* info = find_setting(name);
  ERGOMETER_CHECK(info != nullptr, "a setting that is not in the table");
  return *info;
}

std::string join_words(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  return text;
}

}  // namespace

std::string either(const std::vector<int64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " or " : ", ", numbers[i]);
  return text;
}

std::string divisors_text(int64_t number, int64_t near) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d != number / d) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  constexpr std::ptrdiff_t kShown = 10;
  const auto size = static_cast<std::ptrdiff_t>(small.size());
  const auto centre = std::ranges::lower_bound(small, near) - small.begin();
  const auto first = std::clamp<std::ptrdiff_t>(centre - kShown / 2, 0,
                                                std::max<std::ptrdiff_t>(0, size - kShown));
  return either({small.begin() + first, small.begin() + std::min(size, first + kShown)});
}

bool SettingReader::asks_for(std::string_view name) const {
  const Settings::Value* found = settings_.find(name);
  return found != nullptr && (info_of(name).kind != SettingKind::kSwitch || says_yes(found->text));
}

const Settings::Value* SettingReader::find(std::string_view name) const {
  const Settings::Value* found = settings_.find(name);
  return found != nullptr ? found : profile_.find(name);
}

const Settings::Value* SettingReader::value(std::string_view name, std::string_view reason) {
  const Settings::Value* found = find(name);
  origins_[std::string(name)] =
      found != nullptr ? found->origin : Origin{fmt::format("default: {}", reason), ""};
  return found;
}

void SettingReader::plain_settings(Job& job) {
  for (const SettingInfo& info : setting_table())
    if (!info.reason.empty()) info.read(*this, info, job);
}

void SettingReader::derive(std::string_view name, std::string_view reason) {
  if (!given(name)) origins_[std::string(name)] = Origin{fmt::format("default: {}", reason), ""};
}

void SettingReader::adjust(std::string_view name, std::string_view reason) {
  const Settings::Value* found = settings_.find(name);
  const std::string said = found == nullptr ? "" : fmt::format("{}, ", found->origin.text);
  origins_[std::string(name)] = Origin{fmt::format("{}{}{}", said, kAdjusted, reason),
                                       found == nullptr ? "" : found->origin.key};
}

Origin SettingReader::origin_of(std::string_view name) const {
  if (const Settings::Value* found = settings_.find(name); found != nullptr) return found->origin;
  const auto it = origins_.find(std::string(name));
  return it != origins_.end() ? it->second : Origin{};
}

std::string SettingReader::said(std::string_view name, int64_t number) const {
  const Settings::Value* found = settings_.find(name);
  const Origin origin = origin_of(name);
  const std::string& text = origin.text;
  const std::string key = origin.key.empty() ? std::string(name) : origin.key;
  if (text.starts_with("--")) return fmt::format("{} {}", text, number);
  if (found == nullptr || text.empty()) return fmt::format("{} = {}", key, number);
  return fmt::format("{}: {} = {}", text, key, number);
}

std::string SettingReader::said(std::string_view name) const {
  const Settings::Value* found = settings_.find(name);
  const Origin origin = origin_of(name);
  std::string key = origin.key.empty() ? std::string(name) : origin.key;
  const std::string shown = found == nullptr ? "" : base::cut_to(found->text, kLongestShown);
  if (origin.text.starts_with("--"))
    return shown == "true" || origin.text.starts_with("--no-")
               ? origin.text
               : fmt::format("{} {}", origin.text, shown);
  if (found == nullptr) return key;
  return fmt::format("{}: {} = {}", origin.text, key, shown);
}

void SettingReader::refuse(std::string message) {
  if (!error_) error_ = base::Error{base::ErrorKind::kInput, std::move(message)};
}

std::string SettingReader::where(std::string_view name) const {
  const Settings::Value* found = find(name);
  if (found == nullptr) return std::string(name);  // `check_job` of a job that no settings gave
  const Origin& origin = found->origin;
  if (origin.text.starts_with("--")) return origin.text;
  return fmt::format("{}: {}", origin.text, origin.key.empty() ? name : origin.key);
}

void SettingReader::refuse_value(std::string_view name, std::string_view allowed) {
  const Settings::Value* found = find(name);
  ERGOMETER_CHECK(found != nullptr, "what is refused has been said");
  refuse("{}: found \"{}\"; allowed: {}", where(name), base::cut_to(found->text, kLongestShown),
         allowed);
}

double SettingReader::measure(std::string_view name, double fallback, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  if (found == nullptr) return fallback;
  const SettingInfo& info = info_of(name);
  const auto number = MeasureRange{info.unit, info.min, info.max}.read(found->text);
  if (number) return *number;
  refuse("{}: {}", where(name), number.error().message);
  return fallback;
}

std::vector<std::string> SettingReader::words(std::string_view name) {
  const Settings::Value* found = value(name, "none");
  std::vector<std::string> list;
  if (found == nullptr || found->text.empty()) return list;
  for (const std::string_view word : split(found->text, ',')) list.emplace_back(word);
  return list;
}

int64_t SettingReader::integer(std::string_view name, int64_t fallback, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  if (found == nullptr) return fallback;
  const SettingInfo& info = info_of(name);
  const auto min = static_cast<int64_t>(info.min), max = static_cast<int64_t>(info.max);
  const auto number = base::parse_integer(found->text);
  if (number && *number >= min && *number <= max) return *number;
  const auto thousands = base::parse_integer(found->text.substr(0, found->text.size() - 1));
  const bool in_thousands = thousands && base::lower(found->text).ends_with('k');
  refuse_value(name, fmt::format("a whole number from {} to {}{}", min, max,
                                 in_thousands ? fmt::format(" (write {} or {})", *thousands * 1000,
                                                            *thousands * 1024)
                                              : ""));
  return fallback;
}

double SettingReader::real(std::string_view name, double fallback, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  if (found == nullptr) return fallback;
  const SettingInfo& info = info_of(name);
  const auto number = base::parse_number(found->text);
  if (number && *number >= info.min && *number <= info.max) return *number;
  refuse_value(name, fmt::format("a number from {} to {}", info.min, info.max));
  return fallback;
}

bool SettingReader::flag(std::string_view name, bool fallback, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  if (found == nullptr) return fallback;
  if (says_yes(found->text)) return true;
  const std::string word = base::lower(found->text);
  for (const char* no : {"false", "no", "off", "0"})
    if (word == no) return false;
  refuse_value(name, "true or false");
  return fallback;
}

std::string SettingReader::text(std::string_view name) {
  const Settings::Value* found = value(name, "not given");
  return found == nullptr ? "" : found->text;
}

int SettingReader::choice(std::string_view name, int fallback, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  if (found == nullptr) return fallback;
  const std::vector<std::string_view> words = split(info_of(name).choices, '|');
  const auto it = std::ranges::find(words, found->text);
  if (it != words.end()) return static_cast<int>(it - words.begin());
  refuse_value(name,
               fmt::format("{}{}", join_words(words), base::did_you_mean(found->text, words)));
  return fallback;
}

std::vector<std::string> SettingReader::list(std::string_view name, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  std::vector<std::string> items;
  if (found == nullptr || found->text.empty()) return items;
  const std::vector<std::string_view> words = split(info_of(name).choices, '|');
  for (const std::string_view item : split(found->text, ',')) {
    if (!base::contains(words, item))
      refuse_value(name, fmt::format("a list of {}", join_words(words)));
    items.emplace_back(item);
  }
  return items;
}

std::vector<int64_t> SettingReader::integers(std::string_view name, std::string_view reason) {
  const Settings::Value* found = value(name, reason);
  std::vector<int64_t> numbers;
  if (found == nullptr || found->text.empty()) return numbers;
  for (const std::string_view item : split(found->text, ',')) {
    const auto number = base::parse_integer(item);
    if (number && *number >= 0 && *number <= 100'000)
      numbers.push_back(*number);
    else
      refuse_value(name, "a list of whole numbers from 0 to 100000, separated by commas");
  }
  return numbers;
}

}  // namespace ergometer::spec
