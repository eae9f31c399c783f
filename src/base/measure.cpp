#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::base {
namespace {

/// `value * factor * 10^exponent` in `base`.
struct Unit {
  std::string_view text;
  std::string_view base;
  double factor = 1;
  bool prefixed = true;  ///< takes SI prefixes
};

constexpr std::array kUnits = std::to_array<Unit>({
    {"", "", 1, true},
    {"%", "", 0.01, false},
    {"B", "B", 1, true},
    {"B/s", "B/s", 1, true},
    {"b/s", "B/s", 0.125, true},
    {"bit/s", "B/s", 0.125, true},
    {"bps", "B/s", 0.125, true},
    {"FLOP", "FLOP", 1, true},
    {"FLOP/s", "FLOP/s", 1, true},
    {"FLOPS", "FLOP/s", 1, true},
    {"Hz", "Hz", 1, true},
    {"s", "s", 1, true},
    {"min", "s", 60, false},
    {"h", "s", 3600, false},
    {"d", "s", 86400, false},
    {"hour", "s", 3600, false},
    {"hours", "s", 3600, false},
    {"day", "s", 86400, false},
    {"days", "s", 86400, false},
    {"week", "s", 604800, false},
    {"weeks", "s", 604800, false},
    {"W", "W", 1, true},
    {"J", "J", 1, true},
    {"W/s", "W/s", 1, true},
    {"C", "C", 1, false},
    {"degC", "C", 1, false},
    {"J/FLOP", "J/FLOP", 1, true},
    {"J/B", "J/B", 1, true},
    {"J/K", "J/K", 1, true},
    {"K/W", "K/W", 1, true},
    {"W/K", "W/K", 1, true},
    {"/K", "/K", 1, false},
});

struct Prefix {
  std::string_view text;
  int exponent;       ///< of ten
  double factor = 1;  ///< binary prefixes: a power of two, so that nothing is rounded
};

// clang-format off
constexpr std::array kPrefixes = std::to_array<Prefix>({
    {"", 0}, {"p", -12}, {"n", -9}, {"u", -6}, {"\xC2\xB5", -6}, {"m", -3},
    {"k", 3}, {"K", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18},
    {"Ki", 0, 1024.0}, {"Mi", 0, 1048576.0}, {"Gi", 0, 1073741824.0}, {"Ti", 0, 1099511627776.0},
});
// clang-format on

struct Scale {
  Unit unit;
  Prefix prefix;
};

bool allowed(const Prefix& prefix, const Unit& unit) {
  if (prefix.text.empty()) return true;
  if (!unit.prefixed) return false;
  const bool bytes = unit.text == "B" || unit.text == "B/s";
  if (prefix.factor != 1) return bytes;
  // "5 m" or "2 n" as a pure number is more likely a mistake than a thousandth.
  constexpr std::array<std::string_view, 8> kSmall = {"s",   "W",   "J",   "J/FLOP",
                                                      "J/B", "J/K", "K/W", "W/K"};
  return prefix.exponent > 0 || base::contains(kSmall, unit.base);
}

bool find_scale(std::string_view text, Scale& found) {
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.text)) continue;
    for (const Unit& unit : kUnits) {
      if (text.substr(prefix.text.size()) != unit.text || !allowed(prefix, unit)) continue;
      found = Scale{unit, prefix};
      return true;
    }
  }
  return false;
}

/// What the user wrote, short enough and clean enough for a message.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string clean(text.substr(0, kLongest));
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text.size() > kLongest ? clean + "..." : clean;
}

/// Length of the decimal number that `text` begins with, exponent included; 0 when there is none.
/// `mantissa` is the length without the exponent.
size_t number_length(std::string_view text, size_t& mantissa) {
  const auto digits = [&](size_t from) {
    size_t end = from;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end;
  };
  const size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t whole = digits(start);
  size_t end = whole;
  if (whole < text.size() && text[whole] == '.') end = digits(whole + 1);
  const size_t digit_count = end - start - (end > whole ? 1 : 0);
  if (digit_count == 0) return 0;
  mantissa = end;
  // "1.5E" is 1.5 exa: an exponent needs digits.
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (digits(exponent) > exponent) return digits(exponent);
  }
  return end;
}

/// The double nearest to `number * 10^shift`: moving the exponent in the text rounds once,
/// multiplying twice.
Result<double> nearest_double(std::string_view number, size_t mantissa, int shift) {
  int exponent = 0;
  if (mantissa < number.size()) {
    std::string_view digits = number.substr(mantissa + 1);
    if (digits[0] == '+') digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (parsed.ec != std::errc() || std::abs(exponent) > 100000)
      return input_error("\"{}\" is out of range", shown(number));
  }
  const std::string text = fmt::format("{}e{}", number.substr(0, mantissa), exponent + shift);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value))
    return input_error("\"{}\" is out of range", shown(number));
  return value;
}

