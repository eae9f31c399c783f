#include "base/table.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "base/wrap.h"

namespace ergometer::base {
namespace {

constexpr size_t kGap = 2, kIndent = 4;
/// Columns of a terminal that text at the end of a row needs to be read in lines.
constexpr size_t kReadable = 24;

std::string blanks(size_t width, std::string_view cell) {
  const size_t taken = shown_width(cell);
  return std::string(width > taken ? width - taken : 0, ' ');
}

size_t widest(const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, shown_width(line));
  return width;
}

}  // namespace

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

Table Table::of_columns(const std::vector<size_t>& chosen) const {
  Table part("");
  for (const size_t column : chosen) part.columns_.push_back(columns_[column]);
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& cells = part.rows_.emplace_back();
    for (const size_t column : chosen)
      cells.push_back(column < row.size() ? row[column] : std::string());
  }
  return part;
}

Table Table::last_wrapped(size_t width) const {
  Table narrow("");
  narrow.columns_ = columns_;
  narrow.columns_.back().width = std::min(narrow.columns_.back().width, width);
  const size_t last = columns_.size() - 1;
  for (const std::vector<std::string>& row : rows_) {
    const auto lines = wrapped_lines(row.size() > last ? row[last] : std::string(), width);
    std::vector<std::string> cells = row;
    cells.resize(columns_.size());
    for (const std::string& line : lines) {
      cells[last] = line;
      narrow.rows_.push_back(std::move(cells));
      cells.assign(columns_.size(), std::string());
    }
  }
  return narrow;
}

Table Table::narrowed() const {
  Table narrow = *this;
  for (Column& column : narrow.columns_) column.width = 0;
  return narrow;
}

std::vector<std::string> Table::fitted_lines(size_t width) const {
  const std::vector<std::string> whole = lines();
  const size_t wide = widest(whole);
  if (wide <= width || columns_.empty() || !columns_.back().left) return whole;
  size_t last = columns_.back().width;
  for (const std::vector<std::string>& row : rows_)
    if (row.size() == columns_.size()) last = std::max(last, shown_width(row.back()));
  const size_t others = wide - std::min(wide, last);
  return others + kReadable > width ? whole : last_wrapped(width - others).lines();
}

/// Nothing where it does not help.
std::vector<std::string> Table::names_above(size_t width, size_t keys) const {
  if (columns_.size() < keys + 2 || !columns_.front().left) return {};
  std::vector<size_t> names(keys), numbers(columns_.size() - keys);
  std::iota(names.begin(), names.end(), 0);
  std::iota(numbers.begin(), numbers.end(), keys);
  const std::vector<std::string> above = of_columns(names).lines();
  const std::vector<std::string> below = of_columns(numbers).lines();
  if (widest(below) + kIndent > width) return {};
  std::vector<std::string> lines;
  for (size_t i = 0; i < rows_.size(); ++i) {
    lines.push_back(above[i]);
    lines.push_back(std::string(kIndent, ' ') + below[i]);
  }
  return lines;
}

std::vector<std::vector<std::string>> Table::blocks(size_t width, size_t keys) const {
  std::vector<size_t> chosen(std::min(keys, columns_.size()));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (const auto whole = lines(); widest(whole) <= width) return {whole};
  if (const auto narrow = narrowed().lines(); widest(narrow) <= width) return {narrow};
  if (const auto whole = fitted_lines(width); widest(whole) <= width) return {whole};
  if (auto lines = names_above(width, chosen.size()); !lines.empty()) return {std::move(lines)};
  const std::vector<size_t> always = chosen;
  std::vector<std::vector<std::string>> blocks;
  for (size_t i = always.size(); i < columns_.size(); ++i) {
    chosen.push_back(i);
    const bool first = chosen.size() == always.size() + 1;
    // Only the row's last column may be wrapped beside others.
    const auto tried = i + 1 == columns_.size() ? of_columns(chosen).fitted_lines(width)
                                                : of_columns(chosen).lines();
    if (first || widest(tried) <= width) continue;
    chosen.pop_back();
    blocks.push_back(of_columns(chosen).fitted_lines(width));
    chosen = always;
    chosen.push_back(i);
  }
  blocks.push_back(of_columns(chosen).fitted_lines(width));
  return blocks;
}

std::string Table::text() const {
  std::string text;
  for (const std::string& line : lines()) text += line + '\n';
  return text;
}

std::string Table::text(size_t width, size_t keys) const {
  std::string text;
  for (const std::vector<std::string>& block : blocks(width, keys)) {
    if (!text.empty()) text += '\n';
    for (const std::string& line : block) text += line + '\n';
  }
  return text;
}

}  // namespace ergometer::base
