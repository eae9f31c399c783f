#include "run/file/trace_tables.h"

#include <unordered_map>

#include "base/check.h"
#include "run/file/operator_tables.h"
#include "run/file/row_table.h"

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
      insert.run(++kernel, static_cast<int64_t>(file), static_cast<int64_t>(event.kind),
                 known(event.correlation), known(event.device), or_null(event.collective));
    }
  }
  ERGOMETER_CHECK(run.traces.empty() || static_cast<size_t>(kernel) == run.kernels.size(),
                  "an imported Run's kernels are its traces' events");
}

constexpr RowTable kTraceTable("trace_files", "file", &RankTrace::rank, &RankTrace::file,
                               OrNull(&RankTrace::world_size), &RankTrace::base_time_ns,
                               &RankTrace::gpu, &RankTrace::truncated);
constexpr RowTable kTraceCollectiveTable("trace_collectives", "file, position", &Collective::name,
                                         &Collective::group, &Collective::description,
                                         &Collective::dtype, OrNull(&Collective::in_elements),
                                         OrNull(&Collective::out_elements),
                                         OrNull(&Collective::group_size),
                                         OrNull(&Collective::sequence));
constexpr RowTable kLaunchTable("trace_launches", "file", &Launch::correlation,
                                OrNull(&Launch::external_id), &Launch::start_ns,
                                &Launch::duration_ns);
constexpr RowTable kStepTable("trace_steps", "file", &StepMark::number, &StepMark::start_ns,
                              &StepMark::end_ns);
constexpr RowTable kTraceDroppedTable("trace_dropped", "position", kDroppedColumns);

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

}  // namespace

void create_trace_tables(Database& db) {
  db.execute(kTraceSchema);
  create_operator_tables(db);
}

void insert_traces(Database& db, const Run& run) {
  kTraceTable.insert(db, run.traces);
  insert_events(db, run);
  kTraceCollectiveTable.insert_each(db, run.traces, &RankTrace::collectives);
  kLaunchTable.insert_each(db, run.traces, &RankTrace::launches);
  kStepTable.insert_each(db, run.traces, &RankTrace::steps);
  insert_operators(db, run);
  kTraceDroppedTable.insert(db, run.dropped);
}

bool select_traces(Database& db, Run& run) {
  if (!db.has_table("trace_files")) return true;
  for (const char* table :
       {"trace_events", "trace_collectives", "trace_launches", "trace_steps", "trace_dropped"})
    if (!db.has_table(table)) return false;
  return kTraceTable.select(db, run.traces) && kTraceDroppedTable.select(db, run.dropped) &&
         kTraceCollectiveTable.select_each(db, run.traces, &RankTrace::collectives) &&
         kLaunchTable.select_each(db, run.traces, &RankTrace::launches) &&
         kStepTable.select_each(db, run.traces, &RankTrace::steps) && select_events(db, run) &&
         select_operators(db, run);
}

}  // namespace ergometer::run
