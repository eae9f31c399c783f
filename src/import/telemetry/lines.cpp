#include <algorithm>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

bool Lines::next() {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    cut_off_ = end == std::string_view::npos;
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(cut_off_ ? rest_.size() : end + 1);
    ++number_;
    if (!trim(line_).empty()) return true;
  }
  return false;
}

std::string_view first_line(std::string_view text) {
  Lines lines(text);
  lines.next();
  return lines.line();
}

bool may_be_json(std::string_view text) {
  const size_t next = text.find_first_not_of(" \t\r\n", std::min<size_t>(text.size(), 1));
  if (text.starts_with('{')) return next == std::string_view::npos || text[next] != '\'';
  if (!text.starts_with('[')) return false;
  return next == std::string_view::npos || text[next] == '{' || text[next] == '[' ||
         text[next] == '"' || text[next] == ']';
}

void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (size_t at = 0;;) {
    size_t first = line.find_first_not_of(" \t\r", at);
    if (first == std::string_view::npos) first = line.size();
    const bool quoted = first < line.size() && line[first] == '"';
    const size_t close = quoted ? line.find('"', first + 1) : std::string_view::npos;
    const size_t from = close == std::string_view::npos ? at : close + 1;
    const size_t comma = line.find(',', from);
    cells.push_back(close == std::string_view::npos ? trim(line.substr(at, comma - at))
                                                    : line.substr(first + 1, close - first - 1));
    if (comma == std::string_view::npos) return;
    at = comma + 1;
  }
}

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view stem_of(std::string_view path) {
  std::string_view name = base::last_part(path, '/');
  for (const std::string_view end : {".gz", ".csv", ".txt", ".log", ".prom", ".json"})
    if (name.size() > end.size() && name.ends_with(end)) name.remove_suffix(end.size());
  return name;
}

}  // namespace ergometer::importer
