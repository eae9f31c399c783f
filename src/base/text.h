#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::base {

// Numbers for people: three significant digits and a unit, the same on every machine.

std::string format_binary_bytes(double bytes);  ///< "97.1 GiB"
std::string format_bytes(double bytes);         ///< "104 GB"
/// "1.23 TFLOP/s"; without a unit "1.23 T".
std::string format_si(double value, std::string_view unit = "");
std::string format_seconds(double seconds);   ///< "7.95 s", "312 us", "2.50 min", "3.00 h"
std::string format_nanoseconds(int64_t ns);   ///< the same, of a trace's times
std::string format_percent(double fraction);  ///< 0.413 is "41.3 %"
std::string format_count(int64_t count);      ///< "1,536"

/// A number with its unit, in the base unit: "80 GB" is 8e10 and "B", "400 Gb/s" is 5e10 and "B/s".
struct Measure {
  double value = 0;
  /// "B", "B/s", "FLOP", "FLOP/s", "Hz", "s", "W", "W/s", "J", "J/FLOP", "J/B", "J/K", "K/W",
  /// "W/K", "/K", "C", or empty for a pure number.
  std::string unit;
};

/// Reads "989 TFLOP/s", "3.35 TB/s", "80 GiB", "1.98 GHz", "2.5 us", "256 M", "35 %"; the space is
/// optional. Prefixes p n u m k M G T P E, for bytes also Ki Mi Gi Ti. No NaN, no infinity, nothing
/// behind the unit. The value is the double nearest to what is written: "3.35 TB/s" equals 3.35e12.
/// Messages name what was found and what is allowed; file and line are the caller's to add.
Result<Measure> parse_measure(std::string_view text);
/// The same, and the unit must be `unit`.
Result<double> parse_measure(std::string_view text, std::string_view unit);

/// A plain number or integer and nothing else: "0.5", "1e-3"; "4096".
Result<double> parse_number(std::string_view text);
Result<int64_t> parse_integer(std::string_view text);
/// The same, or with a comma before every three digits: "1,024".
Result<int64_t> parse_count(std::string_view text);

/// ASCII letters in lower case.
char lower(char c);
std::string lower(std::string_view text);

// Letters and digits of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

/// A text that is longer than `width`, 3 or more, with "..." in place of its end.
std::string cut_to(std::string_view text, size_t width);

inline bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != text.npos;
}
/// Whether it contains one of the words.
inline bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(text, word); });
}

/// What stands behind the last `mark`, the whole text where there is none: the file's name of
/// "data/job.yaml", the last word of "model.hidden_size".
constexpr std::string_view last_part(std::string_view text, char mark) {
  return text.substr(text.rfind(mark) + 1);  // npos + 1 is 0
}

/// The line, from 1 on, of a place in a text or behind its end.
int64_t line_at(std::string_view text, size_t at);

/// Without the blanks at its ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

std::string dashed(std::string_view name);       ///< "seq-length" for "seq_length"
std::string underscored(std::string_view name);  ///< "seq_length" for "seq-length"

/// What stands between blanks; views into the text.
std::vector<std::string_view> words(std::string_view text, std::string_view blanks = " \t\r\n");

/// Letters, digits and dots alone, in lower case: "megatronbridge26.02" for
/// "Megatron-Bridge 26.02".
std::string squashed(std::string_view text);

/// The parts between separators; an empty text has none, "a," has "a" and an empty one.
std::vector<std::string> split(std::string_view text, char separator);

/// The same as views, without the blanks around them; empty ones are left out.
std::vector<std::string_view> trimmed_parts(std::string_view text, char separator,
                                            std::string_view blanks = " ");

/// Whole numbers, runs of them as "0-3": "0-3,8".
std::string ranges_text(const std::vector<int64_t>& numbers, std::string_view between = ",");

/// "a, b and c".
std::string listed(const std::vector<std::string>& parts, std::string_view last = "and");

/// "https://user:secret@host/" as "https://user:***@host/", wherever it stands in a text.
std::string hide_passwords(std::string_view text);

}  // namespace ergometer::base
