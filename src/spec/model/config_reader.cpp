#include "spec/model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "spec/model/config_keys.h"

namespace ergometer::spec {
namespace {

/// No size in a transformer is larger; products of a few of them still fit 64 bits.
constexpr int64_t kLargestSize = 1'000'000'000;

/// Where `"key":` stands at or after `from`; npos when it does not.
size_t key_offset(std::string_view text, std::string_view key, size_t from) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (size_t at = text.find(quoted, from); at != text.npos; at = text.find(quoted, at + 1)) {
    const size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != text.npos && text[next] == ':') return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string describe(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return base::cut_to(base::json_line(value), 40);
}

ConfigReader::ConfigReader(const nlohmann::json& object, std::string_view text,
                           const std::string& file)
    : object_(object),
      text_(text),
      file_(file),
      error_(std::make_shared<std::optional<base::Error>>()) {}

ConfigReader::ConfigReader(const nlohmann::json& object, ConfigReader& parent, std::string_view key)
    : object_(object),
      text_(parent.text_),
      file_(parent.file_),
      prefix_(fmt::format("{}{}.", parent.prefix_, key)),
      error_(parent.error_) {}

ConfigReader::~ConfigReader() = default;

const nlohmann::json* ConfigReader::find(std::string_view key, std::string_view* spelling) {
  const nlohmann::json* found = nullptr;
  std::string first;
  for (const std::string_view word : config_spellings(key)) {
    const auto it = object_.find(word);
    if (it == object_.end()) continue;
    used_.emplace_back(word);
    if (it->is_null()) continue;
    if (found == nullptr) {
      found = &*it;
      first = word;
      if (spelling != nullptr) *spelling = word;
      // Structures are refused by whoever asks for them; comparing deep ones would recurse as
      // deeply.
    } else if (!found->is_structured() && !it->is_structured() && *found != *it) {
      refuse(word, "found {}, but {} is {}; they mean the same and must agree", describe(*it),
             first, describe(*found));
    }
  }
  return found;
}

bool ConfigReader::has(std::string_view key) { return find(key) != nullptr; }

bool ConfigReader::is_null(std::string_view key) {
  find(key);  // seen, hence known
  for (const std::string_view word : config_spellings(key)) {
    const auto it = object_.find(word);
    if (it != object_.end() && it->is_null()) return true;
  }
  return false;
}

const nlohmann::json* ConfigReader::raw(std::string_view key) { return find(key); }

int64_t ConfigReader::whole_number(std::string_view key, int64_t fallback, int64_t min) {
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return fallback;
  const bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{kLargestSize});
  if (fits && value->get<int64_t>() >= min && value->get<int64_t>() <= kLargestSize)
    return value->get<int64_t>();
  refuse_value(spelling, *value, fmt::format("a whole number from {} to {}", min, kLargestSize));
  return fallback;
}

int64_t ConfigReader::size(std::string_view key, int64_t fallback) {
  return whole_number(key, fallback, 1);
}
int64_t ConfigReader::count(std::string_view key, int64_t fallback) {
  return whole_number(key, fallback, 0);
}

int64_t ConfigReader::required_size(std::string_view key) {
  if (has(key)) return size(key, 1);
  const auto spellings = config_spellings(key);
  std::string others;
  for (const std::string_view word : spellings)
    if (word != key) others += fmt::format("{}{}", others.empty() ? "" : ", ", word);
  refuse(key, "is missing{}", others.empty() ? "" : fmt::format(" (also known as {})", others));
  return 1;
}

double ConfigReader::real(std::string_view key, double fallback, double min, double max) {
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return fallback;
  if (value->is_number() && value->get<double>() >= min && value->get<double>() <= max)
    return value->get<double>();
  refuse_value(spelling, *value, fmt::format("a number from {} to {}", min, max));
  return fallback;
}

bool ConfigReader::flag(std::string_view key, bool fallback) {
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  refuse_value(spelling, *value, "true or false");
  return fallback;
}

std::string ConfigReader::text(std::string_view key, const std::string& fallback) {
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  refuse_value(spelling, *value, "a string");
  return fallback;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
  std::vector<std::string> words;
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return words;
  if (!value->is_array())
    refuse_value(spelling, *value, "a list of strings");
  else
    for (const auto& item : *value) {
      if (item.is_string())
        words.push_back(item.get<std::string>());
      else
        refuse_value(spelling, item, "strings in this list");
    }
  return words;
}

std::vector<int64_t> ConfigReader::counts(std::string_view key) {
  std::vector<int64_t> numbers;
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return numbers;
  if (!value->is_array())
    refuse_value(spelling, *value, "a list of whole numbers");
  else
    for (const auto& item : *value) {
      const bool good = item.is_number_unsigned() && item.get<uint64_t>() <= uint64_t{kLargestSize};
      if (good)
        numbers.push_back(item.get<int64_t>());
      else
        refuse_value(spelling, item,
                     fmt::format("whole numbers from 0 to {} in this list", kLargestSize));
    }
  return numbers;
}

ConfigReader* ConfigReader::child(std::string_view key) {
  for (const auto& [name, reader] : children_)
    if (name == key) return reader.get();
  std::string_view spelling = key;
  const nlohmann::json* value = find(key, &spelling);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    refuse_value(spelling, *value, "an object");
    return nullptr;
  }
  children_.emplace_back(key,
                         std::unique_ptr<ConfigReader>(new ConfigReader(*value, *this, spelling)));
  return children_.back().second.get();
}

size_t ConfigReader::line_of(std::string_view spelling) const {
  size_t from = 0;
  for (size_t start = 0, dot; (dot = prefix_.find('.', start)) != prefix_.npos; start = dot + 1) {
    const size_t at = key_offset(text_, std::string_view(prefix_).substr(start, dot - start), from);
    if (at != std::string_view::npos) from = at;
  }
  const size_t at = key_offset(text_, spelling, from);
  return base::line_at(text_, at == std::string_view::npos ? from : at);
}

void ConfigReader::refuse(std::string_view key, const std::string& found_and_allowed) {
  if (error_->has_value()) return;
  const std::string message =
      fmt::format("{}:{}: {}{}: {}", file_, line_of(key), prefix_, key, found_and_allowed);
  *error_ = base::Error{base::ErrorKind::kInput, message};
}

void ConfigReader::refuse_value(std::string_view spelling, const nlohmann::json& value,
                                std::string_view allowed) {
  refuse(spelling, "found {}; allowed: {}", describe(value), allowed);
}

std::vector<std::string> ConfigReader::unknown_keys() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : object_.items()) {
    const bool used = base::contains(used_, key);
    if (!used && !is_harmless_config_key(key)) unknown.push_back(prefix_ + key);
  }
  for (const auto& [name, reader] : children_) {
    const std::vector<std::string> inner = reader->unknown_keys();
    unknown.insert(unknown.end(), inner.begin(), inner.end());
  }
  return unknown;
}

}  // namespace ergometer::spec
