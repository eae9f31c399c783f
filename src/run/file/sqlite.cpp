#include "run/file/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace ergometer::run {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestValue = 256 << 20;  ///< bytes of a text or a row
constexpr int kStepsAPause = 1'000'000;   ///< of SQLite's machine
constexpr int64_t kPausesOfAny = 200;     ///< some seconds
constexpr int64_t kBytesAPause = 5000;    ///< 200 steps a byte
constexpr int64_t kRowsOfAny = 65536;
constexpr int kBusyMs = 5000;  ///< for so long one waits for another's commit

}  // namespace

std::string_view sqlite_version() { return sqlite3_libversion(); }

Database::Database(const std::string& path, Access access) : path_(path) {
  switch (access) {
    case Access::kRead: open(path, SQLITE_OPEN_READONLY); break;
    case Access::kAppend: open(path, SQLITE_OPEN_READWRITE); break;
    case Access::kCreate: open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); break;
  }
  if (access == Access::kRead && ok()) open_cut_off(path);
  if (access != Access::kCreate && ok()) check_schema();
}

void Database::harden() {
  for (const auto& [what, on] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                 {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                 {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}})
    sqlite3_db_config(handle_, what, on, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_progress_handler(handle_, kStepsAPause, on_progress, this);
}

int Database::on_progress(void* database) {
  return --static_cast<Database*>(database)->pauses_left_ < 0 ? 1 : 0;
}

/// What cannot be asked for here is for the queries that follow to say.
void Database::check_schema() {
  constexpr const char* kOdd =
      "SELECT 'the trigger ' || name FROM sqlite_master WHERE type = 'trigger' "
      "UNION ALL SELECT 'the virtual table ' || name FROM sqlite_master "
      "WHERE type = 'table' AND coalesce(rootpage, 0) = 0 LIMIT 1";
  constexpr const char* kOddColumn =
      "SELECT 'the column ' || m.name || '.' || c.name || "
      "iif(c.hidden IN (2, 3), ', which is computed', ' with a default of its own') "
      "FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' "
      "AND (c.hidden IN (2, 3) OR length(c.dflt_value) > 256) LIMIT 1";
  for (const char* query : {kOdd, kOddColumn}) {
    Statement odd(*this, query);
    if (odd.step() && problem_.empty())
      problem_ = "its schema holds " + odd.text(0) + ", which no such file has";
  }
}

/// A damaged or made-up file may lead through the same pages again and again.
bool Database::is_within_size(int64_t rows) {
  if (path_.empty() || rows <= most_rows_) return true;
  std::error_code error;
  const auto bytes = static_cast<int64_t>(fs::file_size(path_, error));
  if (error) return true;
  most_rows_ = std::max(kRowsOfAny, bytes);
  pauses_allowed_ = kPausesOfAny + bytes / kBytesAPause;
  return rows <= most_rows_;
}

int Database::look() const {
  return sqlite3_exec(handle_, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr);
}

/// Some parallel file systems are mounted without locks (Lustre without `-o flock`): there, what
/// locks guard against is for their users to avoid.
void Database::open(const std::string& path, int flags) {
  sqlite3_close(handle_);
  handle_ = nullptr;
  check(sqlite3_open_v2(path.c_str(), &handle_, flags, locks_ ? nullptr : "unix-none"), SQLITE_OK);
  if (!ok()) return;
  if ((flags & SQLITE_OPEN_CREATE) == 0) harden();
  sqlite3_busy_timeout(handle_, kBusyMs);
  if (!locks_ || look() == SQLITE_OK) return;
  const int code = sqlite3_extended_errcode(handle_);
  if (code != SQLITE_IOERR_LOCK && code != SQLITE_IOERR_RDLOCK) return;
  locks_ = false;
  open(path, flags);
}

/// A writer that was killed in the middle of a commit leaves a journal, and whoever opens the file
/// next has to roll it back. That is written to the file or, where it must not be, to a copy.
void Database::open_cut_off(const std::string& path) {
  const auto cut_off = [&] {
    return look() != SQLITE_OK && sqlite3_extended_errcode(handle_) == SQLITE_READONLY_ROLLBACK;
  };
  if (!cut_off()) return;
  // Without locks the journal may be that of a writer that lives.
  if (locks_) {
    open(path, SQLITE_OPEN_READWRITE);
    if (!ok() || !cut_off()) return;
  }
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "ergometer-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return check(SQLITE_CANTOPEN, SQLITE_OK);
  const std::string copy = folder + "/copy";
  for (const char* part : {"", "-journal"}) {
    if (!error) fs::copy_file(path + part, copy + part, error);
    if (!error) fs::permissions(copy + part, fs::perms::owner_read | fs::perms::owner_write, error);
  }
  if (!error) open(copy, SQLITE_OPEN_READWRITE);
  if (ok()) check(look(), SQLITE_OK);
  fs::remove_all(folder, error);  // what is open stays readable
}

void Database::roll_back() {
  if (handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0)
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  problem_.clear();
}

Database::~Database() { sqlite3_close(handle_); }

void Database::check(int code, int expected) {
  if (code == expected || !problem_.empty()) return;
  problem_ = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  fault_ = fault_of(code);
}

tl::unexpected<base::Error> Database::failure(std::string_view what) const {
  return tl::unexpected(base::Error{fault_, fmt::format("{}: {}", what, problem_)});
}

base::ErrorKind Database::fault_of(int code) {
  switch (code & 0xff) {
    case SQLITE_NOMEM:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return base::ErrorKind::kMissing;
    case SQLITE_CORRUPT: {
      // So SQLite calls it, too, when a disk does not give back what was written.
      int error = 0;
      sqlite3_file_control(handle_, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
      if (error != EIO) return base::ErrorKind::kInput;
      problem_ = sqlite3_errstr(SQLITE_IOERR);
      return base::ErrorKind::kMissing;
    }
    default: return base::ErrorKind::kInput;
  }
}

void Database::execute(const char* sql) {
  if (ok()) check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr), SQLITE_OK);
}

