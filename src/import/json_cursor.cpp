#include "import/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/kineto/json_scan.h"
#include "import/kineto/json_text.h"

namespace ergometer::importer {

/// The first character that is neither space nor `also`; 0 at the end, which is then noted.
base::Result<char> JsonCursor::next_char(char also) {
  for (;;) {
    window_.consume(skip_space(window_.text(), 0, also));
    if (window_.size() > 0) return window_.text().front();
    ERGOMETER_ASSIGN(const bool more, window_.more());
    if (more) continue;
    truncated_ = true;
    return '\0';
  }
}

base::Result<bool> JsonCursor::enter(char bracket) {
  ERGOMETER_ASSIGN(const char c, next_char(' '));
  if (c != bracket || truncated_) return false;
  window_.consume(1);
  return true;
}

/// Whether something stands before the closing bracket, which is passed.
base::Result<bool> JsonCursor::next_item(char end) {
  ERGOMETER_ASSIGN(const char c, next_char(','));
  if (truncated_) return false;
  if (c != end) return true;
  window_.consume(1);
  return false;
}

base::Result<bool> JsonCursor::next_element() {
  ERGOMETER_ASSIGN(const bool more, next_item(']'));
  if (more && window_.text().front() == '}')
    return base::input_error(fmt::format("{}: byte {}: the end of a list is expected, found '}}'",
                                         file_, window_.offset()));
  return more;
}

base::Result<bool> JsonCursor::next_key(std::string& key) {
  ERGOMETER_ASSIGN(const bool more, next_item('}'));
  if (!more) return false;
  if (window_.text().front() != '"')
    return base::input_error(fmt::format("{}: byte {}: a key in quotes is expected, found {}",
                                         file_, window_.offset(), shown(window_.text().front())));
  ERGOMETER_ASSIGN(const auto text, value());
  if (!text) return false;
  key = unquoted(*text);
  ERGOMETER_ASSIGN(const char colon, next_char(' '));
  if (truncated_) return false;
  if (colon != ':')
    return base::input_error(fmt::format("{}: byte {}: a colon is expected behind \"{}\", found {}",
                                         file_, window_.offset(), key, shown(colon)));
  window_.consume(1);
  return true;
}

base::Result<std::optional<std::string_view>> JsonCursor::value() {
  ERGOMETER_TRY(next_char(' '));
  ValueScan scan;
  size_t bytes = 0;
  for (;;) {
    bytes += scan.scan(window_.text().substr(bytes));
    if (scan.done()) break;
    ERGOMETER_ASSIGN(const bool more, window_.more());
    if (more) continue;
    ERGOMETER_TRY(skip());
    return std::nullopt;
  }
  const std::string_view text = window_.text().substr(0, bytes);
  // A stray bracket is no value: step over it.
  window_.consume(std::max<size_t>(bytes, 1));
  return text;
}

base::Result<void> JsonCursor::skip() {
  ValueScan scan;
  size_t bytes = 0;
  for (;;) {
    const size_t taken = scan.scan(window_.text());
    bytes += taken;
    window_.consume(taken);
    if (scan.done()) break;
    ERGOMETER_ASSIGN(const bool more, window_.more());
    if (more) continue;
    truncated_ = true;
    return {};
  }
  if (bytes == 0 && window_.size() > 0) window_.consume(1);
  return {};
}

}  // namespace ergometer::importer
