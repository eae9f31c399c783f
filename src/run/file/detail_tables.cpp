#include "run/file/detail_tables.h"

#include <optional>

#include "run/file/table_rows.h"

namespace ergometer::run {
namespace {

constexpr const char* kTasks = R"sql(
CREATE TABLE tasks (
  rank INTEGER NOT NULL, stage INTEGER NOT NULL, kind TEXT NOT NULL, micro_batch INTEGER, chunk INTEGER,
  start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, beside INTEGER NOT NULL, what TEXT);
)sql";
constexpr const char* kWindows = R"sql(
CREATE TABLE kernel_windows (from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL);
)sql";
constexpr const char* kBands = R"sql(
CREATE TABLE telemetry_bands (
  metric TEXT NOT NULL, time_ns INTEGER NOT NULL, lowest REAL NOT NULL, p5 REAL NOT NULL, p50 REAL NOT NULL,
  p95 REAL NOT NULL, highest REAL NOT NULL);
)sql";
constexpr const char* kCollectives = R"sql(
CREATE TABLE collectives (
  position INTEGER PRIMARY KEY, group_name TEXT NOT NULL, kind TEXT NOT NULL, calls REAL NOT NULL,
  bytes REAL NOT NULL, total_s REAL NOT NULL, exposed_s REAL NOT NULL, bus_gb_per_s REAL);
)sql";
constexpr const char* kSlots = R"sql(
CREATE TABLE slots (slot INTEGER PRIMARY KEY, slot_row INTEGER NOT NULL, lane INTEGER NOT NULL);
)sql";
constexpr const char* kAssumptions = R"sql(
CREATE TABLE assumptions (
  position INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  source TEXT NOT NULL, grade TEXT);
)sql";

void insert_rank_tasks(Database& db, const std::vector<RankTasks>& ranks) {
  if (ranks.empty()) return;
  db.execute(kTasks);
  Statement insert(db, "INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''))");
  for (const RankTasks& rank : ranks)
    for (const PipelineTask& t : rank.tasks)
      insert.run(rank.rank, rank.stage, task_kind_name(t.kind), known(t.micro_batch),
                 known(t.chunk), t.start_ns, t.duration_ns, int64_t{t.beside}, t.what);
}

void insert_windows(Database& db, const std::vector<StepWindow>& windows) {
  if (windows.empty()) return;
  db.execute(kWindows);
  Statement insert(db, "INSERT INTO kernel_windows VALUES (?, ?)");
  for (const StepWindow& window : windows) insert.run(window.from_ns, window.to_ns);
}