int64_t Database::number(const char* sql) {
  Statement query(*this, sql);
  return query.step() ? query.integer(0) : 0;
}

bool Database::has_table(std::string_view name) {
  Statement query(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  query.bind_all(name);
  return query.step();
}

std::vector<std::string> Database::columns(std::string_view table) {
  std::vector<std::string> names;
  Statement query(*this, "SELECT name FROM pragma_table_info(?)");
  query.bind_all(table);
  while (query.step()) names.push_back(query.text(0));
  return names;
}

Statement::Statement(Database& db, const char* sql) : db_(db) {
  if (db_.ok()) db_.check(sqlite3_prepare_v2(db_.handle_, sql, -1, &handle_, nullptr), SQLITE_OK);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

bool Statement::step() {
  if (!db_.ok()) return false;
  if (rows_ == 0) (void)db_.is_within_size(1);
  db_.pauses_left_ = db_.pauses_allowed_;
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) {
    if (db_.is_within_size(++rows_)) return true;
    db_.problem_ = "it gives more rows than its size allows: it is damaged or made up";
    return false;
  }
  db_.check(code, SQLITE_DONE);
  return false;
}

void Statement::reset() {
  rows_ = 0;
  if (db_.ok()) db_.check(sqlite3_reset(handle_), SQLITE_OK);
}

void Statement::clear() {
  reset();
  if (db_.ok()) db_.check(sqlite3_clear_bindings(handle_), SQLITE_OK);
}

void Statement::bind(int index, int64_t value) {
  if (db_.ok()) db_.check(sqlite3_bind_int64(handle_, index, value), SQLITE_OK);
}

void Statement::bind(int index, double value) {
  if (db_.ok()) db_.check(sqlite3_bind_double(handle_, index, value), SQLITE_OK);
}

void Statement::bind(int index, std::string_view value) {
  // An empty view may have no pointer, which SQLite would take for NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  if (db_.ok())
    db_.check(
        sqlite3_bind_text(handle_, index, data, static_cast<int>(value.size()), SQLITE_TRANSIENT),
        SQLITE_OK);
}

void Statement::bind(int index, Nullable value) {
  if (value) return bind(index, *value);
  if (db_.ok()) db_.check(sqlite3_bind_null(handle_, index), SQLITE_OK);
}

void Statement::bind(int index, NullableReal value) {
  if (value) return bind(index, *value);
  bind(index, Nullable{});
}

int Statement::columns() const { return sqlite3_column_count(handle_); }
void Statement::need(int columns) {
  if (db_.ok() && this->columns() < columns)
    db_.problem_ = fmt::format("a table has {} columns; needed: {}", this->columns(), columns);
}
std::string Statement::column_name(int column) const {
  return sqlite3_column_name(handle_, column);
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const {
  // Beyond anything measured or predicted; sums and products of what is below stay finite.
  constexpr double kMost = 1e60;
  const double value = sqlite3_column_double(handle_, column);
  if (std::abs(value) <= kMost) return value;
  if (db_.ok())
    db_.problem_ =
        fmt::format("{}: found {}; allowed: a number up to 1e60", column_name(column), value);
  return 0;
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

bool Statement::is_integer(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_INTEGER;
}
bool Statement::is_text(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_TEXT;
}

std::string Statement::text(int column) const {
  const unsigned char* data = sqlite3_column_text(handle_, column);
  if (data == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(data),
                     static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
}

}  // namespace ergometer::run
