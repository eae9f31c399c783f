#include "spec/yaml/yaml_flat.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "spec/yaml/yaml_document.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::spec {
namespace {

constexpr size_t kMostYamlValues = 100'000;
constexpr int kDeepestYaml = 32;

/// 8_192 is a number in YAML 1.1, which Python's readers follow.
std::string scalar_text(const YAML::Node& node) {
  std::string text = node.Scalar();
  const bool digits = !text.empty() && text.front() >= '0' && text.front() <= '9' &&
                      text.find_first_not_of("0123456789_") == text.npos;
  if (digits && node.Tag() == "?") std::erase(text, '_');
  return text;
}

int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }

class Flattener {
 public:
  Flattener(const std::string& file, FlatYaml* nulls) : file_(file), nulls_(nulls) {}

  /// A key that stands twice and says the same is no mistake that changes anything.
  Result<void> add_map(const YAML::Node& map, const std::string& prefix, int depth) {
    std::vector<std::string> seen;
    for (const auto& pair : map) {
      if (!pair.first.IsScalar()) continue;
      const std::string key = pair.first.Scalar();
      const std::string path = prefix + key;
      const auto before = values.find(path);
      const bool same = before != values.end() && pair.second.IsScalar() &&
                        before->second.text == pair.second.Scalar();
      if (!same && base::contains(seen, key))
        return input_error("{}:{}: {}: stands here a second time", file_, line_of(pair.first),
                           path);
      seen.push_back(key);
      if (key == kMerge && !pair.second.IsScalar()) continue;
      ERGOMETER_TRY(add(pair.second, path, line_of(pair.first), depth));
    }
    return add_merged(map, prefix, seen, depth);
  }

  FlatYaml values;

 private:
  static constexpr std::string_view kMerge = "<<";

  /// `<<: *base`, or a list of such maps: what the map itself does not say, the first that says it.
  Result<void> add_merged(const YAML::Node& map, const std::string& prefix,
                          std::vector<std::string>& seen, int depth) {
    if (!base::contains(seen, kMerge)) return {};
    const YAML::Node merged = map[std::string(kMerge)];
    if (!merged.IsDefined()) return {};
    std::vector<YAML::Node> maps;
    if (merged.IsMap()) maps.push_back(merged);
    if (merged.IsSequence())
      for (const auto& one : merged) maps.push_back(one);
    for (const YAML::Node& one : maps) {
      if (!one.IsMap()) continue;
      std::vector<std::string> own = seen;
      for (const auto& pair : one) {
        if (!pair.first.IsScalar()) continue;
        const std::string key = pair.first.Scalar();
        own.push_back(key);
        if (key != kMerge && !base::contains(seen, key))
          ERGOMETER_TRY(add(pair.second, prefix + key, line_of(pair.first), depth));
      }
      if (depth < kDeepestYaml) ERGOMETER_TRY(add_merged(one, prefix, own, depth + 1));
      seen = std::move(own);
    }
    return {};
  }

  Result<void> add(const YAML::Node& node, const std::string& path, int line, int depth) {
    if (depth > kDeepestYaml || values.size() > kMostYamlValues)
      return input_error("{}:{}: {}: too deep or too many values", file_, line, path);
    if (node.IsMap()) return add_map(node, path + ".", depth + 1);
    if (node.IsSequence()) return add_list(node, path, line, depth);
    if (node.IsScalar() && node.Scalar() != "null" && node.Scalar() != "~")
      values[path] = {scalar_text(node), line};
    else if (nulls_ != nullptr)
      (*nulls_)[path] = {"", line};
    return {};
  }

  /// Scalars are one value, mappings stand under their place: "callbacks.0.tp_comm_overlap".
  Result<void> add_list(const YAML::Node& list, const std::string& path, int line, int depth) {
    std::string joined;
    size_t index = 0;
    for (const auto& item : list) {
      if (item.IsScalar()) joined += (joined.empty() ? "" : ",") + item.Scalar();
      if (item.IsMap()) ERGOMETER_TRY(add_map(item, fmt::format("{}.{}.", path, index), depth + 1));
      ++index;
    }
    values[path] = {joined, line};
    return {};
  }

  const std::string& file_;
  FlatYaml* nulls_;
};

/// The innermost `${...}` of a text, which holds no other one.
bool innermost(const std::string& text, size_t& begin, size_t& end) {
  end = text.find('}');
  if (end == text.npos) return false;
  begin = text.rfind("${", end);
  return begin != text.npos;
}

std::string_view unquoted(std::string_view word) {
  constexpr std::string_view kAround = " '\"";
  while (!word.empty() && base::contains(kAround, word.substr(0, 1))) word.remove_prefix(1);
  while (!word.empty() && base::contains(kAround, word.substr(word.size() - 1)))
    word.remove_suffix(1);
  return word;
}

