#include "spec/yaml/yaml_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/yaml/yaml_document.h"

namespace ergometer::spec {
namespace {

using base::Error;
using base::ErrorKind;

std::string shown(const YamlValue& node) {
  if (node.is_map()) return "a mapping";
  if (node.is_list()) return "a list";
  if (!node.is_scalar()) return "nothing";
  return fmt::format("\"{}\"", base::cut_to(node.scalar, 60));
}

constexpr int kMostInlineValues = 100'000;

/// Inline JSON of a nested value, for models and clusters written into a job file. A file whose
/// anchors unfold into more than `budget` values is cut off.
nlohmann::json to_json(const YamlValue& node, int depth, int& budget) {
  if (depth > 32 || --budget < 0) return nullptr;
  if (node.is_list()) {
    nlohmann::json list = nlohmann::json::array();
    for (const YamlValue* item : node.items) list.push_back(to_json(*item, depth + 1, budget));
    return list;
  }
  if (node.is_map()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, value] : node.pairs)
      object[std::string(key->scalar)] = to_json(*value, depth + 1, budget);
    return object;
  }
  if (!node.is_scalar() || node.scalar == "null" || node.scalar == "~") return nullptr;
  const std::string_view text = node.scalar;
  if (node.quoted) return text;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (const auto number = base::parse_integer(text)) return *number;
  if (const auto number = base::parse_number(text)) return *number;
  return text;
}

/// A scalar as it stands, scalars joined by commas, anything else as inline JSON.
std::string value_text(const YamlValue& node) {
  if (node.is_scalar()) return std::string(node.scalar);
  const bool words = node.is_list() && std::ranges::all_of(node.items, [](const YamlValue* item) {
                       return item->is_scalar();
                     });
  if (words) {
    std::string text;
    for (const YamlValue* item : node.items)
      text.append(text.empty() ? "" : ",").append(item->scalar);
    return text;
  }
  int budget = 100'000;
  return base::json_line(to_json(node, 0, budget));
}

std::optional<base::Grade> grade_of(std::string_view word) {
  for (const base::Grade grade : {base::Grade::kDatasheet, base::Grade::kMeasured,
                                  base::Grade::kFitted, base::Grade::kAssumed})
    if (base::to_string(grade) == word) return grade;
  return std::nullopt;
}

}  // namespace

struct YamlMap::Entry {
  std::string_view key;
  const YamlValue* value;
  int line;
};

YamlMap::YamlMap(const YamlValue& node, std::shared_ptr<const YamlDocument> document,
                 std::string file, std::string prefix, std::shared_ptr<std::optional<Error>> error)
    : entries_(std::make_shared<std::vector<Entry>>()),
      document_(std::move(document)),
      file_(std::move(file)),
      prefix_(std::move(prefix)),
      line_(node.line),
      error_(std::move(error)) {
  entries_->reserve(node.pairs.size());
  for (const auto& [name, value] : node.pairs) {
    if (!name->is_scalar()) {
      refuse_at(name->line, "", fmt::format("found {} as a key; allowed: a word", shown(*name)));
      continue;
    }
    const std::string_view key = name->scalar;
    for (const Entry& entry : *entries_)
      if (entry.key == key)
        refuse_at(name->line, key,
                  fmt::format("stands here a second time; the first is on line {}", entry.line));
    entries_->push_back({key, value, name->line});
  }
}

Result<YamlMap> YamlMap::parse(std::string_view text, const std::string& file) {
  ERGOMETER_ASSIGN(auto document, parse_yaml(text, file));
  const YamlValue& root = document->root();
  if (!root.is_map())
    return input_error("{}:1: found {}; expected a YAML mapping (key: value)", file, shown(root));
  YamlMap map(root, std::move(document), file, "", std::make_shared<std::optional<Error>>());
  if (map.error()) return tl::unexpected(*map.error());
  return map;
}

const YamlValue* YamlMap::find(std::string_view key) const {
  for (const Entry& entry : *entries_)
    if (entry.key == key) return entry.value;
  return nullptr;
}

