#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/collection.h"
#include "base/json_writer.h"
#include "run/row_columns.h"

namespace ergometer::page {

/// To six significant digits: what a picture can show, in half the bytes.
double rounded(double value);

/// Nanoseconds as microseconds, whole nanoseconds kept.
inline double microseconds(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

/// A member that is an array on one line. Rounded; what is not finite is null.
void column(base::JsonWriter& json, std::string_view name, const std::vector<double>& values);
void column(base::JsonWriter& json, std::string_view name, const std::vector<int64_t>& values);
void column(base::JsonWriter& json, std::string_view name, const std::vector<std::string>& values);
/// Of what `of`, a function or a pointer to a member, makes of each row.
template <class Rows, class Of>
void column(base::JsonWriter& json, std::string_view name, const Rows& rows, const Of& of) {
  column(json, name, base::mapped(rows, of));
}
template <class Row, class... Types>
void write_columns(base::JsonWriter& json, const std::vector<Row>& rows,
                   const run::Columns<Row, Types...>& columns) {
  columns.for_each([&](std::string_view name, auto member) { column(json, name, rows, member); });
}
/// Times in nanoseconds as microseconds from `zero_ns` on, not rounded.
void microsecond_column(base::JsonWriter& json, std::string_view name,
                        const std::vector<int64_t>& ns, int64_t zero_ns = 0);

}  // namespace ergometer::page
