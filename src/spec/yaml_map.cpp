#include "spec/yaml_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

using base::Error;
using base::ErrorKind;
using base::input_error;

int line_at(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }

std::string shown(const YAML::Node& node) {
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return node.Scalar().size() > 60 ? fmt::format("\"{}...\"", node.Scalar().substr(0, 57))
                                   : fmt::format("\"{}\"", node.Scalar());
}

bool indents_by_tabs(std::string_view text) {
  const size_t tab = text.find("\n\t");
  return text.starts_with('\t') || tab != text.npos;
}

constexpr int kMostInlineValues = 100'000;

/// Inline JSON of a nested value, for models and clusters written into a job file. A file whose
/// anchors unfold into more than `budget` values is cut off.
nlohmann::json to_json(const YAML::Node& node, int depth, int& budget) {
  if (depth > 32 || --budget < 0) return nullptr;
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : node) list.push_back(to_json(item, depth + 1, budget));
    return list;
  }
  if (node.IsMap()) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& pair : node)
      object[pair.first.IsScalar() ? pair.first.Scalar() : ""] =
          to_json(pair.second, depth + 1, budget);
    return object;
  }
  if (!node.IsScalar() || node.Scalar() == "null" || node.Scalar() == "~") return nullptr;
  const std::string& text = node.Scalar();
  const bool quoted = node.Tag() == "!";
  if (quoted) return text;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (const auto number = base::parse_integer(text)) return *number;
  if (const auto number = base::parse_number(text)) return *number;
  return text;
}

/// A scalar as it stands, scalars joined by commas, anything else as inline JSON.
std::string value_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  const bool words = node.IsSequence() && std::all_of(node.begin(), node.end(),
                                                      [](const auto& i) { return i.IsScalar(); });
  if (words) {
    std::string text;
    for (const auto& item : node) text += (text.empty() ? "" : ",") + item.Scalar();
    return text;
  }
  int budget = 100'000;
  return to_json(node, 0, budget).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<base::Grade> grade_of(std::string_view word) {
  for (const base::Grade grade : {base::Grade::kDatasheet, base::Grade::kMeasured,
                                  base::Grade::kFitted, base::Grade::kAssumed})
    if (base::to_string(grade) == word) return grade;
  return std::nullopt;
}

}  // namespace

struct YamlMap::Entry {
  std::string key;
  YAML::Node value;
  int line;
};

YamlMap::YamlMap(const YAML::Node& node, std::string file, std::string prefix,
                 std::shared_ptr<std::optional<Error>> error)
    : entries_(std::make_shared<std::vector<Entry>>()),
      file_(std::move(file)),
      prefix_(std::move(prefix)),
      line_(line_at(node)),
      error_(std::move(error)) {
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) {
      refuse_at(line_at(pair.first), "",
                fmt::format("found {} as a key; allowed: a word", shown(pair.first)));
      continue;
    }
    const std::string& key = pair.first.Scalar();
    const int line = line_at(pair.first);
    for (const Entry& entry : *entries_)
      if (entry.key == key)
        refuse_at(line, key,
                  fmt::format("stands here a second time; the first is on line {}", entry.line));
    entries_->push_back({key, pair.second, line});
  }
}

base::Result<YamlMap> YamlMap::parse(std::string_view text, const std::string& file) {
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    if (!node.IsMap()) {
      const std::string found = node.IsNull() ? "nothing" : shown(node);
      return input_error(
          fmt::format("{}:1: found {}; expected a YAML mapping (key: value)", file, found));
    }
    YamlMap map(node, file, "", std::make_shared<std::optional<Error>>());
    if (map.error()) return tl::unexpected(*map.error());
    return map;
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
    const std::string_view tab =
        indents_by_tabs(text) ? "; a line begins with a tab, YAML indents with spaces" : "";
    return input_error(
        fmt::format("{}:{}:{}: not valid YAML: {}{}", file, line, column, error.msg, tab));
  }
}

const YAML::Node* YamlMap::find(std::string_view key) const {
  for (const Entry& entry : *entries_)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

bool YamlMap::has(std::string_view key) const {
  const YAML::Node* node = find(key);
  return node != nullptr && !node->IsNull();
}

std::vector<std::string> YamlMap::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : *entries_) keys.push_back(entry.key);
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
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const auto near = base::nearest(entry.key, keys);
    refuse(entry.key, fmt::format("is not a known key{}; allowed: {}",
                                  near ? fmt::format("; did you mean {}?", *near) : "",
                                  fmt::join(keys, ", ")));
  }
}

void YamlMap::require(std::string_view key) {
  if (!has(key)) refuse(key, "is missing");
}

std::string YamlMap::text(std::string_view key, std::string_view fallback) {
  if (!has(key)) return std::string(fallback);
  const YAML::Node* node = find(key);
  if (node->IsScalar()) return node->Scalar();
  refuse(key, fmt::format("found {}; allowed: a word or text", shown(*node)));
  return std::string(fallback);
}

