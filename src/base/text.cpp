#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ergometer::base {
namespace {

constexpr std::array<std::string_view, 7> kLargePrefixes = {"", "k", "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 5> kBinaryUnits = {"B", "KiB", "MiB", "GiB", "TiB"};

/// Three significant digits of a value that stays below 1024; the sign is the caller's.
std::string three_digits(double value) {
  // The limits are where rounding to fewer decimals begins to carry.
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

/// Divides by `step` until three digits suffice, at most to the last of `units`.
std::string scaled(double value, double step, std::span<const std::string_view> units,
                   std::string_view unit) {
  if (!std::isfinite(value)) return fmt::format("{} {}{}", value, units[0], unit);
  const bool negative = value < 0;
  value = std::fabs(value);
  size_t prefix = 0;
  while (prefix + 1 < units.size() && value >= step - 0.5) {
    value /= step;
    ++prefix;
  }
  // Whole numbers that need no prefix (bytes, counts) are shown without decimals.
  const bool whole = prefix == 0 && value == std::floor(value);
  std::string text = negative ? "-" : "";
  text += whole ? fmt::format("{:.0f}", value) : three_digits(value);
  if (!units[prefix].empty() || !unit.empty()) text += fmt::format(" {}{}", units[prefix], unit);
  return text;
}

}  // namespace

std::string format_binary_bytes(double bytes) { return scaled(bytes, 1024, kBinaryUnits, ""); }

std::string format_bytes(double bytes) { return format_si(bytes, "B"); }

std::string format_si(double value, std::string_view unit) {
  return scaled(value, 1000, kLargePrefixes, unit);
}

std::string format_seconds(double seconds) {
  struct Scale {
    double below, factor;
    std::string_view unit;
  };
  // Each limit is where three digits of the unit would round up to the next unit's 1.00.
  constexpr Scale kScales[] = {{999.5e-9, 1e9, "ns"},   {999.5e-6, 1e6, "us"},
                               {999.5e-3, 1e3, "ms"},   {120, 1, "s"},
                               {7200, 1.0 / 60, "min"}, {172800, 1.0 / 3600, "h"}};
  if (!std::isfinite(seconds)) return fmt::format("{} s", seconds);
  if (seconds == 0) return "0 s";
  const std::string sign = seconds < 0 ? "-" : "";
  const double size = std::fabs(seconds);
  for (const Scale& scale : kScales)
    if (size < scale.below)
      return fmt::format("{}{} {}", sign, three_digits(size * scale.factor), scale.unit);
  return fmt::format("{}{} days", sign, three_digits(size / 86400));
}

std::string format_nanoseconds(int64_t ns) {
  return format_seconds(static_cast<double>(ns) * 1e-9);
}

std::string format_percent(double fraction) {
  const std::string sign = fraction < 0 ? "-" : "";
  return fmt::format("{}{} %", sign, three_digits(std::fabs(fraction) * 100));
}

std::string format_count(int64_t count) {
  std::string text = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

std::string cut_to(std::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width - 3)) + "...";
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string dashed(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string underscored(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

int64_t line_at(std::string_view text, size_t at) {
  return 1 + std::ranges::count(text.substr(0, at), '\n');
}

std::vector<std::string_view> words(std::string_view text, std::string_view blanks) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(blanks); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::string squashed(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (is_letter_or_digit(c) || c == '.') result += lower(c);
  return result;
}

std::vector<std::string_view> trimmed_parts(std::string_view text, char separator,
                                            std::string_view blanks) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (const auto part = trimmed(text.substr(0, end), blanks); !part.empty())
      parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string listed(const std::vector<std::string>& parts, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? fmt::format(" {} ", last) : ", ";
    text += parts[i];
  }
  return text;
}

std::string ranges_text(const std::vector<int64_t>& numbers, std::string_view between) {
  std::string text;
  for (size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", first > 0 ? between : "", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

std::string hide_passwords(std::string_view text) {
  constexpr std::string_view kScheme = "://";
  std::string result;
  for (size_t at = text.find(kScheme); at != text.npos; at = text.find(kScheme)) {
    at += kScheme.size();
    result += text.substr(0, at);
    text.remove_prefix(at);
    const std::string_view authority = text.substr(0, text.find_first_of("/?# \t\n\"'"));
    const size_t colon = authority.find(':'), end = authority.rfind('@');
    if (end == authority.npos || colon >= end) continue;
    result += text.substr(0, colon + 1);
    result += "***";
    text.remove_prefix(end);
  }
  return result.append(text);
}

}  // namespace ergometer::base
