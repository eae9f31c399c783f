#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "run/file/sqlite.h"
#include "run/row_columns.h"

namespace ergometer::run {

inline void take_cell(const Statement& row, int column, double& value) { value = row.real(column); }
inline void take_cell(const Statement& row, int column, int64_t& value) {
  value = row.integer(column);
}
inline void take_cell(const Statement& row, int column, std::string& value) {
  value = row.text(column);
}

/// The members behind `columns`, of the row that a query is at; the first stands in `column`.
template <class Row, class... Types>
void take_row(const Statement& statement, const Columns<Row, Types...>& columns, Row& row,
              int column = 0) {
  columns.apply([&](auto... member) { (take_cell(statement, column++, row.*member), ...); });
}

/// A table that holds a list of rows, read in the order of the column `order`. "position" stands
/// in front of the others and numbers them.
template <class Row, class... Types>
class RowTable {
 public:
  constexpr RowTable(std::string_view name, std::string_view order,
                     const Columns<Row, Types...>& columns)
      : name_(name), order_(order), columns_(columns) {}

  void insert(Database& db, const std::vector<Row>& rows) const {
    const bool numbered = order_ == "position";
    std::string values = numbered ? "?, ?" : "?";
    for (size_t i = 1; i < columns_.size(); ++i) values += ", ?";
    Statement insert(db, fmt::format("INSERT INTO {} VALUES ({})", name_, values).c_str());
    int64_t position = 0;
    for (const Row& row : rows)
      columns_.apply([&](auto... member) {
        numbered ? insert.run(position++, row.*member...) : insert.run(row.*member...);
      });
  }
  /// Creates the table for rows that few Runs have.
  void insert_if_any(Database& db, const char* schema, const std::vector<Row>& rows) const {
    if (rows.empty()) return;
    db.execute(schema);
    insert(db, rows);
  }

  void select(Database& db, std::vector<Row>& rows) const {
    const std::string names(columns_.names());
    Statement select(db,
                     fmt::format("SELECT {} FROM {} ORDER BY {}", names, name_, order_).c_str());
    while (select.step()) take_row(select, columns_, rows.emplace_back());
  }
  /// Of a file that may do without the table.
  void select_if_there(Database& db, std::vector<Row>& rows) const {
    if (db.has_table(name_)) select(db, rows);
  }

 private:
  std::string_view name_, order_;
  Columns<Row, Types...> columns_;
};

}  // namespace ergometer::run
