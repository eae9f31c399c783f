#include "run/file/trace_tables.h"

#include <unordered_map>

#include "base/check.h"
#include "run/file/operator_tables.h"
#include "run/file/row_table.h"
#include "run/file/table_rows.h"

namespace ergometer::run {
namespace {

constexpr const char* kTraceSchema = R"sql(
CREATE TABLE trace_files (
  file INTEGER PRIMARY KEY, rank INTEGER NOT NULL, name TEXT NOT NULL, world_size INTEGER,
  base_time_ns INTEGER NOT NULL, gpu TEXT NOT NULL, truncated INTEGER NOT NULL);
CREATE TABLE trace_events (
  kernel INTEGER PRIMARY KEY, file INTEGER NOT NULL, kind INTEGER NOT NULL, correlation INTEGER, device INTEGER,
  collective INTEGER);
CREATE TABLE trace_collectives (
  file INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, group_name TEXT NOT NULL,
  description TEXT NOT NULL, dtype TEXT NOT NULL, in_elements INTEGER, out_elements INTEGER, group_size INTEGER,
  sequence INTEGER, PRIMARY KEY (file, position)) WITHOUT ROWID;
CREATE TABLE trace_launches (
  file INTEGER NOT NULL, correlation INTEGER NOT NULL, external_id INTEGER, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL);
CREATE TABLE trace_steps (
  file INTEGER NOT NULL, number INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL);
CREATE TABLE trace_dropped (
  position INTEGER PRIMARY KEY, file TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL);
)sql";

void insert_events(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO trace_events VALUES (?, ?, ?, ?, ?, ?)");
  int64_t kernel = 0;
  for (size_t file = 0; file < run.traces.size(); ++file) {
    for (const GpuEvent& event : run.traces[file].events) {
      const bool has_collective = event.collective != GpuEvent::kNone;
      insert.run(++kernel, static_cast<int64_t>(file), static_cast<int64_t>(event.kind),
                 known(event.correlation), known(event.device),
                 has_collective ? Nullable(event.collective) : Nullable());
    }
  }
  ERGOMETER_CHECK(run.traces.empty() || static_cast<size_t>(kernel) == run.kernels.size(),
                  "an imported Run's kernels are its traces' events");
}

void insert_trace_collectives(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO trace_collectives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t file = 0; file < run.traces.size(); ++file) {
    int64_t position = 0;
    for (const Collective& c : run.traces[file].collectives)
      insert.run(static_cast<int64_t>(file), position++, c.name, c.group, c.description, c.dtype,
                 known(c.in_elements), known(c.out_elements), known(c.group_size),
                 known(c.sequence));
  }
}

void insert_launches(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO trace_launches VALUES (?, ?, ?, ?, ?)");
  for (size_t file = 0; file < run.traces.size(); ++file)
    for (const Launch& l : run.traces[file].launches)
      insert.run(static_cast<int64_t>(file), l.correlation, known(l.external_id), l.start_ns,
                 l.duration_ns);
}

void insert_steps(Database& db, const Run& run) {
  Statement insert(db, "INSERT INTO trace_steps VALUES (?, ?, ?, ?)");
  for (size_t file = 0; file < run.traces.size(); ++file)
    for (const StepMark& s : run.traces[file].steps)
      insert.run(static_cast<int64_t>(file), s.number, s.start_ns, s.end_ns);
}

void select_trace_files(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_files ORDER BY file");
  while (select.step()) {
    RankTrace trace;
    trace.rank = select.integer(1);
    trace.file = select.text(2);
    trace.world_size = known(select, 3);
    trace.base_time_ns = select.integer(4);
    trace.gpu = select.text(5);
    trace.truncated = select.integer(6) != 0;
    run.traces.push_back(std::move(trace));
  }
}

bool select_trace_collectives(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_collectives ORDER BY file, position");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    if (trace == nullptr) return false;
    trace->collectives.push_back({select.text(2), select.text(3), select.text(4), select.text(5),
                                  known(select, 6), known(select, 7), known(select, 8),
                                  known(select, 9)});
  }
  return true;
}

bool select_launches(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_launches ORDER BY file, correlation, rowid");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    if (trace == nullptr) return false;
    trace->launches.push_back({.correlation = select.integer(1),
                               .external_id = known(select, 2),
                               .start_ns = select.integer(3),
                               .duration_ns = select.integer(4)});
  }
  return true;
}

bool select_trace_steps(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_steps ORDER BY file, rowid");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    if (trace == nullptr) return false;
    trace->steps.push_back({select.integer(1), select.integer(2), select.integer(3)});
  }
  return true;
}

bool select_events(Database& db, Run& run) {
  std::vector<std::unordered_map<std::string, uint32_t>> names(run.traces.size());
  Statement select(db,
                   "SELECT file, kernel, kind, correlation, device, collective FROM trace_events "
                   "ORDER BY kernel");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    const int64_t number = select.integer(1), kind = select.integer(2);
    const bool exists = number >= 1 && number <= static_cast<int64_t>(run.kernels.size());
    if (trace == nullptr || !exists || kind < 0 || kind > 2) return false;
    const Kernel& kernel = run.kernels[static_cast<size_t>(number - 1)];
    const int64_t collective = known(select, 5);
    if (collective >= static_cast<int64_t>(trace->collectives.size())) return false;
    auto& known_names = names[static_cast<size_t>(select.integer(0))];
    const auto [name, is_new] =
        known_names.emplace(kernel.name, static_cast<uint32_t>(trace->names.size()));
    if (is_new) trace->names.push_back(kernel.name);
    trace->events.push_back(
        {.start_ns = kernel.start_ns,
         .duration_ns = kernel.duration_ns,
         .correlation = known(select, 3),
         .name = name->second,
         .collective = collective < 0 ? GpuEvent::kNone : static_cast<uint32_t>(collective),
         .device = static_cast<int32_t>(known(select, 4)),
         .stream = kernel.stream,
         .kind = static_cast<GpuClass>(kind)});
  }
  return true;
}

constexpr RowTable kTraceDroppedTable("trace_dropped", "position", kDroppedColumns);

}  // namespace

void create_trace_tables(Database& db) {
  db.execute(kTraceSchema);
  create_operator_tables(db);
}

void insert_traces(Database& db, const Run& run) {
  Statement file(db, "INSERT INTO trace_files VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const RankTrace& t : run.traces)
    file.run(position++, t.rank, t.file, known(t.world_size), t.base_time_ns, t.gpu,
             int64_t{t.truncated});
  insert_events(db, run);
  insert_trace_collectives(db, run);
  insert_launches(db, run);
  insert_steps(db, run);
  insert_operators(db, run);
  kTraceDroppedTable.insert(db, run.dropped);
}

bool select_traces(Database& db, Run& run) {
  if (!db.has_table("trace_files")) return true;
  for (const char* table :
       {"trace_events", "trace_collectives", "trace_launches", "trace_steps", "trace_dropped"})
    if (!db.has_table(table)) return false;
  select_trace_files(db, run);
  kTraceDroppedTable.select(db, run.dropped);
  return select_trace_collectives(db, run) && select_launches(db, run) &&
         select_trace_steps(db, run) && select_events(db, run) && select_operators(db, run);
}

}  // namespace ergometer::run
