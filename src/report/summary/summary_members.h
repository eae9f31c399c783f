#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "run/row_columns.h"

namespace ergometer::report {

/// The numbers of the summary table directly below `prefix` ("performance."), in the table's order.
void write_fields(base::JsonWriter& json, const run::Run& run, std::string_view prefix);

template <class Row, class... Types>
void write_members(base::JsonWriter& json, const Row& row,
                   const run::Columns<Row, Types...>& columns) {
  columns.for_each([&](std::string_view name, auto member) { json.member(name, row.*member); });
}

/// Rows as objects, each on a line.
template <class Row, class... Types>
void write_records(base::JsonWriter& json, std::string_view name, const std::vector<Row>& rows,
                   const run::Columns<Row, Types...>& columns) {
  json.rows(name, rows, [&](const Row& row) { write_members(json, row, columns); });
}

}  // namespace ergometer::report
