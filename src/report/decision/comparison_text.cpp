#include "report/decision/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "run/labels.h"

namespace ergometer::report {
namespace {

using compare::Cause;
using compare::Comparison;
using compare::Quantity;

constexpr size_t kLongestLine = 100;  ///< of sentences, which nobody reads in longer ones
constexpr size_t kNumbersWidth = 48;  ///< of the columns beside a cause's title
constexpr size_t kShortestTitle = 30, kLongestTitle = 60;
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
  return base::value_or(numbers, name, 0);
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

/// Of a difference that is next to nothing beside what differs there are no shares.
std::string percent_of(double part, double whole, double beside = 0) {
  constexpr double kNothing = 1e-6;
  if (std::abs(whole) <= kNothing * std::abs(beside)) return "-";
  return format_change(part / whole);
}

/// Degrees have no share: their zero is anywhere.
std::string relative(const Quantity& q) {
  return unit_of(q) == "C" ? "-" : percent_of(q.difference(), q.a);
}

/// "1.13 s to 1.25 s", and before it whether what was measured lies outside.
std::string interval_of(const Quantity& q) {
  if (!q.is_held_to_prediction()) return "-";
  const compare::Range& range = q.a_range.known() ? q.a_range : q.b_range;
  return fmt::format("{}{} to {}", q.is_inside() ? "" : "outside ", in_unit(range.low, unit_of(q)),
                     in_unit(range.high, unit_of(q)));
}

/// What sensors of measured sides leave open; nothing without one.
std::string sensors_line(const std::vector<const Quantity*>& numbers) {
  double a = 0, b = 0;
  for (const Quantity* q : numbers) {
    a = std::max(a, q->a_error);
    b = std::max(b, q->b_error);
  }
  std::string sides;
  for (const auto& [side, error] : {std::pair("A", a), std::pair("B", b)})
    if (error > 0)
      sides += fmt::format("{}{} +-{:.1f} %", sides.empty() ? "" : ", ", side, 100 * error);
  return sides.empty() ? sides : fmt::format("  measured power and energy: {} (90 %)\n", sides);
}

/// What was measured beside the intervals in which it is predicted.
std::string held_to_prediction(const std::vector<const Quantity*>& numbers,
                               const TextStyle& style) {
  base::Table table("<22 >11 >11 >8 >27");
  table.row("", "A", "B", "of A", "predicted, 90 %");
  for (const Quantity* q : numbers) {
    const std::string unit = unit_of(*q);
    table.row(run::label_of(q->name), in_unit(q->a, unit), in_unit(q->b, unit), relative(*q),
              interval_of(*q));
  }
  return table_text(table, style) + sensors_line(numbers);
}

/// Both sides' numbers, in the one order that all comparisons have.
std::string sides(const Comparison& comparison, const TextStyle& style) {
  std::vector<const Quantity*> numbers;
  for (const Quantity& quantity : comparison.quantities) numbers.push_back(&quantity);
  for (const Quantity& fact : comparison.facts) numbers.push_back(&fact);
  std::ranges::stable_sort(numbers, [](const Quantity* x, const Quantity* y) {
    return run::place_of(x->name) < run::place_of(y->name);
  });
  if (std::ranges::any_of(numbers, [](const Quantity* q) { return q->is_held_to_prediction(); }))
    return held_to_prediction(numbers, style);
  base::Table table("<22 >14 >14 >15 >11");
  table.row("", "A", "B", "B - A", "of A");
  for (const Quantity* q : numbers) {
    const std::string unit = unit_of(*q);
    table.row(run::label_of(q->name), in_unit(q->a, unit), in_unit(q->b, unit),
              signed_text(q->difference(), unit), relative(*q));
  }
  return table_text(table, style) + sensors_line(numbers);
}

/// Columns that a cause's title may take beside its numbers.
size_t title_width(const TextStyle& style) {
  return std::clamp(style.width - kNumbersWidth, kShortestTitle, kLongestTitle);
}

/// What the causes make of the step's time, and of its energy where that is known.
class CauseLines {
 public:
  CauseLines(const Comparison& comparison, const TextStyle& style)
      : step_(find(comparison, "step_time_s")), energy_(energy(comparison)), style_(style) {}

