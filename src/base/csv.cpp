#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.h"

namespace ergometer::base {
namespace {

/// Cuts the text into rows of cells.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return at_ == text_.size(); }

  Result<CsvRow> row() {
    CsvRow row;
    row.line = line_;
    while (true) {
      ERGOMETER_TRY(cell(row));
      if (at_end()) return row;
      const char end = text_[at_++];
      if (end == '\n') {
        ++line_;
        return row;
      }
    }
  }

 private:
  /// Up to a comma or a line end, which is not taken.
  Result<void> cell(CsvRow& row) {
    std::string& value = row.cells.emplace_back();
    if (!at_end() && text_[at_] == '"') ERGOMETER_TRY(quoted(value));
    const size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    value += text_.substr(at_, end - at_);
    const bool line_ends = end == text_.size() || text_[end] == '\n';
    if (line_ends && end > at_ && value.ends_with('\r')) value.pop_back();
    at_ = end;
    return {};
  }

  Result<void> quoted(std::string& value) {
    const int64_t begun = line_;
    for (++at_; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '"') {
        ++at_;
        if (at_end() || text_[at_] != '"') return {};
      }
      value += c;
    }
    return input_error("{}:{}: a quoted cell begins here and never ends", file_, begun);
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

bool is_blank(const CsvRow& row) { return row.cells.size() == 1 && row.cells[0].empty(); }

Result<void> check_header(const std::vector<std::string>& columns, const std::string& file) {
  std::set<std::string_view> seen;
  for (const std::string& column : columns)
    if (!column.empty() && !seen.insert(column).second)
      return input_error("{}:1: column {} stands twice", file, column);
  return {};
}

}  // namespace

size_t CsvTable::index_of(std::string_view column) const {
  const auto it = std::ranges::find(columns, column);
  return it == columns.end() ? kNone : static_cast<size_t>(it - columns.begin());
}

std::string_view CsvTable::cell(size_t row, std::string_view column) const {
  const size_t index = index_of(column);
  return index == kNone ? std::string_view() : rows[row].cells[index];
}

Result<CsvTable> parse_csv(std::string_view text, const std::string& file) {
  CsvTable table;
  Reader reader(text, file);
  while (!reader.at_end()) {
    ERGOMETER_ASSIGN(CsvRow row, reader.row());
    if (is_blank(row)) continue;
    if (table.columns.empty()) {
      table.columns = std::move(row.cells);
      ERGOMETER_TRY(check_header(table.columns, file));
      continue;
    }
    if (row.cells.size() != table.columns.size())
      return input_error("{}:{}: found {} cells; allowed: {}, one a column", file, row.line,
                         row.cells.size(), table.columns.size());
    table.rows.push_back(std::move(row));
  }
  if (table.columns.empty())
    return input_error("{}: is empty; expected a header of column names", file);
  return table;
}

Result<void> require_columns(const CsvTable& table, const std::string& file,
                             const std::vector<std::string_view>& needed) {
  for (const std::string_view name : needed) {
    if (table.index_of(name) != CsvTable::kNone) continue;
    const auto near = nearest(name, table.columns);
    return input_error("{}:1: column {} is missing{}", file, name,
                       near ? fmt::format("; is it {}?", *near) : "");
  }
  return {};
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    const bool plain = cell.find_first_of(",\"\r\n") == std::string::npos;
    if (plain && !(cell.empty() && cells.size() == 1)) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

}  // namespace ergometer::base
