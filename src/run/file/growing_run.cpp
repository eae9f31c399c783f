#include "run/file/growing_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "run/file/log_tables.h"
#include "run/file/prediction.h"
#include "run/file/sqlite.h"
#include "run/file/writer_lock.h"
#include "run/run.h"

namespace ergometer::run {
namespace {

bool is_imported(Database& db) { return fact_of(db, "source") == "imported"; }

/// A recorder says when it ended; a server when each of its recorders did. What was imported does
/// not grow.
bool is_closed(Database& db) {
  if (!fact_of(db, "ended_ns").empty()) return true;
  if (db.has_table("recorders"))
    return db.number("SELECT count(*) FROM recorders") > 0 &&
           db.number("SELECT count(*) FROM recorders WHERE NOT ended") == 0;
  return is_imported(db);
}

/// All that a row of readings holds; empty where there is none.
std::string values_of(Database& db, int64_t row) {
  Statement select(db, "SELECT * FROM readings WHERE rowid = ?");
  select.bind(1, row);
  std::string values;
  if (!select.step()) return values;
  for (int column = 0; column < select.columns(); ++column) values += select.text(column) + '|';
  return values;
}

}  // namespace

Result<GrowingRun> GrowingRun::open(std::string path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return input_error(
        "{}: found no such file; allowed: the Run that a recorder or a server writes", path);
  ERGOMETER_ASSIGN(const bool is_run, is_run_file(path));
  if (!is_run) return input_error("{}: found another kind of file; allowed: a Run", path);
  Database db(path, Database::Access::kRead);
  const bool recorded = db.has_table("readings") && db.has_table("devices");
  if (!db.ok()) return db.failure(path + ": the Run cannot be read");
  if (!recorded)
    return input_error("{}: found a Run without readings of devices; allowed: a recorded one",
                       path);
  return GrowingRun(std::move(path));
}

Result<GrowingRun::Growth> GrowingRun::look() {
  Growth growth;
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return input_error("{}: is gone", path_);
  Database db(path_, Database::Access::kRead);
  std::vector<Device> devices;
  // One transaction: a device that is added between two statements would have its readings passed
  // over.
  db.execute("BEGIN");
  const std::string begun = fact_of(db, "started_ns");
  const bool closed = is_closed(db);
  const int64_t last = db.number("SELECT max(rowid) FROM readings");
  const bool other_row = values_of(db, row_) != row_values_;
  if (!select_devices(db, devices) || !db.ok()) return growth;
  if (last < row_ || other_row || devices.size() < devices_.size() ||
      begun != begun_.value_or(begun))
    return input_error("{}: was begun anew by another recording", path_);
  // What was imported stands device by device: all of it is put in order.
  const bool imported = is_imported(db);
  const int64_t row =
      select_readings_behind(db, row_, imported ? last : kMostRows, devices.size(), growth.cells);
  std::string row_values = values_of(db, row);
  // Rows that broke off are for the next look.
  if (!db.ok()) return Growth{};
  if (imported) std::ranges::stable_sort(growth.cells, {}, &ReadingCell::time_ns);
  // Where no row came, none will: a damaged file may count one that it does not give.
  growth.more = row > row_ && row < last;
  growth.closed = closed && !growth.more;
  begun_ = begun;
  devices_ = std::move(devices);
  row_ = row;
  row_values_ = std::move(row_values);
  return growth;
}

bool GrowingRun::is_being_written() const { return WriterLock::is_held(path_); }

}  // namespace ergometer::run
