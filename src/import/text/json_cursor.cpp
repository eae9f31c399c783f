#include "import/text/json_cursor.h"

#include "import/text/json_scan.h"
#include "import/text/json_text.h"

namespace ergometer::importer {

/// The first character that is neither space nor `also`; 0 at the end, which is then noted.
Result<char> JsonCursor::next_char(char also) {
  for (;;) {
    window_.consume(skip_space(window_.text(), 0, also));
    if (window_.size() > 0) return window_.text().front();
    ERGOMETER_ASSIGN(const bool more, window_.more());
    if (more) continue;
    truncated_ = true;
    return '\0';
  }
}

Result<bool> JsonCursor::enter(char bracket) {
  ERGOMETER_ASSIGN(const char c, next_char(' '));
  if (c != bracket || truncated_) return false;
  window_.consume(1);
  return true;
}

Result<bool> JsonCursor::next_item(char end) {
  ERGOMETER_ASSIGN(const char c, next_char(','));
  if (truncated_) return false;
  if (c != end) return true;
  window_.consume(1);
  return false;
}

Result<bool> JsonCursor::next_element() {
  ERGOMETER_ASSIGN(const bool more, next_item(']'));
  if (more && window_.text().front() == '}')
    return input_error("{}: byte {}: the end of a list is expected, found '}}'", file_,
                       window_.offset());
  return more;
}

Result<bool> JsonCursor::next_key(std::string& key) {
  ERGOMETER_ASSIGN(const bool more, next_item('}'));
  if (!more) return false;
  if (window_.text().front() != '"')
    return input_error("{}: byte {}: a key in quotes is expected, found {}", file_,
                       window_.offset(), shown(window_.text().front()));
  ERGOMETER_ASSIGN(const auto text, value());
  if (!text) return false;
  key = unquoted(*text);
  ERGOMETER_ASSIGN(const char colon, next_char(' '));
  if (truncated_) return false;
  if (colon != ':')
    return input_error("{}: byte {}: a colon is expected behind \"{}\", found {}", file_,
                       window_.offset(), key, shown(colon));
  window_.consume(1);
  return true;
}

Result<std::optional<size_t>> JsonCursor::measure() {
  ERGOMETER_TRY(next_char(' '));
  ValueScan scan;
  size_t bytes = 0;
  for (;;) {
    bytes += scan.scan(window_.text().substr(bytes));
    if (scan.done()) return bytes;
    ERGOMETER_ASSIGN(const bool more, window_.more());
    if (!more) return std::nullopt;
  }
}

Result<std::optional<std::string_view>> JsonCursor::value() {
  ERGOMETER_ASSIGN(const auto bytes, measure());
  if (!bytes) {
    ERGOMETER_TRY(skip());
    return std::nullopt;
  }
  const std::string_view text = window_.text().substr(0, *bytes);
  window_.consume(*bytes);
  return text;
}

Result<void> JsonCursor::skip() {
  ValueScan scan;
  while (!scan.done() && !truncated_) {
    window_.consume(scan.scan(window_.text()));
    if (scan.done()) break;
    ERGOMETER_ASSIGN(const bool more, window_.more());
    truncated_ = !more;
  }
  return {};
}

}  // namespace ergometer::importer
