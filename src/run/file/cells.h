#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "run/file/sqlite.h"
#include "run/gpu_trace.h"
#include "run/study_json.h"

namespace ergometer::run {

// What a column of a Run file's table holds of a row: a member as it is, or one of these.

/// NULL where the member says nothing: -1, kNone of a name's number, 0 of a real number, an empty
/// text.
template <class R, class Type>
struct OrNull {
  using Row = R;
  Type R::* member;
};

/// The word of an enumerator, which `word` gives; they end with `last`.
template <class R, class Type, class ToWord>
struct Word {
  using Row = R;
  Type R::* member;
  ToWord word;
  Type last;
};

/// The row itself.
template <class R>
struct Whole {
  using Row = R;
};

template <class Cell>
struct CellOf {
  using Row = typename Cell::Row;
};
template <class Type, class R>
struct CellOf<Type R::*> {
  using Row = R;
};

/// A column at the end of its table that older files lack: there the member stays as it is.
template <class Cell>
struct Later {
  using Row = typename CellOf<Cell>::Row;
  Cell cell;
};

/// A member, or the whole row, as JSON text: `to_json` writes it and `read` reads it.
template <class Part, class Read>
struct AsJson {
  using Row = typename CellOf<Part>::Row;
  Part part;
  Read read;
};
template <class Part, class Read>
AsJson(Part, Read) -> AsJson<Part, Read>;

template <class Row, class Type>
auto& part_of(Row& row, Type std::remove_const_t<Row>::* member) {
  return row.*member;
}
template <class Row>
Row& part_of(Row& row, const Whole<std::remove_const_t<Row>>&) {
  return row;
}

inline Nullable known(int64_t number) { return number < 0 ? Nullable{} : Nullable{number}; }
inline int64_t known(const Statement& row, int column) {
  return row.is_null(column) ? -1 : row.integer(column);
}

inline Nullable or_null(int64_t number) { return known(number); }
inline Nullable or_null(uint32_t name) {
  return name == GpuEvent::kNone ? Nullable{} : Nullable{name};
}
inline NullableReal or_null(double value) {
  return value > 0 ? NullableReal{value} : NullableReal{};
}
inline const std::string& or_null(const std::string& text) { return text; }  // by `mark_of`

inline std::string_view stored(const std::string& text) { return text; }
inline double stored(double value) { return value; }
inline int64_t stored(std::integral auto number) { return static_cast<int64_t>(number); }

/// What is bound for the column.
template <class Row, class Type>
auto value_of(const Row& row, Type Row::* member) {
  return stored(row.*member);
}
template <class Row, class Type>
decltype(auto) value_of(const Row& row, const OrNull<Row, Type>& cell) {
  return or_null(row.*cell.member);
}
template <class Row, class Type, class ToWord>
std::string_view value_of(const Row& row, const Word<Row, Type, ToWord>& cell) {
  return cell.word(row.*cell.member);
}
template <class Row, class Part, class Read>
std::string value_of(const Row& row, const AsJson<Part, Read>& cell) {
  return to_json(part_of(row, cell.part));
}
template <class Row>
auto value_of(const Row& row, const Whole<Row>&) {
  return stored(row);
}
template <class Row, class Cell>
decltype(auto) value_of(const Row& row, const Later<Cell>& later) {
  return value_of(row, later.cell);
}

/// What stands for the column in an INSERT.
inline std::string_view mark_of(const auto&) { return "?"; }
template <class Row>
std::string_view mark_of(const OrNull<Row, std::string>&) {
  return "nullif(?, '')";
}
template <class Cell>
std::string_view mark_of(const Later<Cell>& later) {
  return mark_of(later.cell);
}

inline void take_value(const Statement& from, int column, double& value) {
  value = from.real(column);
}
inline void take_value(const Statement& from, int column, std::string& value) {
  value = from.text(column);
}
inline void take_value(const Statement& from, int column, std::integral auto& value) {
  value = static_cast<std::remove_reference_t<decltype(value)>>(from.integer(column));
}

/// Puts the column into the row; false where it holds what no row can.
template <class Row, class Type>
bool take_cell(const Statement& from, int column, Row& row, Type Row::* member) {
  take_value(from, column, row.*member);
  return true;
}
template <class Row, class Type>
bool take_cell(const Statement& from, int column, Row& row, const OrNull<Row, Type>& cell) {
  take_value(from, column, row.*cell.member);
  if constexpr (std::integral<Type>)
    if (from.is_null(column)) row.*cell.member = static_cast<Type>(-1);
  return true;
}
template <class Row>
bool take_cell(const Statement& from, int column, Row& row, const OrNull<Row, uint32_t>& cell) {
  const int64_t name = from.integer(column);
  row.*cell.member = from.is_null(column) ? GpuEvent::kNone : static_cast<uint32_t>(name);
  return name >= 0 && name < GpuEvent::kNone;
}
template <class Row, class Type, class ToWord>
bool take_cell(const Statement& from, int column, Row& row, const Word<Row, Type, ToWord>& cell) {
  const std::string word = from.text(column);
  for (int64_t i = 0; i <= static_cast<int64_t>(cell.last); ++i) {
    if (word != cell.word(static_cast<Type>(i))) continue;
    row.*cell.member = static_cast<Type>(i);
    return true;
  }
  return false;
}
template <class Row, class Part, class Read>
bool take_cell(const Statement& from, int column, Row& row, const AsJson<Part, Read>& cell) {
  auto read = cell.read(from.text(column));
  if (read) part_of(row, cell.part) = *std::move(read);
  return read.has_value();
}
template <class Row>
bool take_cell(const Statement& from, int column, Row& row, const Whole<Row>&) {
  take_value(from, column, row);
  return true;
}
template <class Row, class Cell>
bool take_cell(const Statement& from, int column, Row& row, const Later<Cell>& later) {
  return column >= from.columns() || take_cell(from, column, row, later.cell);
}

}  // namespace ergometer::run
