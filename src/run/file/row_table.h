#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "run/file/cells.h"
#include "run/file/sqlite.h"
#include "run/row_columns.h"

namespace ergometer::run {

/// The members behind `columns`, of the row that a query is at; the first stands in `column`.
template <class Row, class... Types>
void take_row(const Statement& statement, const Columns<Row, Types...>& columns, Row& row,
              int column = 0) {
  columns.apply([&](auto... member) { (take_value(statement, column++, row.*member), ...); });
}

/// Which of `owners` a row belongs to, by its first column; null when there is none.
template <class Owner>
Owner* owner_of(const Statement& row, std::vector<Owner>& owners) {
  const int64_t at = row.integer(0);
  return at >= 0 && at < std::ssize(owners) ? &owners[static_cast<size_t>(at)] : nullptr;
}

/// A table that holds lists of rows. The columns `lead` stand in front of the rows' cells: whose
/// list it is, if there are several, and the row's position in it, if the table has one.
///
///   constexpr RowTable kTable("trace_steps", "file", &StepMark::number, &StepMark::start_ns,
///                             &StepMark::end_ns);
template <class Cell, class... Cells>
class RowTable {
 public:
  using Row = typename CellOf<Cell>::Row;

  constexpr RowTable(std::string_view name, std::string_view lead, Cell cell, Cells... cells)
      : name_(name), lead_(lead), cells_(cell, cells...) {}
  template <class... Types>
  constexpr RowTable(std::string_view name, std::string_view lead,
                     const Columns<Row, Types...>& columns)
      : name_(name),
        lead_(lead),
        columns_(columns.names()),
        cells_(columns.apply([](auto... member) { return std::tuple(member...); })) {}

  /// `owner` is what the leading columns say of every row, without its position.
  template <class Rows, class... Owner>
  void insert(Database& db, const Rows& rows, const Owner&... owner) const {
    if (rows.empty()) return;
    std::vector<std::string_view> marks(static_cast<size_t>(leads()), "?");
    each_cell([&](const auto&... cell) { (marks.push_back(mark_of(cell)), ...); });
    Statement insert(
        db, fmt::format("INSERT INTO {} VALUES ({})", name_, fmt::join(marks, ", ")).c_str());
    int64_t position = 0;
    for (const Row& row : rows)
      each_cell([&](const auto&... cell) {
        if (leads() > int{sizeof...(Owner)})
          insert.run(owner..., position++, value_of(row, cell)...);
        else
          insert.run(owner..., value_of(row, cell)...);
      });
  }
  /// The lists of owners, which their place names.
  template <class Owner>
  void insert_each(Database& db, const std::vector<Owner>& owners,
                   std::vector<Row> Owner::* rows) const {
    for (size_t i = 0; i < owners.size(); ++i) insert(db, owners[i].*rows, static_cast<int64_t>(i));
  }
  /// Creates the table for rows that few Runs have.
  void insert_if_any(Database& db, const char* schema, const std::vector<Row>& rows) const {
    if (rows.empty()) return;
    db.execute(schema);
    insert(db, rows);
  }
  /// The same of a table with one leading column, its key, and `Columns`, of which none is NULL.
  void insert_if_any(Database& db, const std::vector<Row>& rows) const {
    insert_if_any(db, schema().c_str(), rows);
  }

  // False where a row belongs to no owner, or holds what it cannot.

  bool select(Database& db, std::vector<Row>& rows) const {
    Statement select(db, query("", leads() > 0).c_str());
    return take_all(select, rows);
  }
  /// Of a file that may do without the table.
  bool select_if_there(Database& db, std::vector<Row>& rows) const {
    return !db.has_table(name_) || select(db, rows);
  }
  /// One owner's list.
  bool select_of(Database& db, const auto& owner, std::vector<Row>& rows) const {
    const std::string where = fmt::format(" WHERE {} = ?", lead_.substr(0, lead_.find(',')));
    Statement select(db, query(where, leads() > 1).c_str());
    select.bind_all(owner);
    return take_all(select, rows);
  }
  template <class Owner>
  bool select_each(Database& db, std::vector<Owner>& owners, std::vector<Row> Owner::* rows) const {
    Statement select(db, query("", leads() > 1).c_str());
    select.need(needed());
    while (select.step()) {
      Owner* owner = owner_of(select, owners);
      if (owner == nullptr || !take(select, (owner->*rows).emplace_back())) return false;
    }
    return true;
  }
  /// The row that a query of all columns is at.
  bool take(const Statement& from, Row& row) const {
    int column = leads();
    return each_cell(
        [&](const auto&... cell) { return (take_cell(from, column++, row, cell) && ...); });
  }
  /// How many columns the table has, those left out that older files lack.
  int needed() const {
    return each_cell([&](const auto&... cell) { return (leads() + ... + is_needed(cell)); });
  }

 private:
  static int is_needed(const auto&) { return 1; }
  template <class Last>
  static int is_needed(const Later<Last>&) {
    return 0;
  }

  template <class Of, class Type>
  static std::string_view declared(Type Of::*) {
    return std::is_floating_point_v<Type> ? "REAL" : std::is_integral_v<Type> ? "INTEGER" : "TEXT";
  }
  std::string schema() const {
    const std::vector<std::string_view> names = base::words(columns_, ", ");
    std::string sql = fmt::format("CREATE TABLE {} ({} INTEGER PRIMARY KEY", name_, lead_);
    size_t at = 0;
    each_cell([&](const auto&... cell) {
      ((sql += fmt::format(", {} {} NOT NULL", names[at++], declared(cell))), ...);
    });
    return sql + ")";
  }

  template <class Use>
  auto each_cell(const Use& use) const {
    return std::apply(use, cells_);
  }
  int leads() const {
    return lead_.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(lead_, ','));
  }
  std::string query(std::string_view where, bool numbered) const {
    const std::string_view then = lead_.empty() ? "rowid" : numbered ? "" : ", rowid";
    return fmt::format("SELECT * FROM {}{} ORDER BY {}{}", name_, where, lead_, then);
  }
  bool take_all(Statement& select, std::vector<Row>& rows) const {
    select.need(needed());
    while (select.step())
      if (!take(select, rows.emplace_back())) return false;
    return true;
  }

  std::string_view name_, lead_, columns_;
  std::tuple<Cell, Cells...> cells_;
};
template <class Row, class... Types>
RowTable(std::string_view, std::string_view, const Columns<Row, Types...>&)
    -> RowTable<Types Row::*...>;

}  // namespace ergometer::run
