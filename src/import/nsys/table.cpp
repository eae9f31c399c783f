#include "import/nsys/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/collection.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

std::string in_quotes(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

/// A row takes bytes: more rows than bytes there cannot be, but damaged pages may lead in circles.
int64_t most_rows(run::Database& db) {
  return db.number("PRAGMA page_count") * db.number("PRAGMA page_size");
}

}  // namespace

NsysTable::NsysTable(run::Database& db, const std::string& file, const char* table,
                     const std::vector<NsysColumn>& columns, const char* where)
    : db_(db), file_(file), table_(table) {
  if (!db.has_table(table)) return;
  const std::vector<std::string> there = db.columns(table);
  std::vector<std::string> wanted;
  for (const NsysColumn& column : columns) {
    const bool found = base::contains(there, column.name);
    if (!found && column.required && problem_.empty())
      problem_ = fmt::format("{}: table {}: column '{}' is missing; found: {}", file_, table_,
                             column.name, fmt::join(there, ", "));
    wanted.push_back(found ? in_quotes(column.name) : "NULL");
  }
  if (!problem_.empty()) return;
  left_ = most_rows(db);
  rows_.emplace(
      db, fmt::format("SELECT {} FROM {} {}", fmt::join(wanted, ", "), in_quotes(table_), where)
              .c_str());
}

bool NsysTable::next() {
  if (!rows_ || left_-- <= 0) return false;
  return rows_->step();
}

Result<void> NsysTable::finish() const {
  if (!problem_.empty()) return input_error(problem_);
  if (!db_.ok()) return db_.failure(fmt::format("{}: table {}: cannot be read", file_, table_));
  if (rows_ && left_ < 0)
    return input_error("{}: table {}: is damaged: it has more rows than the file has bytes", file_,
                       table_);
  return {};
}

std::optional<int64_t> NsysTable::integer(size_t column) const {
  const int at = static_cast<int>(column);
  return rows_->is_integer(at) ? std::optional(rows_->integer(at)) : std::nullopt;
}

std::optional<double> NsysTable::real(size_t column) const {
  const int at = static_cast<int>(column);
  return rows_->is_null(at) || rows_->is_text(at) ? std::nullopt : std::optional(rows_->real(at));
}

std::optional<std::string> NsysTable::text(size_t column) const {
  const int at = static_cast<int>(column);
  return rows_->is_text(at) ? std::optional(rows_->text(at)) : std::nullopt;
}

Result<int64_t> nsys_epoch(run::Database& db, const std::string& file) {
  NsysTable rows(db, file, "TARGET_INFO_SESSION_START_TIME", {{"utcEpochNs"}});
  const int64_t epoch = rows.next() ? rows.integer(0).value_or(0) : 0;
  ERGOMETER_TRY(rows.finish());
  return epoch > 0 && epoch <= kLargestTime ? epoch : 0;
}

int64_t nsys_rows(run::Database& db, const std::string& table) {
  return db.number(fmt::format("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {})", in_quotes(table),
                               most_rows(db))
                       .c_str());
}

}  // namespace ergometer::importer