int64_t YamlMap::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
  if (!has(key)) return fallback;
  const YAML::Node* node = find(key);
  const auto number = base::parse_integer(node->IsScalar() ? node->Scalar() : "");
  if (number && *number >= min && *number <= max) return *number;
  refuse(key,
         fmt::format("found {}; allowed: a whole number from {} to {}", shown(*node), min, max));
  return fallback;
}

double YamlMap::real(std::string_view key, double fallback, double min, double max) {
  if (!has(key)) return fallback;
  const YAML::Node* node = find(key);
  const auto number = base::parse_number(node->IsScalar() ? node->Scalar() : "");
  if (number && *number >= min && *number <= max) return *number;
  refuse(key, fmt::format("found {}; allowed: a number from {} to {}", shown(*node), min, max));
  return fallback;
}

std::vector<int64_t> YamlMap::integers(std::string_view key, int64_t min, int64_t max) {
  std::vector<int64_t> numbers;
  if (!has(key)) return numbers;
  const YAML::Node* node = find(key);
  if (!node->IsSequence())
    refuse(key, fmt::format("found {}; allowed: a list of whole numbers", shown(*node)));
  else
    for (const auto& item : *node) {
      const auto number = base::parse_integer(item.IsScalar() ? item.Scalar() : "");
      if (number && *number >= min && *number <= max)
        numbers.push_back(*number);
      else
        refuse(key, fmt::format("found {} in the list; allowed: whole numbers from {} to {}",
                                shown(item), min, max));
    }
  return numbers;
}

int YamlMap::choice(std::string_view key, const std::vector<std::string>& words, int fallback) {
  if (!has(key)) return fallback;
  const std::string word = text(key);
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<int>(at - words.begin());
  const auto near = base::nearest(word, words);
  refuse(key,
         fmt::format("found {}{}; allowed: {}", shown(*find(key)),
                     near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(words, ", ")));
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
    holder.refuse(value_key, fmt::format("found {}; allowed: from {} to {}{}{}",
                                         shown(*holder.find(value_key)), min, max,
                                         unit.empty() ? "" : " ", unit));
  else
    holder.refuse(value_key, value.error().message);
  return result;
}

YamlMap YamlMap::nested(const YAML::Node& node, const std::string& prefix) {
  return YamlMap(node, file_, prefix, error_);
}

std::optional<YamlMap> YamlMap::map(std::string_view key) {
  const YAML::Node* node = find(key);
  if (node == nullptr || node->IsScalar() || node->IsNull()) return std::nullopt;
  if (node->IsMap()) return nested(*node, fmt::format("{}{}.", prefix_, key));
  refuse(key, fmt::format("found {}; allowed: a mapping", shown(*node)));
  return std::nullopt;
}

std::vector<YamlMap> YamlMap::maps(std::string_view key) {
  std::vector<YamlMap> list;
  if (!has(key)) return list;
  const YAML::Node* node = find(key);
  if (!node->IsSequence())
    refuse(key, fmt::format("found {}; allowed: a list of mappings", shown(*node)));
  else
    for (const auto& item : *node) {
      const std::string prefix = fmt::format("{}{}[{}].", prefix_, key, list.size());
      if (!item.IsMap()) {
        refuse(key, fmt::format("found {} in the list; allowed: mappings", shown(item)));
        return {};
      }
      list.push_back(nested(item, prefix));
    }
  return list;
}

std::vector<std::string> YamlMap::texts(std::string_view key) {
  std::vector<std::string> list;
  if (!has(key)) return list;
  const YAML::Node* node = find(key);
  if (!node->IsSequence()) {
    refuse(key, fmt::format("found {}; allowed: a list of texts, as [one, two]", shown(*node)));
    return list;
  }
  for (const auto& item : *node) {
    if (!item.IsScalar()) {
      refuse_at(line_at(item), key,
                fmt::format("found {} in the list; allowed: texts", shown(item)));
      return {};
    }
    list.push_back(item.Scalar());
  }
  return list;
}

std::string YamlMap::as_json() const {
  nlohmann::json object = nlohmann::json::object();
  int budget = kMostInlineValues;
  for (const Entry& entry : *entries_) object[entry.key] = to_json(entry.value, 0, budget);
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<YamlMap::Item> YamlMap::items() {
  std::vector<Item> list;
  for (const Entry& entry : *entries_)
    if (!entry.value.IsNull())
      list.push_back({entry.key, value_text(entry.value), entry.line, entry.value.IsMap(),
                      entry.value.IsScalar()});
  return list;
}

std::vector<YamlMap::Element> YamlMap::elements(std::string_view key) {
  std::vector<Element> list;
  const YAML::Node* node = find(key);
  if (node == nullptr || node->IsNull()) return list;
  const auto add = [&](const YAML::Node& item) {
    if (item.IsNull()) return refuse(key, "found nothing in the list; allowed: values");
    Element element{value_text(item), line_at(item), std::nullopt};
    if (item.IsMap())
      element.map = nested(item, fmt::format("{}{}[{}].", prefix_, key, list.size()));
    list.push_back(std::move(element));
  };
  if (node->IsSequence())
    for (const auto& item : *node) add(item);
  else
    add(*node);
  return list;
}

}  // namespace ergometer::spec
