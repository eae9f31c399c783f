#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "run/device_log.h"
#include "run/file/detail_tables.h"
#include "run/file/graph_tables.h"
#include "run/file/log_tables.h"
#include "run/file/power_tables.h"
#include "run/run.h"

#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "run/file/row_table.h"
#include "run/file/sqlite.h"
#include "run/file/study_tables.h"
#include "run/file/task_tables.h"
#include "run/file/trace_tables.h"
#include "run/file/views.h"
#include "run/file/writer_lock.h"
#include "run/summary_fields.h"

// A Run is one SQLite file. It is written whole to a name beside the target and renamed when it is
// complete, so a reader never sees half a Run. The schema is described in docs/run-file.md: change
// both together, and raise kSchemaVersion when a reader of the former version would misread the
// file.

namespace ergometer::run {
namespace {

namespace fs = std::filesystem;

constexpr int kApplicationId = 0x4552474f;  // "ERGO" in ASCII, how `file` and we recognise a Run
constexpr std::string_view kSqliteHeader("SQLite format 3\0", 16);
constexpr size_t kHeadBytes = 72;  // up to the application id's end

constexpr const char* kRunSchema = R"sql(
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE summary (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE stages (
  stage INTEGER PRIMARY KEY,
  weights_bytes REAL NOT NULL, gradients_bytes REAL NOT NULL, optimizer_bytes REAL NOT NULL,
  activations_bytes REAL NOT NULL, other_bytes REAL NOT NULL);
CREATE TABLE stage_parts (
  stage INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, bytes REAL NOT NULL,
  PRIMARY KEY (stage, position)) WITHOUT ROWID;
CREATE TABLE links (
  position INTEGER PRIMARY KEY, kind TEXT NOT NULL, bytes_per_step REAL NOT NULL,
  mean_gb_per_s REAL NOT NULL, peak_gb_per_s REAL NOT NULL, utilization REAL NOT NULL);
CREATE TABLE ranks (
  rank INTEGER PRIMARY KEY, node INTEGER NOT NULL, slot INTEGER NOT NULL, stage INTEGER NOT NULL,
  end_s REAL NOT NULL, compute_s REAL NOT NULL, exposed_all_reduce_s REAL NOT NULL,
  exposed_all_gather_s REAL NOT NULL, exposed_reduce_scatter_s REAL NOT NULL,
  exposed_all_to_all_s REAL NOT NULL, exposed_send_recv_s REAL NOT NULL, optimizer_s REAL NOT NULL,
  idle_s REAL NOT NULL,
  mean_power_w REAL, peak_power_w REAL, mean_gpu_c REAL, max_gpu_c REAL, mean_clock_mhz REAL,
  throttled_time_fraction REAL);
CREATE TABLE kernels (
  rank INTEGER NOT NULL, stream INTEGER NOT NULL, name TEXT NOT NULL, category TEXT NOT NULL,
  start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, micro_batch INTEGER, chunk INTEGER, layer INTEGER,
  flops REAL NOT NULL, bytes REAL NOT NULL, comm_bytes REAL NOT NULL, pass TEXT);
)sql";

/// Facts about the stretch that `kernels` show.
constexpr const char *kKernelsFrom = "kernels_from_ns", *kKernelsTo = "kernels_to_ns";

void insert_run(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO run VALUES (?, ?)");
  insert.run("source", run.source);
  insert.run("limiter", run.limiter);
  insert.run("memory_advice", run.memory.advice);
  insert.run("interval_reasons",
             fmt::format("{}", fmt::join(run.performance.interval_reasons, "\n")));
  insert.run("job", run.job_json);
  if (run.kernels_to_ns > 0) {
    insert.run(kKernelsFrom, std::to_string(run.kernels_from_ns));
    insert.run(kKernelsTo, std::to_string(run.kernels_to_ns));
  }
  Statement insert_fact(db, "INSERT OR IGNORE INTO run VALUES (?, ?)");
  for (const auto& [key, value] : run.facts) insert_fact.run(key, value);
}

void insert_summary(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO summary VALUES (?, ?)");
  for (const SummaryField& field : summary_fields())
    if (is_known(field, run)) insert.run(field.name, field.get(run));
}

constexpr RowTable kStageTable("stages", "", kStageColumns);
constexpr RowTable kStagePartTable("stage_parts", "stage, position", &MemoryPart::name,
                                   &MemoryPart::bytes);

void insert_stages(Database& db, const Run& run) {
  kStageTable.insert(db, run.memory.stages);
  for (const StageMemory& s : run.memory.stages) kStagePartTable.insert(db, s.parts, s.stage);
}

// Of few Runs: others do without the table.
constexpr RowTable kExpertTable("experts", "position", kExpertColumns);
constexpr RowTable kSequenceTable("sequences", "position", kSequenceColumns);
constexpr RowTable kPackingTable("packing", "position", kPackingColumns);
constexpr RowTable kGpuKindTable("gpu_kinds", "position", kGpuKindColumns);

constexpr RowTable kLinkTable("links", "position", kLinkColumns);

void insert_ranks(Database& db, const Run& run) {
  Statement insert(
      db, "INSERT INTO ranks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const auto known = [&](double value) {
    return run.has_power ? NullableReal(value) : NullableReal();
  };
  for (const Rank& r : run.ranks) {
    const Breakdown& b = r.breakdown_s;
    insert.run(r.rank, r.node, r.slot, r.stage, r.end_s, b.compute, b.exposed_all_reduce,
               b.exposed_all_gather, b.exposed_reduce_scatter, b.exposed_all_to_all,
               b.exposed_send_recv, b.optimizer, b.idle, known(r.mean_power_w),
               known(r.peak_power_w), known(r.mean_gpu_c), known(r.max_gpu_c),
               known(r.mean_clock_mhz), known(r.throttled_time_fraction));
  }
}

constexpr RowTable kKernelTable("kernels", "", &Kernel::rank, &Kernel::stream, &Kernel::name,
                                &Kernel::category, &Kernel::start_ns, &Kernel::duration_ns,
                                OrNull(&Kernel::micro_batch), OrNull(&Kernel::chunk),
                                OrNull(&Kernel::layer), &Kernel::flops, &Kernel::bytes,
                                &Kernel::comm_bytes, Later(OrNull(&Kernel::pass)));

/// Fills a new database file. Failures are recorded in the database object.
void fill(Database& db, const Run& run) {
  // No journal: if the write is cut short, the unfinished file is thrown away, never repaired.
  db.execute("PRAGMA journal_mode = OFF");
  db.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  db.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  db.execute("BEGIN");
  db.execute(kRunSchema);
  create_power_tables(db);
  const bool imported = !run.traces.empty() || !run.graphs.empty();
  if (imported) create_trace_tables(db);
  if (imported) create_task_tables(db);
  if (imported) create_graph_tables(db);
  const bool log = has_log(run.log) || !run.clocks.empty() || run.source == "recorded";
  if (log) create_log_tables(db);
  if (run.study) create_study_tables(db);
  create_views(db, {.log = log, .traces = imported});
  insert_run(db, run);
  insert_summary(db, run);
  insert_stages(db, run);
  kExpertTable.insert_if_any(db, run.experts);
  kSequenceTable.insert_if_any(db, run.sequences);
  kPackingTable.insert_if_any(db, run.packing);
  kGpuKindTable.insert_if_any(db, run.gpu_kinds);
  kLinkTable.insert(db, run.links);
  insert_ranks(db, run);
  kKernelTable.insert(db, run.kernels);
  insert_power(db, run);
  insert_detail(db, run);
  if (imported) insert_traces(db, run);
  if (imported) insert_tasks(db, run);
  if (imported) insert_graphs(db, run);
  if (log) insert_log(db, run);
  if (run.study) insert_study(db, *run.study);
  db.execute("COMMIT");
}

/// SQLite keeps the application id big-endian at byte 68 of the header.
bool is_run_head(std::string_view head) {
  if (head.size() < kHeadBytes || !head.starts_with(kSqliteHeader)) return false;
  uint32_t id = 0;
  for (const char c : head.substr(kHeadBytes - sizeof id)) id = id << 8 | static_cast<uint8_t>(c);
  return id == uint32_t{kApplicationId};
}

/// A wrong argument order must not cost the user a file: only a Run, or nothing, may stand at the
/// target.
Result<void> check_target(const std::string& path) {
  ERGOMETER_ASSIGN(const fs::file_type type, base::file_type(path));
  if (type == fs::file_type::directory)
    return input_error("{}: is a folder; give the name of the Run file to write in it", path);
  if (type != fs::file_type::not_found && type != fs::file_type::regular)
    return input_error("{}: is not a regular file; a Run is an SQLite file", path);
  ERGOMETER_ASSIGN(const std::string head, base::read_head(path, kHeadBytes));
  if (!head.empty() && !is_run_head(head))
    return input_error("{}: exists and is not a Run; remove it first or choose another name", path);
  if (WriterLock::is_held(path))
    return input_error(
        "{}: is being recorded by another process; wait for its end or choose another name", path);
  return base::check_folder(path);
}

tl::unexpected<base::Error> cannot_read(const Database& db, const std::string& path) {
  return db.failure(path + ": the Run cannot be read");
}

Result<void> check_is_run(Database& db, const std::string& path) {
  ERGOMETER_ASSIGN(const std::string head, base::read_head(path, kHeadBytes));
  if (!head.starts_with(kSqliteHeader))
    return input_error("{}: is not a Run: not an SQLite file", path);
  const int64_t id = db.number("PRAGMA application_id");
  if (!db.ok()) return cannot_read(db, path);
  if (id != kApplicationId)
    return input_error("{}: is an SQLite file, but not a Run written by Ergometer", path);
  const int64_t version = db.number("PRAGMA user_version");
  if (version > kSchemaVersion)
    return input_error("{}: was written by a newer Ergometer (schema {}; this one reads up to {})",
                       path, version, kSchemaVersion);
  for (const char* table :
       {"run", "summary", "stages", "stage_parts", "links", "ranks", "kernels"}) {
    if (!db.has_table(table) && db.ok())
      return input_error("{}: the table '{}' is missing", path, table);
  }
  if (!db.ok()) return cannot_read(db, path);
  return {};
}

void select_run(Database& db, Run& run) {
  Statement select(db, "SELECT key, value FROM run");
  while (select.step()) {
    const std::string key = select.text(0);
    if (key == "source") {
      run.source = select.text(1);
    } else if (key == "limiter") {
      run.limiter = select.text(1);
    } else if (key == "memory_advice") {
      run.memory.advice = select.text(1);
    } else if (key == "job") {
      run.job_json = select.text(1);
    } else if (key == "interval_reasons") {
      run.performance.interval_reasons = base::split(select.text(1), '\n');
    } else if (key == kKernelsFrom) {
      run.kernels_from_ns = select.integer(1);
    } else if (key == kKernelsTo) {
      run.kernels_to_ns = select.integer(1);
    } else if (key != "thermal_limit") {
      run.facts[key] = select.text(1);
    }
  }
}

bool has_summary(Database& db, std::string_view name) {
  Statement select(db, "SELECT 1 FROM summary WHERE name = ?");
  select.bind_all(name);
  return select.step();
}

void select_summary(Database& db, Run& run) {
  Statement select(db, "SELECT value FROM summary WHERE name = ?");
  for (const SummaryField& field : summary_fields()) {
    select.bind_all(field.name);
    if (select.step()) field.set(run, select.real(0));
  }
  // A file without it says only yes or no.
  if (!has_summary(db, "memory.fit_probability"))
    run.memory.fit_probability = run.memory.fits ? 1 : 0;
}

void select_stages(Database& db, Run& run) {
  kStageTable.select(db, run.memory.stages);
  for (StageMemory& stage : run.memory.stages)
    kStagePartTable.select_of(db, stage.stage, stage.parts);
}

void select_ranks(Database& db, Run& run) {
  constexpr int kEnd = 4, kBreakdown = 5, kPower = 13;  // where these columns begin
  Statement select(db, "SELECT * FROM ranks ORDER BY rank");
  while (select.step()) {
    Rank& rank = run.ranks.emplace_back();
    take_row(select, kRankColumns, rank);
    rank.end_s = select.real(kEnd);
    take_row(select, kBreakdownColumns, rank.breakdown_s, kBreakdown);
    if (run.has_power) take_row(select, kRankPowerColumns, rank, kPower);
  }
}

constexpr const char* kDamagedLog =
    "its telemetry refer to what is not there, or hold what no sensor reads";

Result<void> check_read(const Database& db, const std::string& path, bool whole,
                        const char* damage) {
  if (!db.ok()) return cannot_read(db, path);
  if (!whole) return input_error("{}: the Run is damaged: rows of {}", path, damage);
  return {};
}

/// Journals of a former file at this name: SQLite would take them for the new file's.
void remove_journals(const std::string& path) {
  for (const char* suffix : {"-journal", "-wal", "-shm"}) std::remove((path + suffix).c_str());
}

}  // namespace

Result<bool> is_run_file(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string head, base::read_head(path, kHeadBytes));
  return is_run_head(head);
}

