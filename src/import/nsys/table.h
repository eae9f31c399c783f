#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/file/sqlite.h"

namespace ergometer::importer {

/// A column that is asked for. Schemas differ: one that need not be there reads as NULL.
struct NsysColumn {
  const char* name;
  bool required = false;
};

/// The rows of a table of an Nsight Systems export, by columns, whatever order they stand in.
class NsysTable {
 public:
  /// `file` begins messages. `where` is SQL that follows the table's name, or empty.
  NsysTable(run::Database& db, const std::string& file, const char* table,
            const std::vector<NsysColumn>& columns, const char* where = "");

  /// False at the end, and where the table is not there: exports leave empty ones out.
  bool next();
  /// Once `next` said false. An input error: a required column is missing; SQLite cannot go on; the
  /// table goes round in circles.
  Result<void> finish() const;

  /// Nothing for NULL and what is no whole number.
  std::optional<int64_t> integer(size_t column) const;
  std::optional<double> real(size_t column) const;
  std::optional<std::string> text(size_t column) const;

 private:
  run::Database& db_;
  std::string problem_;
  std::string file_, table_;
  std::optional<run::Statement> rows_;
  int64_t left_ = 0;
};

/// Epoch time of the export's zero in nanoseconds; 0 where it does not say.
Result<int64_t> nsys_epoch(run::Database& db, const std::string& file);

/// The rows of a table, as far as there can be.
int64_t nsys_rows(run::Database& db, const std::string& table);

}  // namespace ergometer::importer
