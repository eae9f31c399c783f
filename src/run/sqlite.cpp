#include "run/sqlite.h"

#include <sqlite3.h>

namespace ergometer::run {

std::string_view sqlite_version() { return sqlite3_libversion(); }

Database::Database(const std::string& path, Access access) {
  const int flags =
      access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  check(sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr), SQLITE_OK);
}

Database::~Database() { sqlite3_close(handle_); }

void Database::check(int code, int expected) {
  if (code == expected || !problem_.empty()) return;
  problem_ = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
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
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  db_.check(code, SQLITE_DONE);
  return false;
}

void Statement::reset() {
  if (db_.ok()) db_.check(sqlite3_reset(handle_), SQLITE_OK);
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

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }
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