void insert_bands(Database& db, const std::vector<TelemetryBand>& bands) {
  if (bands.empty()) return;
  db.execute(kBands);
  Statement insert(db, "INSERT INTO telemetry_bands VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const TelemetryBand& b : bands)
    insert.run(metric_info(b.metric).name, b.time_ns, b.lowest, b.p5, b.p50, b.p95, b.highest);
}

void insert_collectives(Database& db, const std::vector<CollectiveUse>& uses) {
  if (uses.empty()) return;
  db.execute(kCollectives);
  Statement insert(db, "INSERT INTO collectives VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const CollectiveUse& c : uses)
    insert.run(position++, c.group, c.kind, c.calls, c.bytes, c.total_s, c.exposed_s,
               c.bus_gb_per_s > 0 ? NullableReal(c.bus_gb_per_s) : NullableReal());
}

void insert_slots(Database& db, const std::vector<Slot>& slots) {
  if (slots.empty()) return;
  db.execute(kSlots);
  Statement insert(db, "INSERT INTO slots VALUES (?, ?, ?)");
  int64_t index = 0;
  for (const Slot& slot : slots) insert.run(index++, slot.row, slot.lane);
}

void insert_assumptions(Database& db, const std::vector<Assumption>& all) {
  if (all.empty()) return;
  db.execute(kAssumptions);
  // One statement for both: without a grade the column stays NULL.
  Statement insert(db, "INSERT INTO assumptions VALUES (?, ?, ?, ?, ?, nullif(?, ''))");
  int64_t position = 0;
  for (const Assumption& a : all)
    insert.run(position++, a.group, a.name, a.value, a.source, a.grade);
}

bool select_rank_tasks(Database& db, std::vector<RankTasks>& ranks) {
  if (!db.has_table("tasks")) return true;
  constexpr int kBesideColumn = 7, kWhatColumn = 8;  // a file may be older than they
  Statement select(db, "SELECT * FROM tasks ORDER BY rank, rowid");
  while (select.step()) {
    const int64_t rank = select.integer(0);
    if (ranks.empty() || ranks.back().rank != rank) ranks.push_back({rank, select.integer(1), {}});
    const auto kind = task_kind(select.text(2));
    PipelineTask task{.kind = kind.value_or(PipelineTask::Kind::kOther),
                      .step = 0,
                      .micro_batch = known(select, 3),
                      .chunk = known(select, 4),
                      .start_ns = select.integer(5),
                      .duration_ns = select.integer(6)};
    if (select.columns() > kWhatColumn) {
      task.beside = select.integer(kBesideColumn) != 0;
      task.what = select.text(kWhatColumn);
    }
    if (!kind || !is_possible(task)) return false;
    ranks.back().tasks.push_back(task);
  }
  return true;
}

bool select_windows(Database& db, std::vector<StepWindow>& windows) {
  if (!db.has_table("kernel_windows")) return true;
  Statement select(db, "SELECT from_ns, to_ns FROM kernel_windows ORDER BY from_ns");
  while (select.step()) {
    const StepWindow window{select.integer(0), select.integer(1)};
    const int64_t before = windows.empty() ? 0 : windows.back().to_ns;
    if (window.from_ns < before || window.to_ns <= window.from_ns) return false;
    windows.push_back(window);
  }
  return true;
}

bool select_bands(Database& db, std::vector<TelemetryBand>& bands) {
  if (!db.has_table("telemetry_bands")) return true;
  Statement select(db, "SELECT * FROM telemetry_bands ORDER BY rowid");
  while (select.step()) {
    const auto metric = metric_of(select.text(0));
    if (!metric) return false;
    bands.push_back({*metric, select.integer(1), select.real(2), select.real(3), select.real(4),
                     select.real(5), select.real(6)});
  }
  return true;
}

void select_collectives(Database& db, std::vector<CollectiveUse>& uses) {
  if (!db.has_table("collectives")) return;
  Statement select(db, "SELECT * FROM collectives ORDER BY position");
  while (select.step())
    uses.push_back({select.text(1), select.text(2), select.real(3), select.real(4), select.real(5),
                    select.real(6), select.is_null(7) ? 0 : select.real(7)});
}

void select_slots(Database& db, std::vector<Slot>& slots) {
  if (!db.has_table("slots")) return;
  Statement select(db, "SELECT slot_row, lane FROM slots ORDER BY slot");
  while (select.step()) slots.push_back({select.integer(0), select.integer(1)});
}

void select_assumptions(Database& db, std::vector<Assumption>& all) {
  if (!db.has_table("assumptions")) return;
  Statement select(db,
                   "SELECT scope, name, value, source, grade FROM assumptions ORDER BY position");
  while (select.step())
    all.push_back({select.text(0), select.text(1), select.text(2), select.text(3),
                   select.is_null(4) ? "" : select.text(4)});
}

}  // namespace

void insert_detail(Database& db, const Run& run) {
  insert_rank_tasks(db, run.tasks);
  insert_windows(db, run.kernel_windows);
  insert_bands(db, run.bands);
  insert_collectives(db, run.collectives);
  insert_slots(db, run.slots);
  insert_assumptions(db, run.assumptions);
}

bool select_detail(Database& db, Run& run) {
  select_collectives(db, run.collectives);
  select_slots(db, run.slots);
  select_assumptions(db, run.assumptions);
  return select_rank_tasks(db, run.tasks) && select_windows(db, run.kernel_windows) &&
         select_bands(db, run.bands);
}

}  // namespace ergometer::run
