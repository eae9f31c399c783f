#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::base {

/// One row under the header.
struct CsvRow {
  int64_t line = 0;                ///< of the file, where the row begins; the header is line 1
  std::vector<std::string> cells;  ///< one a column
};

/// A CSV file with a header, as RFC 4180 has it: cells between commas; a cell in quotes may hold
/// commas, line ends and doubled quotes; lines end with LF or CRLF; blank lines are skipped. A
/// quote inside a cell that does not begin with one stands for itself.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  static constexpr size_t kNone = static_cast<size_t>(-1);
  /// Where a column stands, `kNone` if it is missing.
  size_t index_of(std::string_view column) const;
  /// The cell of a row; empty if there is no such column.
  std::string_view cell(size_t row, std::string_view column) const;
};

/// `file` is what messages call it. An empty file, a row with another number of cells than the
/// header, a column that stands twice and a quote that is never closed are input errors.
Result<CsvTable> parse_csv(std::string_view text, const std::string& file);
/// An input error that names the first of `needed` that the table lacks, and the column that is
/// spelled most like it.
Result<void> require_columns(const CsvTable& table, const std::string& file,
                             const std::vector<std::string_view>& needed);

/// The cells as a line of such a file, with its end; in quotes where they hold commas, quotes or
/// line ends. A single empty cell is in quotes: a blank line would be none.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace ergometer::base