bool YamlMap::has(std::string_view key) const {
  const YamlValue* node = find(key);
  return node != nullptr && !node->is_null();
}

std::vector<std::string> YamlMap::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : *entries_) keys.emplace_back(entry.key);
  return keys;
}

int YamlMap::line_of(std::string_view key) const {
  for (const Entry& entry : *entries_)
    if (entry.key == key) return entry.line;
  return line_;
}

void YamlMap::refuse_at(int line, std::string_view key, const std::string& message) {
  if (error_->has_value()) return;
  *error_ =
      Error{ErrorKind::kInput, fmt::format("{}:{}: {}{}: {}", file_, line, prefix_, key, message)};
}

void YamlMap::refuse(std::string_view key, const std::string& message) {
  refuse_at(line_of(key), key, message);
}

void YamlMap::allow(std::initializer_list<std::string_view> keys) {
  for (const Entry& entry : *entries_) {
    if (base::contains(keys, entry.key)) continue;
    refuse(entry.key, "is not a known key{}; allowed: {}", base::did_you_mean(entry.key, keys),
           fmt::join(keys, ", "));
  }
}

void YamlMap::require(std::string_view key) {
  if (!has(key)) refuse(key, "is missing");
}

std::string YamlMap::text(std::string_view key, std::string_view fallback) {
  if (!has(key)) return std::string(fallback);
  const YamlValue* node = find(key);
  if (node->is_scalar()) return std::string(node->scalar);
  refuse(key, "found {}; allowed: a word or text", shown(*node));
  return std::string(fallback);
}

int64_t YamlMap::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
  if (!has(key)) return fallback;
  const YamlValue* node = find(key);
  const auto number = base::parse_integer(node->is_scalar() ? node->scalar : "");
  if (number && *number >= min && *number <= max) return *number;
  refuse(key, "found {}; allowed: a whole number from {} to {}", shown(*node), min, max);
  return fallback;
}

double YamlMap::real(std::string_view key, double fallback, double min, double max) {
  if (!has(key)) return fallback;
  const YamlValue* node = find(key);
  const auto number = base::parse_number(node->is_scalar() ? node->scalar : "");
  if (number && *number >= min && *number <= max) return *number;
  refuse(key, "found {}; allowed: a number from {} to {}", shown(*node), min, max);
  return fallback;
}

std::vector<int64_t> YamlMap::integers(std::string_view key, int64_t min, int64_t max) {
  std::vector<int64_t> numbers;
  if (!has(key)) return numbers;
  const YamlValue* node = find(key);
  if (!node->is_list())
    refuse(key, "found {}; allowed: a list of whole numbers", shown(*node));
  else
    for (const YamlValue* item : node->items) {
      const auto number = base::parse_integer(item->is_scalar() ? item->scalar : "");
      if (number && *number >= min && *number <= max)
        numbers.push_back(*number);
      else
        refuse(key, "found {} in the list; allowed: whole numbers from {} to {}", shown(*item), min,
               max);
    }
  return numbers;
}

int YamlMap::choice(std::string_view key, const std::vector<std::string>& words, int fallback) {
  if (!has(key)) return fallback;
  const std::string word = text(key);
  const auto at = std::ranges::find(words, word);
  if (at != words.end()) return static_cast<int>(at - words.begin());
  refuse(key, "found {}{}; allowed: {}", shown(*find(key)), base::did_you_mean(word, words),
         fmt::join(words, ", "));
  return fallback;
}

