#include "spec/yaml_flat.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace ergometer::spec {
namespace {

constexpr size_t kMostYamlValues = 100'000;
constexpr int kDeepestYaml = 32;

int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }

class Flattener {
 public:
  explicit Flattener(const std::string& file) : file_(file) {}

  base::Result<void> add_map(const YAML::Node& map, const std::string& prefix, int depth) {
    std::vector<std::string> seen;
    for (const auto& pair : map) {
      if (!pair.first.IsScalar()) continue;
      const std::string key = pair.first.Scalar();
      const std::string path = prefix + key;
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        return base::input_error(
            fmt::format("{}:{}: {}: stands here a second time", file_, line_of(pair.first), path));
      seen.push_back(key);
      ERGOMETER_TRY(add(pair.second, path, line_of(pair.first), depth));
    }
    return {};
  }

  FlatYaml values;

 private:
  base::Result<void> add(const YAML::Node& node, const std::string& path, int line, int depth) {
    if (depth > kDeepestYaml || values.size() > kMostYamlValues)
      return base::input_error(
          fmt::format("{}:{}: {}: too deep or too many values", file_, line, path));
    if (node.IsMap()) return add_map(node, path + ".", depth + 1);
    if (node.IsScalar() && node.Scalar() != "null" && node.Scalar() != "~")
      values[path] = {node.Scalar(), line};
    if (node.IsSequence()) return add_list(node, path, line, depth);
    return {};
  }

  /// Scalars are one value, mappings stand under their place: "callbacks.0.tp_comm_overlap".
  base::Result<void> add_list(const YAML::Node& list, const std::string& path, int line,
                              int depth) {
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
};

/// The innermost `${...}` of a text, which holds no other one.
bool innermost(const std::string& text, size_t& begin, size_t& end) {
  end = text.find('}');
  if (end == text.npos) return false;
  begin = text.rfind("${", end);
  return begin != text.npos;
}

std::string multiplied(std::string_view arguments) {
  const size_t comma = arguments.find(',');
  if (comma == arguments.npos) return "";
  const auto trimmed = [](std::string_view word) {
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    return word;
  };
  const auto a = base::parse_integer(trimmed(arguments.substr(0, comma)));
  const auto b = base::parse_integer(trimmed(arguments.substr(comma + 1)));
  constexpr int64_t kLargest = 1'000'000'000;
  if (!a || !b || std::abs(*a) > kLargest || std::abs(*b) > kLargest) return "";
  return std::to_string(*a * *b);
}

/// What `${reference}` stands for in the value at `path`; empty when it is none of ours.
std::string referenced(const FlatYaml& values, const std::string& path,
                       std::string_view reference) {
  if (reference.starts_with("multiply:")) return multiplied(reference.substr(9));
  std::string target(reference);
  if (target.starts_with('.')) {
    const size_t dot = path.rfind('.');
    target = (dot == path.npos ? "" : path.substr(0, dot)) + target;
  }
  const auto it = values.find(target);
  return it == values.end() ? "" : it->second.text;
}

void replace_references(FlatYaml& values) {
  // Each pass replaces at least one reference; a chain or nest deeper than this is a circle.
  for (int pass = 0; pass < kDeepestYaml; ++pass) {
    bool changed = false;
    for (auto& [path, value] : values) {
      size_t begin = 0, end = 0;
      if (!innermost(value.text, begin, end)) continue;
      const std::string meaning =
          referenced(values, path, std::string_view(value.text).substr(begin + 2, end - begin - 2));
      if (meaning.empty() || meaning.size() > 1000 || meaning == value.text) continue;
      value.text = value.text.substr(0, begin) + meaning + value.text.substr(end + 1);
      changed = true;
    }
    if (!changed) return;
  }
}

}  // namespace

base::Result<FlatYaml> flatten_yaml(std::string_view text, const std::string& file) {
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    if (!node.IsMap())
      return base::input_error(fmt::format("{}:1: expected a YAML mapping (key: value)", file));
    Flattener flattener(file);
    ERGOMETER_TRY(flattener.add_map(node, "", 0));
    replace_references(flattener.values);
    return std::move(flattener.values);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
    return base::input_error(
        fmt::format("{}:{}:{}: not valid YAML: {}", file, line, column, error.msg));
  }
}

}  // namespace ergometer::spec
