#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

 private:
  struct Column {
    bool left = true;
    size_t width = 0;
  };
  static std::string text_of(std::string_view text) { return std::string(text); }
  static std::string text_of(std::integral auto number) { return std::to_string(number); }
  std::vector<Column> widened() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// How many columns of a terminal the text takes, where every character takes one.
size_t shown_width(std::string_view text);

}  // namespace ergometer::base