/// NeMo's arithmetic on whole numbers, "multiply:4,12288"; empty when it is none.
std::string calculated(std::string_view reference) {
  const size_t colon = reference.find(':'), comma = reference.find(',');
  if (colon == reference.npos || comma == reference.npos || comma < colon) return "";
  const std::string_view name = reference.substr(0, colon);
  const auto a = base::parse_integer(unquoted(reference.substr(colon + 1, comma - colon - 1)));
  const auto b = base::parse_integer(unquoted(reference.substr(comma + 1)));
  constexpr int64_t kLargest = 1'000'000'000;
  if (!a || !b || std::abs(*a) > kLargest || std::abs(*b) > kLargest) return "";
  if (name == "multiply" || name == "mul") return std::to_string(*a * *b);
  if (name == "add" || name == "sum") return std::to_string(*a + *b);
  const bool positive = *a >= 0 && *b > 0;
  if ((name == "div" || name == "divide_floor") && positive) return std::to_string(*a / *b);
  if (name == "divide_ceil" && positive) return std::to_string((*a + *b - 1) / *b);
  return "";
}

/// "oc.env:NAME,default"; empty when the environment lacks it and there is no default.
std::string from_environment(std::string_view reference, const YamlContext& context) {
  const std::string_view inside = reference.substr(reference.find(':') + 1);
  const size_t comma = inside.find(',');
  const std::string_view name = unquoted(inside.substr(0, comma));
  if (const auto it = context.environment.find(name); it != context.environment.end())
    return it->second;
  if (comma == inside.npos) return "";
  const std::string fallback(unquoted(inside.substr(comma + 1)));
  if (context.defaults_taken != nullptr)
    context.defaults_taken->insert(fmt::format("{} = {}", name, fallback));
  return fallback;
}

/// What `${reference}` stands for in the value at `path`; empty when it is none of ours.
std::string referenced(const FlatYaml& values, const std::string& path, std::string_view reference,
                       const YamlContext& context) {
  if (reference.starts_with("oc.env:")) return from_environment(reference, context);
  if (reference.starts_with("oc.decode:")) return std::string(unquoted(reference.substr(10)));
  if (std::string number = calculated(reference); !number.empty()) return number;
  std::string target(reference);
  if (target.starts_with('.')) {
    const size_t dot = path.rfind('.');
    target = (dot == path.npos ? "" : path.substr(0, dot)) + target;
  }
  // What has references of its own waits for them: ".sibling" is another one here.
  const auto it = values.find(target);
  return it == values.end() || base::contains(it->second.text, "${") ? "" : it->second.text;
}

void replace_references(FlatYaml& values, const YamlContext& context) {
  // Each pass replaces at least one reference; a chain or nest deeper than this is a circle.
  for (int pass = 0; pass < kDeepestYaml; ++pass) {
    bool changed = false;
    for (auto& [path, value] : values) {
      size_t begin = 0, end = 0;
      if (!innermost(value.text, begin, end)) continue;
      const std::string meaning = referenced(
          values, path, std::string_view(value.text).substr(begin + 2, end - begin - 2), context);
      if (meaning.empty() || meaning.size() > 1000 || meaning == value.text) continue;
      value.text = value.text.substr(0, begin) + meaning + value.text.substr(end + 1);
      changed = true;
    }
    if (!changed) break;
  }
  // A reference to nothing is nothing, as a null in the file is.
  std::erase_if(values, [](const auto& item) { return item.second.text == "null"; });
}

/// `a.b` has another value, `~a.b` and what stands under it is taken away.
void override_value(FlatYaml& values, const std::string& path, const FlatValue& value) {
  if (!path.starts_with('~')) {
    values[path] = value;
    return;
  }
  const std::string key = path.substr(1);
  std::erase_if(values, [&](const auto& item) {
    return item.first == key || item.first.starts_with(key + '.');
  });
}

}  // namespace

Result<FlatYaml> flatten_yaml(std::string_view text, const std::string& file,
                              const YamlContext& context) {
  try {
    const std::vector<YAML::Node> documents = yaml_nodes(std::string(text));
    if (documents.size() > 1) return second_document(file, line_of(documents[1]));
    const YAML::Node node = documents.empty() ? YAML::Node() : documents.front();
    if (!node.IsMap()) return input_error("{}:1: expected a YAML mapping (key: value)", file);
    Flattener flattener(file, context.nulls);
    ERGOMETER_TRY(flattener.add_map(node, "", 0));
    for (const auto& [path, value] : context.overrides)
      override_value(flattener.values, path, value);
    replace_references(flattener.values, context);
    return std::move(flattener.values);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
    return input_error("{}:{}:{}: not valid YAML: {}", file, line, column, error.msg);
  }
}

}  // namespace ergometer::spec
