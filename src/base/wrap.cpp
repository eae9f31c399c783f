#include "base/wrap.h"

#include <algorithm>

namespace ergometer::base {

size_t shown_width(std::string_view text) {
  // Of a character in UTF-8 every byte but the first begins with the bits 10.
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string> wrapped_lines(std::string_view text, size_t width) {
  std::vector<std::string> lines = {""};
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    const size_t taken = shown_width(word);
    if (column > 0 && column + 1 + taken > width) {
      lines.emplace_back();
      column = 0;
    } else if (column > 0) {
      lines.back() += ' ';
      ++column;
    }
    lines.back() += word;
    column += taken;
  }
  return lines;
}

std::string wrap(std::string_view text, size_t width, size_t indent) {
  std::string out;
  for (const std::string& line : wrapped_lines(text, width - std::min(width, indent)))
    out += (out.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  return out;
}

std::string hanging(std::string_view head, std::string_view text, size_t width) {
  return std::string(head) + wrap(text, width, shown_width(head)) + '\n';
}

}  // namespace ergometer::base
