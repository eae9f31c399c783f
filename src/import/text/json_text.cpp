#include "import/text/json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "import/text/json_scan.h"

namespace ergometer::importer {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | (code >> static_cast<unsigned>(shift) & 0x3f));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

/// The four digits behind `\u` at `at`.
std::optional<uint32_t> unit(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  uint32_t code = 0;
  const char* first = text.data() + at + 2;
  const auto [end, error] = std::from_chars(first, first + 4, code, 16);
  if (error != std::errc{} || end != first + 4) return std::nullopt;
  return code;
}

/// Appends what the escape at `at` stands for; returns its length, 0 when it is none.
size_t append_unicode(std::string_view text, size_t at, std::string& out) {
  constexpr uint32_t kReplacement = 0xfffd;
  const auto high = unit(text, at);
  if (!high) return 0;
  if (*high < 0xd800 || *high > 0xdfff) {
    append_utf8(out, *high);
    return 6;
  }
  const auto low = *high < 0xdc00 ? unit(text, at + 6) : std::nullopt;
  if (!low || *low < 0xdc00 || *low > 0xdfff) {
    append_utf8(out, kReplacement);
    return 6;
  }
  append_utf8(out, 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00));
  return 12;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

}  // namespace

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && is_json_space(token.back())) token.remove_suffix(1);
  return token;
}

std::string_view unquoted(std::string_view token) {
  token = trimmed(token);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
    return token.substr(1, token.size() - 2);
  return token;
}

std::string_view unescaped(std::string_view text, std::string& scratch) {
  size_t at = text.find('\\');
  if (at == std::string_view::npos) return text;
  scratch.assign(text.substr(0, at));
  while (at < text.size()) {
    const char next = text[at] == '\\' && at + 1 < text.size() ? simple_escape(text[at + 1]) : '\0';
    if (next != 0) {
      scratch += next;
      at += 2;
    } else if (const size_t length = append_unicode(text, at, scratch); length > 0) {
      at += length;
    } else {
      scratch += text[at++];
    }
  }
  return scratch;
}

std::string shown(char c) {
  return c >= ' ' && c <= '~' ? fmt::format("'{}'", c)
                              : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

}  // namespace ergometer::importer
