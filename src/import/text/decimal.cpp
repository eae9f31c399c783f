#include "import/text/decimal.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::importer {
namespace {

/// Digits without leading zeros and where the point stands among them: 0.0123 is "123" with -1.
struct Digits {
  static constexpr size_t kMost = 40;  ///< more than a 64-bit number can need
  std::array<char, kMost> digit{};
  size_t count = 0;
  int64_t point = 0;  ///< digits before the point
  bool more = false;  ///< something other than zero was cut off behind the last digit
  bool negative = false;
};

void add(Digits& number, char c) {
  if (number.count == 0 && c == '0') return;
  if (number.count < Digits::kMost) {
    number.digit[number.count++] = static_cast<char>(c - '0');
  } else {
    number.more = number.more || c != '0';
  }
}

/// The power of ten behind `e`; clamped to what makes any number zero or too large.
bool read_exponent(std::string_view text, size_t& at, int64_t& exponent) {
  constexpr int64_t kFar = 1'000'000'000;
  bool negative = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  const size_t first = at;
  for (; at < text.size() && base::is_digit(text[at]); ++at)
    exponent = std::min(exponent * 10 + (text[at] - '0'), kFar);
  if (negative) exponent = -exponent;
  return at > first;
}

bool read_digits(std::string_view text, Digits& number) {
  size_t at = 0;
  if (at < text.size() && text[at] == '-') number.negative = text[at++] == '-';
  bool any = false;
  for (; at < text.size() && base::is_digit(text[at]); ++at, any = true) {
    if (number.count > 0 || text[at] != '0') ++number.point;
    add(number, text[at]);
  }
  if (!any) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t first = ++at;
    for (; at < text.size() && base::is_digit(text[at]); ++at) {
      if (number.count == 0 && text[at] == '0') --number.point;
      add(number, text[at]);
    }
    if (at == first) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    int64_t exponent = 0;
    if (!read_exponent(text, ++at, exponent)) return false;
    number.point += exponent;
  }
  return at == text.size();
}

/// Whether what stands behind the first `kept` digits rounds up `value`: nearest, half to even.
bool rounds_up(const Digits& number, int64_t kept, uint64_t value) {
  if (kept < 0 || kept >= static_cast<int64_t>(number.count)) return false;
  const auto first = static_cast<size_t>(kept);
  if (number.digit[first] != 5) return number.digit[first] > 5;
  const bool above_half = number.more || std::any_of(number.digit.begin() + kept + 1,
                                                     number.digit.begin() + number.count,
                                                     [](char d) { return d != 0; });
  return above_half || value % 2 == 1;
}

/// The number with its point moved `shift` digits to the right, rounded to a whole one.
std::optional<int64_t> shifted(const Digits& number, int64_t shift) {
  const int64_t kept = number.point + shift;
  constexpr int64_t kMostKept = 19;
  if (number.count == 0) return 0;
  if (kept > kMostKept) return std::nullopt;
  uint64_t value = 0;
  for (int64_t i = 0; i < kept; ++i)
    value = value * 10 +
            static_cast<uint64_t>(i < static_cast<int64_t>(number.count) ? number.digit[i] : 0);
  if (rounds_up(number, kept, value)) ++value;
  if (value > static_cast<uint64_t>(kLargestTime)) return std::nullopt;
  const auto magnitude = static_cast<int64_t>(value);
  return number.negative ? -magnitude : magnitude;
}

/// What nearly every trace holds: up to 16 digits, a point, up to three more.
std::optional<int64_t> plain_number(std::string_view text) {
  constexpr size_t kMostDigits = 16;
  uint64_t value = 0;
  size_t at = 0;
  for (; at < text.size() && at <= kMostDigits && base::is_digit(text[at]); ++at)
    value = value * 10 + static_cast<uint64_t>(text[at] - '0');
  if (at == 0 || at > kMostDigits) return std::nullopt;
  int decimals = 0;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && decimals < 4 && base::is_digit(text[at]); ++at, ++decimals)
      value = value * 10 + static_cast<uint64_t>(text[at] - '0');
    if (decimals == 0 || decimals > 3) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  for (; decimals < 3; ++decimals) value *= 10;
  if (value > static_cast<uint64_t>(kLargestTime)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace

std::optional<int64_t> nanoseconds(std::string_view microseconds) {
  if (const auto value = plain_number(microseconds)) return value;
  Digits number;
  if (!read_digits(microseconds, number)) return std::nullopt;
  return shifted(number, 3);
}

std::optional<int64_t> whole_number(std::string_view text) {
  Digits number;
  if (!read_digits(text, number)) return std::nullopt;
  const auto value = shifted(number, 0);
  // A fraction is no whole number.
  const bool fraction =
      number.more || (number.count > 0 && number.point < static_cast<int64_t>(number.count) &&
                      std::any_of(
                          number.digit.begin() + std::max<int64_t>(number.point, 0),
                          number.digit.begin() + number.count, [](char d) { return d != 0; }));
  return fraction ? std::nullopt : value;
}

}  // namespace ergometer::importer
