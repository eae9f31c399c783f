#include "base/table.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/text.h"

namespace ergometer::base {
namespace {

constexpr size_t kGap = 2;

std::string blanks(size_t width, std::string_view cell) {
  const size_t taken = shown_width(cell);
  return std::string(width > taken ? width - taken : 0, ' ');
}

}  // namespace

size_t shown_width(std::string_view text) {
  // Of a character in UTF-8 every byte but the first begins with the bits 10.
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

Table::Table(std::string_view layout) {
  for (const std::string& word : split(layout, ' ')) {
    ERGOMETER_CHECK(word.starts_with('<') || word.starts_with('>'), "a column without a side");
    const auto width = word.size() > 1 ? parse_integer(word.substr(1)) : Result<int64_t>(0);
    ERGOMETER_CHECK(width && *width >= 0, "a column's width is no number");
    columns_.push_back({word.front() == '<', static_cast<size_t>(*width)});
  }
}

std::vector<Table::Column> Table::widened() const {
  std::vector<Column> columns = columns_;
  // Beside a neighbour of its own side a column needs the gap in its own width.
  const auto gap = [&](size_t i) {
    const size_t neighbour = columns[i].left ? i + 1 : i - 1;  // in front of the first: none
    return neighbour < columns.size() && columns[neighbour].left == columns[i].left ? kGap : 0;
  };
  for (const std::vector<std::string>& row : rows_) {
    ERGOMETER_CHECK(row.size() <= columns.size(), "a row has more cells than columns");
    for (size_t i = 0; i < row.size(); ++i)
      columns[i].width = std::max(columns[i].width, shown_width(row[i]) + gap(i));
  }
  // One to the left and then one to the right share what is between them.
  for (const std::vector<std::string>& row : rows_)
    for (size_t i = 1; i < row.size(); ++i) {
      if (!columns[i - 1].left || columns[i].left) continue;
      const size_t needed = shown_width(row[i - 1]) + kGap + shown_width(row[i]);
      columns[i - 1].width =
          std::max(columns[i - 1].width + columns[i].width, needed) - columns[i].width;
    }
  return columns;
}

std::vector<std::string> Table::lines() const {
  const std::vector<Column> columns = widened();
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string fill = blanks(columns[i].width, row[i]);
      if (i > 0 && columns[i].left && !columns[i - 1].left) line += std::string(kGap, ' ');
      line += columns[i].left ? row[i] + fill : fill + row[i];
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

std::string Table::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + '\n';
  return text;
}

}  // namespace ergometer::base
