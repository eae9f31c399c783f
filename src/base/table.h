#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/wrap.h"

namespace ergometer::base {

/// Rows of cells as text. A column is as wide as its layout says, or as its widest cell needs: two
/// blanks at least stand between neighbours, whatever the cells hold.
///
///   Table table("<8 >16 >10");  // a name to the left, two numbers to the right
///   table.row("Link", "NICs", "mean");
///   table.row("nic", 8, "21.5 GB/s");
///   table.text();
class Table {
 public:
  /// A side and the least width for every column, with the blanks in front of it (of a column to
  /// the left those behind it). "<" alone: as wide as its cells.
  explicit Table(std::string_view layout);
  /// Cells that are left out at the end are empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// The same of texts and whole numbers.
  template <class... Cells>
  void row(const Cells&... cells) {
    add({text_of(cells)...});
  }
  /// No line ends in blanks.
  std::vector<std::string> lines() const;
  /// The lines, each with its end.
  std::string text() const;

  /// The same for a terminal of `width` columns. What is a little wider has its columns as narrow
  /// as their cells. A text that ends a row goes on below itself, if enough is left for it. Of what
  /// is wider yet, the first `keys` columns, which say what a row is about, have a line of their
  /// own where they are to the left and the others then fit into one; else the table is folded into
  /// blocks of columns, each of which begins with these and holds the first row, the head, again.
  std::vector<std::vector<std::string>> blocks(size_t width, size_t keys = 1) const;
  /// The blocks, an empty line between two.
  std::string text(size_t width, size_t keys = 1) const;

 private:
  struct Column {
    bool left = true;
    size_t width = 0;
  };
  static std::string text_of(std::string_view text) { return std::string(text); }
  static std::string text_of(std::integral auto number) { return std::to_string(number); }
  std::vector<Column> widened() const;
  Table of_columns(const std::vector<size_t>& chosen) const;
  Table last_wrapped(size_t width) const;
  Table narrowed() const;
  std::vector<std::string> names_above(size_t width, size_t keys) const;
  std::vector<std::string> fitted_lines(size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ergometer::base