base::Parameter YamlMap::parameter(std::string_view key, std::string_view unit, double min,
                                   double max) {
  base::Parameter result;
  result.unit = unit;
  result.source = fmt::format("{}:{}", file_, line_of(key));
  YamlMap holder = *this;
  std::string_view value_key = key;
  if (auto nested = map(key)) {
    holder = *nested;
    value_key = "value";
    holder.allow({"value", "source", "grade"});
    holder.require("value");
    result.source = holder.text("source", result.source);
    const auto grade = grade_of(holder.text("grade", "assumed"));
    if (!grade) holder.choice("grade", {"datasheet", "measured", "fitted", "assumed"}, 0);
    result.grade = grade.value_or(base::Grade::kAssumed);
  }
  const auto value = base::parse_measure(holder.text(value_key), unit);
  if (value && *value >= min && *value <= max)
    result.value = *value;
  else if (value)
    holder.refuse(value_key, "found {}; allowed: from {} to {}{}{}", shown(*holder.find(value_key)),
                  min, max, unit.empty() ? "" : " ", unit);
  else
    holder.refuse(value_key, value.error().message);
  return result;
}

YamlMap YamlMap::nested(const YamlValue& node, const std::string& prefix) {
  return YamlMap(node, document_, file_, prefix, error_);
}

std::optional<YamlMap> YamlMap::map(std::string_view key) {
  const YamlValue* node = find(key);
  if (node == nullptr || node->is_scalar() || node->is_null()) return std::nullopt;
  if (node->is_map()) return nested(*node, fmt::format("{}{}.", prefix_, key));
  refuse(key, "found {}; allowed: a mapping", shown(*node));
  return std::nullopt;
}

std::optional<YamlMap> YamlMap::map(std::string_view key, std::string_view allowed) {
  auto inner = map(key);
  if (!inner && has(key)) refuse(key, "found a word; allowed: {}", allowed);
  return inner;
}

std::vector<YamlMap> YamlMap::maps(std::string_view key) {
  std::vector<YamlMap> list;
  if (!has(key)) return list;
  const YamlValue* node = find(key);
  if (!node->is_list())
    refuse(key, "found {}; allowed: a list of mappings", shown(*node));
  else
    for (const YamlValue* item : node->items) {
      const std::string prefix = fmt::format("{}{}[{}].", prefix_, key, list.size());
      if (!item->is_map()) {
        refuse(key, "found {} in the list; allowed: mappings", shown(*item));
        return {};
      }
      list.push_back(nested(*item, prefix));
    }
  return list;
}

std::vector<std::string> YamlMap::texts(std::string_view key) {
  std::vector<std::string> list;
  if (!has(key)) return list;
  const YamlValue* node = find(key);
  if (!node->is_list()) {
    refuse(key, "found {}; allowed: a list of texts, as [one, two]", shown(*node));
    return list;
  }
  for (const YamlValue* item : node->items) {
    if (!item->is_scalar()) {
      refuse_at(item->line, key, fmt::format("found {} in the list; allowed: texts", shown(*item)));
      return {};
    }
    list.emplace_back(item->scalar);
  }
  return list;
}

std::string YamlMap::as_json() const {
  nlohmann::json object = nlohmann::json::object();
  int budget = kMostInlineValues;
  for (const Entry& entry : *entries_)
    object[std::string(entry.key)] = to_json(*entry.value, 0, budget);
  return base::json_line(object);
}

std::vector<YamlMap::Item> YamlMap::items() {
  std::vector<Item> list;
  for (const Entry& entry : *entries_)
    if (!entry.value->is_null())
      list.push_back({std::string(entry.key), value_text(*entry.value), entry.line,
                      entry.value->is_map(), entry.value->is_scalar()});
  return list;
}

std::vector<YamlMap::Element> YamlMap::elements(std::string_view key) {
  std::vector<Element> list;
  const YamlValue* node = find(key);
  if (node == nullptr || node->is_null()) return list;
  const auto add = [&](const YamlValue& item) {
    if (item.is_null()) return refuse(key, "found nothing in the list; allowed: values");
    Element element{value_text(item), item.line, std::nullopt};
    if (item.is_map())
      element.map = nested(item, fmt::format("{}{}[{}].", prefix_, key, list.size()));
    list.push_back(std::move(element));
  };
  if (node->is_list())
    for (const YamlValue* item : node->items) add(*item);
  else
    add(*node);
  return list;
}

}  // namespace ergometer::spec