  std::string text(const Comparison& comparison) const {
    std::string out = line("", "step", "of B - A", "energy", "of B - A");
    for (const Cause& cause : comparison.causes)
      out += numbers(cause.title, cause.amount) + detail(cause);
    return out + numbers("residual", comparison.residual) +
           numbers("B - A", {{step_->name, step_->difference()},
                             {energy_ == nullptr ? "" : energy_->name,
                              energy_ == nullptr ? 0 : energy_->difference()}});
  }

 private:
  std::string line(const std::string& title, const std::string& seconds, const std::string& share,
                   const std::string& joules, const std::string& share_of_energy) const {
    std::string out = fmt::format("{:<{}}{:>12}{:>12}", base::cut_to(title, title_width(style_)),
                                  title_width(style_), seconds, share);
    if (energy_ != nullptr) out += fmt::format("{:>12}{:>12}", joules, share_of_energy);
    return out + '\n';
  }

  std::string numbers(const std::string& title, const std::map<std::string, double>& amount) const {
    const double seconds = value_of(amount, step_->name);
    const std::string share = percent_of(seconds, step_->difference(), step_->a);
    if (energy_ == nullptr) return line(title, signed_text(seconds, "s"), share, "", "");
    const double joules = value_of(amount, energy_->name);
    return line(title, signed_text(seconds, "s"), share, signed_text(joules, "J"),
                percent_of(joules, energy_->difference(), energy_->a));
  }

  std::string detail(const Cause& cause) const {
    if (cause.detail.empty()) return {};
    const bool is_cut = cause.title.size() > title_width(style_);
    return "    " +
           wrap((is_cut ? cause.title + ": " : "") + cause.detail,
                std::min(style_.width, kLongestLine), 4) +
           '\n';
  }

  const Quantity *step_, *energy_;
  const TextStyle& style_;
};

/// Columns for the parts of the step that some cause or side has.
std::string matrix(const Comparison& comparison, const TextStyle& style) {
  std::vector<const Quantity*> parts;
  for (const Quantity& part : comparison.parts)
    if (part.a != 0 || part.b != 0) parts.push_back(&part);
  std::string layout = "<";
  for (size_t i = 0; i < parts.size(); ++i) layout += " >12";
  base::Table table(layout);
  std::vector<std::string> head = {""};
  for (const Quantity* part : parts) {
    const auto label = std::string(run::label_of(part->name));
    head.push_back(label == "reduce-scatter" ? "red-scatter" : label);
  }
  table.add(std::move(head));
  const auto row = [&](const std::string& title, const auto& number) {
    std::vector<std::string> cells = {base::cut_to(title, title_width(style))};
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
  return table_text(table, style);
}

/// The settings that only follow, counted.
std::string derived_line(const Comparison& comparison, size_t width) {
  constexpr size_t kMostNamed = 3;
  const size_t count = comparison.derived.size();
  if (count == 0) return {};
  std::string names;
  for (size_t i = 0; i < std::min(count, kMostNamed); ++i)
    names += (i == 0 ? "" : ", ") + comparison.derived[i].name;
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  return wrap(fmt::format("{} that nobody gave {} from these: {}", counted(count, "setting"),
                          count == 1 ? "follows" : "follow", names),
              width, 0) +
         '\n';
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const TextStyle& style) {
  const size_t width = std::min(style.width, kLongestLine);
  std::string out = fmt::format("A  {}\nB  {}\n\n{}\n\n", comparison.a, comparison.b,
                                paint(style, kBold, wrap(comparison.verdict + '.', width, 0))) +
                    sides(comparison, style);
  const auto notes = [&] {
    std::string text;
    for (const std::string& note : comparison.notes) text += "note: " + wrap(note, width, 6) + '\n';
    return text;
  };
  if (comparison.causes.empty()) return out + notes();
  out += '\n' + heading(style, "What makes the difference") + '\n' +
         CauseLines(comparison, style).text(comparison) + derived_line(comparison, width);
  const bool by_part = std::ranges::any_of(comparison.causes,
                                           [](const Cause& cause) { return !cause.parts.empty(); });
  if (by_part && !comparison.parts.empty())
    out += '\n' + heading(style, "By part of the step, exposed communication by kind") + '\n' +
           matrix(comparison, style);
  if (comparison.method == compare::Method::kCounterfactual)
    out += fmt::format("\n{} jobs were simulated.\n", comparison.simulations);
  return out + notes();
}

}  // namespace ergometer::report
