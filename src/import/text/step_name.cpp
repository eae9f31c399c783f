#include "import/text/step_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <tuple>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::importer {
namespace {

constexpr std::array kStepWords = std::to_array<std::string_view>(
    {"profilerstep", "iteration", "iter", "step", "globalstep", "trainstep", "trainingstep"});
constexpr std::string_view kBetween = " #_:=-";
constexpr size_t kMostStepDigits = 12, kLongestStepName = 40;

}  // namespace

std::optional<int64_t> step_in_name(std::string_view name) {
  if (name.size() > kLongestStepName) return std::nullopt;
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(last + 1);
  if (digits.empty() || digits.size() > kMostStepDigits) return std::nullopt;
  // "global_step" and "Global step" are one word.
  std::string word;
  size_t between = 0;
  for (const char c : name.substr(0, last + 1)) {
    const bool is_between = kBetween.find(c) != std::string_view::npos;
    between = is_between ? between + 1 : 0;
    if (!is_between) word += base::lower(c);
  }
  if (between > 2 || !base::contains(kStepWords, word)) return std::nullopt;
  int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::vector<run::StepMark> steps_of_ranges(const run::RankTrace& trace) {
  std::vector<std::optional<int64_t>> step_of_name;
  for (const std::string& name : trace.names) step_of_name.push_back(step_in_name(name));
  std::vector<run::StepMark> all, steps;
  for (const run::Range& range : trace.ranges)
    if (const auto number = step_of_name[range.name])
      all.push_back({*number, range.start_ns, range.start_ns + range.duration_ns});
  std::ranges::sort(all, [](const run::StepMark& a, const run::StepMark& b) {
    return std::tie(a.start_ns, b.end_ns, a.number) < std::tie(b.start_ns, a.end_ns, b.number);
  });
  for (const run::StepMark& mark : all)
    if (steps.empty() || mark.start_ns >= steps.back().end_ns) steps.push_back(mark);
  return steps;
}

}  // namespace ergometer::importer
