#include "import/text/json_scan.h"

namespace ergometer::importer {

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

size_t skip_space(std::string_view text, size_t at, char also) {
  while (at < text.size() && (is_json_space(text[at]) || text[at] == also)) ++at;
  return at;
}

/// True when `c` is the value's last character; sets `done_` without it when it stands behind.
bool ValueScan::step(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return depth_ == 0;
    }
    return false;
  }
  switch (c) {
    case '"': in_string_ = true; return false;
    case '{':
    case '[': ++depth_; return false;
    case '}':
    case ']': return depth_ > 0 && --depth_ == 0;
    default: scalar_ = scalar_ || depth_ == 0; return false;
  }
}

size_t ValueScan::scan(std::string_view text) {
  size_t at = started_ ? 0 : skip_space(text);
  for (; at < text.size() && !done_; ++at) {
    const char c = text[at];
    started_ = true;
    const bool ends_scalar = c == ',' || c == '}' || c == ']' || is_json_space(c);
    if (depth_ == 0 && !in_string_ && ends_scalar) {
      done_ = true;
      return at;
    }
    done_ = step(c);
  }
  return at;
}

size_t last_boundary(std::string_view text) {
  for (size_t at = text.rfind('}'); at != std::string_view::npos && at > 0;
       at = text.rfind('}', at - 1)) {
    const size_t comma = skip_space(text, at + 1);
    if (comma >= text.size() || text[comma] != ',') continue;
    const size_t next = skip_space(text, comma + 1);
    if (next < text.size() && text[next] == '{') return at + 1;
  }
  return 0;
}

}  // namespace ergometer::importer