Result<void> write_run(const Run& run, const std::string& path) {
  ERGOMETER_TRY(check_target(path));
  base::remove_abandoned(path);
  const base::UnfinishedFile partial(fmt::format("{}.partial-{}", path, getpid()));
  std::string problem;
  {
    Database db(partial.path(), Database::Access::kCreate);
    if (db.ok()) fill(db, run);
    if (!db.ok()) problem = db.problem();
  }
  if (problem.empty()) remove_journals(path);
  if (problem.empty()) {
    if (const int error = base::rename_durably(partial.path(), path); error != 0)
      problem = "it cannot be renamed into place: " + std::generic_category().message(error);
  }
  if (problem.empty()) return {};
  // What is the user's to mend was found before.
  return missing_error("{}: the Run cannot be written: {}", path, problem);
}

Result<Run> read_run(const std::string& path) {
  ERGOMETER_ASSIGN(const fs::file_type type, base::file_type(path));
  if (type == fs::file_type::not_found) return input_error("{}: there is no such file", path);
  if (type == fs::file_type::directory) return input_error("{}: is a folder, not a Run file", path);
  Database db(path, Database::Access::kRead);
  ERGOMETER_TRY(check_is_run(db, path));
  Run run;
  select_run(db, run);
  select_summary(db, run);
  // A file without an interval holds a step time that is as it is.
  if (Performance& p = run.performance; p.step_time_s_high < p.step_time_s)
    p.step_time_s_low = p.step_time_s_high = p.step_time_s;
  select_stages(db, run);
  kExpertTable.select_if_there(db, run.experts);
  kSequenceTable.select_if_there(db, run.sequences);
  kPackingTable.select_if_there(db, run.packing);
  kGpuKindTable.select_if_there(db, run.gpu_kinds);
  kLinkTable.select(db, run.links);
  select_power(db, run);
  select_ranks(db, run);
  kKernelTable.select(db, run.kernels);
  const bool detail_whole = select_detail(db, run);
  const bool traces_whole =
      select_traces(db, run) && select_tasks(db, run) && select_graphs(db, run);
  const bool log_whole = select_log(db, run.log);
  select_clocks(db, run.clocks);
  const bool study_whole = select_study(db, run);
  ERGOMETER_TRY(check_read(db, path, traces_whole, "its traces refer to what is not there"));
  ERGOMETER_TRY(check_read(db, path, log_whole, kDamagedLog));
  ERGOMETER_TRY(check_read(db, path, detail_whole, "its tasks or bands hold what none can"));
  ERGOMETER_TRY(check_read(db, path, study_whole, "its study are not what a study writes"));
  return run;
}

Result<DeviceLog> read_device_log(const std::string& path) {
  Database db(path, Database::Access::kRead);
  ERGOMETER_TRY(check_is_run(db, path));
  Run run;
  select_run(db, run);
  const bool whole = select_log(db, run.log);
  if (!has_log(run.log)) select_telemetry(db, run.telemetry);
  ERGOMETER_TRY(check_read(db, path, whole, kDamagedLog));
  DeviceLog log = device_log(run);
  for (Device& device : log.devices)
    if (device.file.empty()) device.file = path;
  return log;
}

Result<bool> has_traces(const std::string& path) {
  Database db(path, Database::Access::kRead);
  if (const auto is_run = check_is_run(db, path); !is_run) {
    if (is_run.error().kind == base::ErrorKind::kMissing) return tl::unexpected(is_run.error());
    return false;
  }
  const bool found =
      db.has_table("trace_files") &&
      (db.number("SELECT EXISTS (SELECT 1 FROM trace_files)") > 0 ||
       (db.has_table("graphs") && db.number("SELECT EXISTS (SELECT 1 FROM graphs)") > 0));
  if (!db.ok()) return cannot_read(db, path);
  return found;
}

}  // namespace ergometer::run
