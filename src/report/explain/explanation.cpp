#include "report/explain/explanation.h"

#include <fmt/format.h>

#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/format.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

/// `told`: what has been explained further up and is not explained again.
void append(std::string& out, const Explanation& node, size_t depth, const TextStyle& style,
            std::set<std::string>& told) {
  const size_t indent = 2 * depth;
  const bool known = !node.inputs.empty() && !told.insert(node.name + '=' + node.text).second;
  out.append(indent, ' ');
  out += paint(style, "1", node.name);
  size_t column = indent + node.name.size();
  if (!node.text.empty()) {
    out += " = " + wrap(node.text, kWidth, column + 3);
    column += 3 + node.text.size();
  }
  if (!node.source.empty()) {
    const bool fits = column + node.source.size() + 4 <= kWidth;
    out += fits ? "  [" : "\n" + std::string(indent + 4, ' ') + "[";
    out += paint(style, "2", fits ? node.source : wrap(node.source, kWidth - 1, indent + 5)) + "]";
  }
  out += known ? "  (see above)\n" : "\n";
  if (known) return;
  if (!node.formula.empty())
    out += std::string(indent + 4, ' ') + "= " + wrap(node.formula, kWidth, indent + 6) + '\n';
  for (const Explanation& input : node.inputs) append(out, input, depth + 1, style, told);
}

void write(base::JsonWriter& json, const Explanation& node) {
  json.member("name", node.name).known("value", node.number).member("text", node.text);
  json.known("formula", node.formula).known("source", node.source);
  if (!node.inputs.empty()) json.objects("inputs", node.inputs, write);
}

}  // namespace

Explanation number_node(std::string name, double value, std::string_view unit, std::string formula,
                        std::string source) {
  return {std::move(name),
          format_quantity(value, unit),
          value,
          std::move(formula),
          std::move(source),
          {}};
}

Explanation memory_node(std::string name, double bytes, std::string formula, std::string source) {
  return {std::move(name),
          base::format_binary_bytes(bytes),
          bytes,
          std::move(formula),
          std::move(source),
          {}};
}

std::string credit(const base::Parameter& parameter) {
  return fmt::format("{}; {}", to_string(parameter.grade), parameter.source);
}

std::string to_text(const Explanation& explanation, const TextStyle& style) {
  std::string out;
  std::set<std::string> told;
  append(out, explanation, 0, style, told);
  return out;
}

std::string to_json(const Explanation& explanation) {
  base::JsonWriter json;
  json.begin_object();
  write(json, explanation);
  return json.end_object().take();
}

}  // namespace ergometer::report
