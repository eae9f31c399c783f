#include "base/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace ergometer::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Length of the valid UTF-8 sequence that `text` begins with; 0 when there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(i < text.size() ? text[i] : 0);
  };
  const auto within = [&](size_t i, unsigned char low, unsigned char high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool second = within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool second = within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (byte < 0x20 || byte == 0x7F) {
    out += "\\u00";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  } else {
    out += c;
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 1) {
      append_escaped(out, text[i]);
    } else {
      out += length == 0 ? kReplacement : text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string shortest(double number) {
  char buffer[32];
  // to_chars would print 140000000000 as 1.4e+11: as exact, but people read bytes and counts too.
  constexpr double kExactIntegers = 9007199254740992;  // 2^53
  const bool whole = std::fabs(number) < kExactIntegers && std::trunc(number) == number;
  const auto result =
      whole ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(number))
            : std::to_chars(buffer, buffer + sizeof buffer, number);
  return std::string(buffer, result.ptr);
}

JsonWriter& JsonWriter::begin(char bracket, Layout layout) {
  const bool inherit = on_one_line();
  before_value();
  complete_ = false;
  text_ += bracket;
  levels_.push_back({bracket, inherit ? Layout::kOneLine : layout});
  return *this;
}

JsonWriter& JsonWriter::end(char opening, char closing) {
  ERGOMETER_CHECK(!levels_.empty() && levels_.back().bracket == opening, "closes what is not open");
  ERGOMETER_CHECK(!after_key_, "a key without a value");
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && level.layout == Layout::kLines) new_line();
  text_ += closing;
  complete_ = levels_.empty();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  ERGOMETER_CHECK(!levels_.empty() && levels_.back().bracket == '{', "a key outside of an object");
  ERGOMETER_CHECK(!after_key_, "two keys in a row");
  before_element();
  append_quoted(text_, name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  ERGOMETER_CHECK(std::isfinite(number), "a result is not a finite number");
  return literal(shortest(number));
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  before_value();
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  ERGOMETER_CHECK(!json.empty(), "an empty text is no JSON value");
  before_value();
  // Strings cannot hold a raw line break, so every one found here stands between tokens.
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '\n') {
      text_ += json[i];
    } else if (!on_one_line()) {
      new_line();
    } else {
      while (i + 1 < json.size() && json[i + 1] == ' ') ++i;
    }
  }
  return *this;
}

std::string JsonWriter::take() {
  ERGOMETER_CHECK(complete_, "unfinished JSON");
  complete_ = false;
  text_ += '\n';
  return std::exchange(text_, std::string());
}

void JsonWriter::before_value() {
  ERGOMETER_CHECK(!complete_, "a second value behind the document");
  if (levels_.empty()) {
    complete_ = true;
  } else if (levels_.back().bracket == '[') {
    before_element();
  } else {
    ERGOMETER_CHECK(after_key_, "a value without a key in an object");
  }
  after_key_ = false;
}

void JsonWriter::before_element() {
  Level& level = levels_.back();
  if (!level.empty) text_ += level.layout == Layout::kLines ? "," : ", ";
  level.empty = false;
  if (level.layout == Layout::kLines) new_line();
}

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

}  // namespace ergometer::base
