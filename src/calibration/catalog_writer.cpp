#include "calibration/catalog_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace ergometer::calibration {
namespace {

/// Part of a text.
struct Piece {
  size_t begin = 0, end = 0;
  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

constexpr size_t kNone = std::string_view::npos;

/// The line that begins, behind blanks, with `name:` and an opening brace.
Piece line_of(std::string_view text, std::string_view name) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const size_t first = line.find_first_not_of(' ');
    if (first != kNone && first > 0 && line.substr(first).starts_with(name) &&
        line.substr(first + name.size()).starts_with(": {"))
      return {begin, end};
    begin = end + 1;
  }
  return {};
}

/// Behind `key: `, up to the next comma or brace, or in quotes up to the closing one.
Piece value_of(std::string_view text, Piece line, std::string_view key) {
  const std::string lead = fmt::format("{}: ", key);
  size_t begin = text.find(lead, line.begin);
  if (begin == kNone || begin >= line.end) return {};
  begin += lead.size();
  if (begin < line.end && text[begin] == '"') {
    size_t end = begin + 1;
    while (end < line.end && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return end < line.end ? Piece{begin, end + 1} : Piece{};
  }
  size_t end = text.find_first_of(",}", begin);
  return end < line.end ? Piece{begin, end} : Piece{};
}

/// `value` in the unit of `old`: "1700 MHz" makes 1.65e9 "1650 MHz".
Result<std::string> in_unit_of(std::string_view old, double value) {
  const size_t space = old.find(' ');
  const std::string_view unit = space == kNone ? std::string_view() : old.substr(space + 1);
  ERGOMETER_ASSIGN(const base::Measure one, base::parse_measure(fmt::format("1 {}", unit)));
  const std::string number = four_digits(value / one.value);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

}  // namespace

std::string four_digits(double value) {
  constexpr double kLong = 1e4;
  if (std::abs(value) < kLong) return fmt::format("{:.4g}", value);
  const auto rounded = base::parse_number(fmt::format("{:.3e}", value));
  return fmt::format("{:.0f}", rounded ? *rounded : value);
}

Result<std::string> replace_parameter(std::string_view text, const std::string& file,
                                      const Replacement& replacement) {
  const Piece line = line_of(text, replacement.name);
  const Piece value = value_of(text, line, "value");
  const Piece source = value_of(text, line, "source");
  const Piece grade = value_of(text, line, "grade");
  if (line.end == 0 || value.end == 0 || value.end > source.begin || source.end > grade.begin)
    return input_error(
        "{}: {} does not stand on one line as {{value: ..., source: \"...\", grade: ...}}", file,
        replacement.name);
  ERGOMETER_ASSIGN(const std::string number, in_unit_of(value.of(text), replacement.value));
  std::string out(text.substr(0, value.begin));
  out += number;
  out += text.substr(value.end, source.begin - value.end);
  out += fmt::format("\"{}\"", replacement.source);
  out += text.substr(source.end, grade.begin - source.end);
  out += replacement.grade;
  out += text.substr(grade.end);
  return out;
}

}  // namespace ergometer::calibration
