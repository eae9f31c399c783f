#include "compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/text.h"
#include "run/row_columns.h"

namespace ergometer::compare {
namespace {

constexpr size_t kMostWords = 3;
/// Of a step; what costs less is not worth a change.
constexpr double kWorthwhile = 1e-4;

double step_share(const Cause& cause) { return base::value_or(cause.amount, "step_time_s", 0); }

const Quantity* find(const std::vector<Quantity>& list, std::string_view name) {
  const auto it = std::ranges::find(list, name, &Quantity::name);
  return it == list.end() ? nullptr : &*it;
}

/// What the slower side would win by taking over a cause from the other, the dearest first.
std::vector<const Cause*> to_change(const Comparison& comparison, double sign) {
  std::vector<const Cause*> list;
  for (const Cause& cause : comparison.causes)
    if (sign * step_share(cause) > 0) list.push_back(&cause);
  std::ranges::stable_sort(list, [&](const Cause* x, const Cause* y) {
    return sign * step_share(*x) > sign * step_share(*y);
  });
  return list;
}

/// " ; the 90 % intervals overlap", where a side is predicted.
std::string interval_text(const Quantity& step) {
  const Range &a = step.a_range, &b = step.b_range;
  if (a.known() && b.known())
    return a.low <= b.high && b.low <= a.high ? "; the 90 % intervals overlap"
                                              : "; the 90 % intervals do not overlap";
  if (!a.known() && !b.known()) return {};
  const bool inside = b.known() ? b.holds(step.a) : a.holds(step.b);
  return fmt::format("; {}'s lies {} {}'s 90 % interval", b.known() ? "A" : "B",
                     inside ? "inside" : "outside", b.known() ? "B" : "A");
}

/// "B takes 11.9 % longer, 4.95 s against 4.42 s; the 90 % intervals overlap."
std::string how_much(const Quantity& step) {
  constexpr double kLeast = 0.05, kTwice = 100;
  const double percent = 100 * std::abs(step.difference()) / step.a;
  const std::string share =
      percent < kLeast ? std::string("less than 0.1 %") : fmt::format("{:.1f} %", percent);
  const std::string a = base::format_seconds(step.a), b = base::format_seconds(step.b);
  const char* direction = step.difference() > 0 ? "longer" : "less";
  std::string text = step.difference() > 0 && percent >= kTwice
                         ? fmt::format("B takes {:.3g} times as long", step.b / step.a)
                         : fmt::format("B takes {} {}", share, direction);
  text += a == b ? fmt::format(", {} of {}", base::format_seconds(std::abs(step.difference())), a)
                 : fmt::format(", {} against {}", b, a);
  return text + interval_text(step) + ". ";
}

std::string step_text(const Cause& cause) {
  return fmt::format("{} ({})", cause.title, base::format_seconds(std::abs(step_share(cause))));
}

}  // namespace

std::vector<Quantity> parts_of(const run::Breakdown& a, const run::Breakdown& b) {
  std::vector<Quantity> parts;
  run::kBreakdownColumns.for_each([&](std::string_view name, auto part) {
    parts.push_back({std::string(name), "s", a.*part, b.*part});
  });
  return parts;
}

std::string in_words(const std::vector<Difference>& differences) {
  std::string text;
  for (size_t i = 0; i < std::min(differences.size(), kMostWords); ++i)
    text += fmt::format("{}{} {} -> {}", i == 0 ? "" : ", ", differences[i].name, differences[i].a,
                        differences[i].b);
  if (differences.size() > kMostWords)
    text += fmt::format(" and {} more", differences.size() - kMostWords);
  return text;
}

void rank_causes(Comparison& comparison) {
  std::ranges::stable_sort(comparison.causes, [](const Cause& x, const Cause& y) {
    return std::abs(step_share(x)) > std::abs(step_share(y));
  });
}

std::string verdict_of(const Comparison& comparison) {
  const Quantity* step = find(comparison.quantities, "step_time_s");
  if (step == nullptr || comparison.causes.empty()) return "Nothing differs that has an effect";
  if (step->difference() == 0) return "Both take the same time";
  const bool b_slower = step->difference() > 0;
  const char *slow = b_slower ? "B" : "A", *fast = b_slower ? "A" : "B";
  const double sign = b_slower ? 1 : -1;
  const std::vector<const Cause*> costs = to_change(comparison, sign);
  if (costs.empty()) return how_much(*step) + "No cause explains it: it is rounding";
  const bool measured = comparison.method == Method::kMeasured;
  std::string text =
      how_much(*step) +
      fmt::format("{} loses most {} {}", slow, measured ? "in" : "by", step_text(*costs.front()));
  const double least_s = kWorthwhile * std::min(step->a, step->b);
  const auto is_worthwhile = [&](const std::vector<const Cause*>& causes, size_t i) {
    return i < causes.size() && std::abs(step_share(*causes[i])) > least_s;
  };
  if (is_worthwhile(costs, 1)) text += fmt::format("; next would be {}", step_text(*costs[1]));
  const auto gains = to_change(comparison, -sign);
  if (!is_worthwhile(gains, 0)) return text;
  text += measured ? fmt::format("; {} loses most in {}", fast, step_text(*gains.front()))
                   : fmt::format("; {} would gain by taking over {}'s {}", fast, slow,
                                 step_text(*gains.front()));
  return text;
}

}  // namespace ergometer::compare