std::string_view example(std::string_view unit) {
  if (unit == "B") return "80 GB";
  if (unit == "B/s") return "400 Gb/s";
  if (unit == "FLOP/s") return "989 TFLOP/s";
  if (unit == "Hz") return "1.98 GHz";
  if (unit == "s") return "2.5 us";
  if (unit == "W") return "700 W";
  if (unit == "W/s") return "50 W/s";
  if (unit == "C") return "35 C";
  if (unit == "J/FLOP") return "0.52 pJ/FLOP";
  if (unit == "J/B") return "93 pJ/B";
  if (unit == "J/K") return "1.1 J/K";
  if (unit == "K/W") return "0.05 K/W";
  if (unit == "W/K") return "14 W/K";
  if (unit == "/K") return "0.01 /K";
  return "0.85";
}

/// What to say of a unit that is not known.
std::string unknown_unit(std::string_view number, std::string_view unit) {
  const std::string small = lower(unit);
  // As many mean bits as bytes by these.
  for (const std::string_view rate : {"bps", "b/s", "b/sec"})
    if (small.ends_with(rate) && small.size() == rate.size() + 1) {
      const char prefix = unit[0] == 'k' ? 'k' : static_cast<char>(std::toupper(unit[0]));
      return fmt::format("write {0} {1}B/s for bytes or {0} {1}b/s for bits", shown(number),
                         prefix);
    }
  for (const Prefix& prefix : kPrefixes)
    for (const Unit& known : kUnits)
      if (const std::string name = fmt::format("{}{}", prefix.text, known.text);
          lower(name) == small && allowed(prefix, known))
        return fmt::format("did you mean {} {}?", shown(number), name);
  return "known are B, B/s, b/s, FLOP, FLOP/s, Hz, s, min, h, d, weeks, W, W/s, J, J/FLOP, J/B, "
         "J/K, K/W, W/K, /K, C and %, with prefixes such as k, M, G, T or, for bytes, Ki, Mi, Gi";
}

}  // namespace

Result<Measure> parse_measure(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  size_t mantissa = 0;
  const size_t length = number_length(text, mantissa);
  if (length == 0)
    return input_error("\"{}\" is not a number with a unit, such as \"80 GB\" or \"400 Gb/s\"",
                       shown(text));
  const std::string_view unit_text = trimmed(text.substr(length));
  Scale scale;
  if (!find_scale(unit_text, scale))
    return input_error("\"{}\" ends in the unknown unit \"{}\"; {}", shown(text), shown(unit_text),
                       unknown_unit(text.substr(0, length), unit_text));
  ERGOMETER_ASSIGN(const double value,
                   nearest_double(text.substr(0, length), mantissa, scale.prefix.exponent));
  const bool percent = scale.unit.text == "%";
  const double in_base = percent ? value / 100 : value * scale.unit.factor * scale.prefix.factor;
  if (!std::isfinite(in_base)) return input_error("\"{}\" is out of range", shown(text));
  return Measure{in_base, std::string(scale.unit.base)};
}

Result<double> parse_measure(std::string_view text, std::string_view unit) {
  ERGOMETER_ASSIGN(const Measure measure, parse_measure(text));
  if (measure.unit == unit) return measure.value;
  const auto name = [](std::string_view of) {
    return of.empty() ? std::string("a pure number") : fmt::format("in {}", of);
  };
  return input_error("\"{}\" is {}; expected one {}, such as \"{}\"", shown(trimmed(text)),
                     name(measure.unit), unit.empty() ? "without a unit" : name(unit),
                     example(unit));
}

Result<double> parse_number(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  size_t mantissa = 0;
  const size_t length = number_length(text, mantissa);
  if (length == 0 || length != text.size())
    return input_error("\"{}\" is not a number", shown(text));
  return nearest_double(text, mantissa, 0);
}

Result<int64_t> parse_count(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  if (text.find(',') == text.npos) return parse_integer(text);
  const std::vector<std::string> groups = split(text, ',');
  std::string digits;
  for (const std::string& group : groups) {
    const bool first = digits.empty();
    const bool fits =
        first ? !group.empty() && group.size() <= 3 && group[0] != '0' : group.size() == 3;
    if (!fits || !std::ranges::all_of(group, is_digit))
      return input_error("\"{}\" is not an integer", shown(text));
    digits += group;
  }
  return parse_integer(digits);
}

Result<int64_t> parse_integer(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range)
    return input_error("\"{}\" is out of range", shown(text));
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return input_error("\"{}\" is not an integer", shown(text));
  return value;
}

}  // namespace ergometer::base
