#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/check.h"

namespace ergometer::base {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
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
  // to_chars would print 140000000000 as 1.4e+11: as exact, but bytes and counts are read by people too.
  constexpr double kExactIntegers = 9007199254740992;  // 2^53
  const bool whole = std::fabs(number) < kExactIntegers && std::trunc(number) == number;
  const auto result = whole ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(number))
                            : std::to_chars(buffer, buffer + sizeof buffer, number);
  return std::string(buffer, result.ptr);
}

JsonWriter& JsonWriter::begin(char bracket, Layout layout) {
  before_value();
  // Inside a one-line container everything is on that line.
  if (!levels_.empty() && levels_.back().layout == Layout::kOneLine) layout = Layout::kOneLine;
  text_ += bracket;
  levels_.push_back({layout, true});
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  ERGOMETER_CHECK(!levels_.empty() && !after_key_, "unbalanced JSON");
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && level.layout == Layout::kLines) new_line();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  ERGOMETER_CHECK(!levels_.empty() && !after_key_, "a key outside of an object");
  before_value();
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
  before_value();
  text_ += shortest(number);
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) {
  before_value();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  before_value();
  text_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  // Strings cannot hold a raw line break, so every one found here stands between tokens.
  for (const char c : json) {
    text_ += c;
    if (c == '\n') text_.append(2 * levels_.size(), ' ');
  }
  return *this;
}

std::string JsonWriter::take() {
  ERGOMETER_CHECK(levels_.empty() && !after_key_, "unfinished JSON");
  text_ += '\n';
  std::string out;
  out.swap(text_);
  return out;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
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
