#include "intake/reader/toml_flat.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <string_view>

namespace ergometer::intake {
namespace {

/// Items of a list are joined by commas, those of a list inside one by spaces.
std::string item_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  std::string text;
  if (const auto* list = node.as_array())
    for (const toml::node& item : *list) text += (text.empty() ? "" : " ") + item_text(item);
  return text;
}

void add_table(const toml::table& table, const std::string& prefix, spec::FlatYaml& values) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      add_table(*inner, path + ".", values);
      continue;
    }
    std::string text;
    if (const auto* list = node.as_array())
      for (const toml::node& item : *list) text += (text.empty() ? "" : ",") + item_text(item);
    else
      text = item_text(node);
    values[path] = {std::move(text), static_cast<int>(node.source().begin.line)};
  }
}

}  // namespace

Result<spec::FlatYaml> flatten_toml(const std::string& text, const std::string& file) {
  try {
    // The path as a view: as a string it would be moved into every node of the document.
    const toml::table table = toml::parse(std::string_view(text), std::string_view(file));
    spec::FlatYaml values;
    add_table(table, "", values);
    return values;
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return input_error("{}:{}:{}: not valid TOML: {}", file, static_cast<int>(at.line),
                       static_cast<int>(at.column), error.description());
  }
}

}  // namespace ergometer::intake
