#include "report/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "base/text.h"
#include "report/format.h"

namespace ergometer::report {
namespace {

using compare::Cause;
using compare::Comparison;
using compare::Quantity;

constexpr size_t kComparisonWidth = 100;
constexpr size_t kTitleWidth = 38;
constexpr size_t kMostInMatrix = 8;

/// Of bytes that lie in memory, told in GiB; those that travel are told as rates are, in GB.
constexpr const char* kMemory = "bytes of memory";
std::string unit_of(const Quantity& quantity) {
  return quantity.name == "peak_memory_bytes" ? kMemory : quantity.unit;
}

/// Less than rounding leaves of a step reads as nothing.
std::string in_unit(double value, const std::string& unit) {
  constexpr double kShortest = 1e-12;
  if (unit == "s" && std::abs(value) < kShortest) return "0 s";
  if (unit == "s") return base::format_seconds(value);
  if (unit == "MHz") return fmt::format("{:.0f} MHz", value);
  if (unit == "C") return fmt::format("{:.1f} C", value);
  if (unit.empty()) return base::format_percent(value);
  if (unit == kMemory) return base::format_binary_bytes(value);
  return base::format_si(value, unit);
}

/// "+1.23 s"; zero, and what rounding leaves, has no sign.
std::string signed_text(double value, const std::string& unit) {
  constexpr double kRounding = 1e-9;
  if (std::abs(value) < kRounding) return in_unit(0, unit);
  const char* sign = value > 0 ? "+" : value < 0 ? "-" : "";
  const std::string size = in_unit(std::abs(value), unit);
  return size == in_unit(0, unit) ? size : sign + size;
}

double value_of(const std::map<std::string, double>& numbers, const std::string& name) {
  const auto it = numbers.find(name);
  return it == numbers.end() ? 0 : it->second;
}

const Quantity* find(const Comparison& comparison, std::string_view name) {
  for (const Quantity& quantity : comparison.quantities)
    if (quantity.name == name) return &quantity;
  return nullptr;
}

/// Energy of the cluster, or of the GPUs where nothing else is known.
const Quantity* energy(const Comparison& comparison) {
  const Quantity* whole = find(comparison, "energy_j_per_step");
  return whole != nullptr ? whole : find(comparison, "gpu_energy_j_per_step");
}

/// What would read 0.0 % has no sign.
std::string percent_of(double part, double whole) {
  if (whole == 0) return "-";
  const double percent = 100 * part / whole;
  return std::abs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

std::string sides(const Comparison& comparison) {
  base::Table table("<26 >15 >15 >15 >11");
  table.row("", "A", "B", "B - A", "of A");
  const auto line = [&](const Quantity& q) {
    const std::string unit = unit_of(q);
    table.row(q.name, in_unit(q.a, unit), in_unit(q.b, unit), signed_text(q.difference(), unit),
              percent_of(q.difference(), q.a));
  };
  for (const Quantity& quantity : comparison.quantities) line(quantity);
  for (const Quantity& fact : comparison.facts) line(fact);
  return fmt::format("A  {}\nB  {}\n\n", comparison.a, comparison.b) + table.text();
}

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string cause_line(const std::string& title, double seconds, double whole_s, double joules,
                       const Quantity* power) {
  return fmt::format("{:<{}} {:>12} {:>10}{}\n", cut(title, kTitleWidth), kTitleWidth,
                     signed_text(seconds, "s"), percent_of(seconds, whole_s),
                     power == nullptr ? ""
                                      : fmt::format(" {:>12} {:>10}", signed_text(joules, "J"),
                                                    percent_of(joules, power->difference())));
}

std::string causes(const Comparison& comparison) {
  const Quantity* step = find(comparison, "step_time_s");
  const Quantity* power = energy(comparison);
  const std::string joules = power == nullptr ? "" : power->name;
  const double whole = step->difference();
  std::string out =
      fmt::format("{:<{}} {:>12} {:>10}{}\n", "", kTitleWidth, "step", "of B - A",
                  power == nullptr ? "" : fmt::format(" {:>12} {:>10}", "energy", "of B - A"));
  for (const Cause& cause : comparison.causes) {
    out += cause_line(cause.title, value_of(cause.amount, step->name), whole,
                      value_of(cause.amount, joules), power);
    const std::string whole_title = cause.title.size() > kTitleWidth ? cause.title + ": " : "";
    if (!cause.detail.empty())
      out += "    " + wrap(whole_title + cause.detail, kComparisonWidth, 4) + '\n';
  }
  out += cause_line("residual", value_of(comparison.residual, step->name), whole,
                    value_of(comparison.residual, joules), power);
  out += cause_line("B - A", whole, whole, power == nullptr ? 0 : power->difference(), power);
  return out;
}

/// Columns for the parts of the step that some cause or side has.
std::string matrix(const Comparison& comparison) {
  std::vector<const Quantity*> parts;
  for (const Quantity& part : comparison.parts)
    if (part.a != 0 || part.b != 0) parts.push_back(&part);
  std::string layout = fmt::format("<{}", kTitleWidth);
  for (size_t i = 0; i < parts.size(); ++i) layout += " >12";
  base::Table table(layout);
  const auto short_name = [](std::string name) {
    if (name.starts_with("exposed_")) name.erase(0, 8);
    std::replace(name.begin(), name.end(), '_', '-');
    return name == "reduce-scatter" ? "red-scatter" : name;
  };
  std::vector<std::string> head = {""};
  for (const Quantity* part : parts) head.push_back(short_name(part->name));
  table.add(std::move(head));
  const auto row = [&](const std::string& title, const auto& number) {
    std::vector<std::string> cells = {cut(title, kTitleWidth)};
    for (const Quantity* part : parts) cells.push_back(number(*part));
    table.add(std::move(cells));
  };
  row("A", [](const Quantity& part) { return in_unit(part.a, "s"); });
  for (size_t i = 0; i < std::min(comparison.causes.size(), kMostInMatrix); ++i) {
    const Cause& cause = comparison.causes[i];
    if (cause.parts.empty()) continue;
    row(cause.title,
        [&](const Quantity& part) { return signed_text(value_of(cause.parts, part.name), "s"); });
  }
  row("B", [](const Quantity& part) { return in_unit(part.b, "s"); });
  return table.text();
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const TextStyle& style) {
  std::string out = sides(comparison);
  if (comparison.causes.empty()) return out + '\n' + comparison.verdict + '\n';
  out += '\n' + heading(style, "What makes the difference") + '\n' + causes(comparison);
  const bool by_part = std::any_of(comparison.causes.begin(), comparison.causes.end(),
                                   [](const Cause& cause) { return !cause.parts.empty(); });
  if (by_part && !comparison.parts.empty())
    out += '\n' + heading(style, "By part of the step, exposed communication by kind") + '\n' +
           matrix(comparison);
  out += '\n' + wrap(comparison.verdict, kComparisonWidth, 0) + '\n';
  if (comparison.method == compare::Method::kCounterfactual)
    out += fmt::format("{} jobs were simulated.\n", comparison.simulations);
  for (const std::string& note : comparison.notes)
    out += "note: " + wrap(note, kComparisonWidth, 6) + '\n';
  return out;
}

}  // namespace ergometer::report
