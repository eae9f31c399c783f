#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ergometer::run {

/// An open SQLite file. The first failure of any call on it or on its statements is kept and
/// everything after it is skipped, so that a sequence of calls is checked once, at its end, with
/// `ok()`.
///
/// A file that is there may be anybody's. It is opened so that its schema runs nothing: triggers,
/// virtual tables and generated columns are refused, functions in views are not trusted, and no
/// query gives more rows, or works longer, than the file's size explains.
class Database {
 public:
  enum class Access : uint8_t {
    kRead,    ///< also of what a killed writer left in the middle of a commit
    kAppend,  ///< of a file that is there
    kCreate,
  };
  Database(const std::string& path, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  base::ErrorKind fault() const { return fault_; }  ///< this machine's, or the file's
  /// The failure behind what could not be done ("job.run: the Run cannot be read").
  tl::unexpected<base::Error> failure(std::string_view what) const;
  /// Gives up the open transaction, if there is one, and goes on after a failure.
  void roll_back();

  void execute(const char* sql);
  /// The one number a query gives; 0 when it gives none.
  int64_t number(const char* sql);
  bool has_table(std::string_view name);
  /// The names of a table's columns; none where there is no such table.
  std::vector<std::string> columns(std::string_view table);

 private:
  friend class Statement;
  void check(int code, int expected);
  base::ErrorKind fault_of(int code);
  void open(const std::string& path, int flags);
  void harden();
  void check_schema();
  /// What a query of one row after the other may give, and may take.
  bool is_within_size(int64_t rows);
  static int on_progress(void* database);
  int look() const;
  void open_cut_off(const std::string& path);

  sqlite3* handle_ = nullptr;
  std::string path_;
  int64_t most_rows_ = 0;  ///< of one query; grows with the file
  /// Of SQLite's work for a query's next row.
  int64_t pauses_allowed_ = INT64_MAX, pauses_left_ = INT64_MAX;
  bool locks_ = true;  ///< the file system has them
  std::string problem_;
  base::ErrorKind fault_ = base::ErrorKind::kInput;  ///< whose `problem_` is
};

/// Of the library that is linked: "3.40.1".
std::string_view sqlite_version();

using Nullable = std::optional<int64_t>;
using NullableReal = std::optional<double>;

/// A prepared statement: bind and run again and again, or bind and step through the rows.
class Statement {
 public:
  Statement(Database& db, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds every parameter and runs the statement to its end.
  template <class... Values>
  void run(const Values&... values) {
    bind_all(values...);
    step();
  }
  /// Starts over with these parameters.
  template <class... Values>
  void bind_all(const Values&... values) {
    reset();
    int index = 0;
    (bind(++index, values), ...);
  }
  /// Goes to the next row; false at the end and after a failure.
  bool step();
  /// Starts over with no parameter bound: all NULL. Then `bind` from 1 on, and `step`.
  void clear();
  void bind(int index, int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view value);

  int columns() const;
  void need(int columns);  ///< fewer are a failure
  std::string column_name(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;  ///< what is beyond 1e60, or no number, is a failure
  std::string text(int column) const;
  bool is_null(int column) const;
  bool is_integer(int column) const;
  bool is_text(int column) const;

 private:
  void reset();
  void bind(int index, Nullable value);
  void bind(int index, NullableReal value);

  Database& db_;
  sqlite3_stmt* handle_ = nullptr;
  int64_t rows_ = 0;
};

}  // namespace ergometer::run
