#include "run/file/task_tables.h"

#include <algorithm>

#include "run/file/row_table.h"

namespace ergometer::run {
namespace {

constexpr const char* kTaskSchema = R"sql(
CREATE TABLE trace_tasks (
  file INTEGER NOT NULL, kind TEXT NOT NULL, step INTEGER, micro_batch INTEGER, chunk INTEGER,
  start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL);
CREATE TABLE trace_stages (file INTEGER PRIMARY KEY, stage INTEGER, stages INTEGER);
)sql";

/// A stage is the number of a rank at most.
constexpr int64_t kLargestStage = 100'000'000;

constexpr RowTable kTraceTaskTable(
    "trace_tasks", "file", Word(&PipelineTask::kind, task_kind_name, PipelineTask::Kind::kWait),
    OrNull(&PipelineTask::step), OrNull(&PipelineTask::micro_batch), OrNull(&PipelineTask::chunk),
    &PipelineTask::start_ns, &PipelineTask::duration_ns);

bool select_task_rows(Database& db, Run& run) {
  return kTraceTaskTable.select_each(db, run.traces, &RankTrace::tasks) &&
         std::ranges::all_of(run.traces, [](const RankTrace& trace) {
           return std::ranges::all_of(trace.tasks, is_possible);
         });
}

bool select_trace_stages(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_stages");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    const int64_t stage = known(select, 1), stages = known(select, 2);
    if (trace == nullptr || stage > kLargestStage || stages > kLargestStage) return false;
    trace->stage = stage;
    trace->stages = stages;
  }
  return true;
}

}  // namespace

void create_task_tables(Database& db) { db.execute(kTaskSchema); }

void insert_tasks(Database& db, const Run& run) {
  kTraceTaskTable.insert_each(db, run.traces, &RankTrace::tasks);
  Statement stage(db, "INSERT INTO trace_stages VALUES (?, ?, ?)");
  for (size_t i = 0; i < run.traces.size(); ++i) {
    const RankTrace& trace = run.traces[i];
    if (trace.stage >= 0 || trace.stages >= 0)
      stage.run(static_cast<int64_t>(i), known(trace.stage), known(trace.stages));
  }
}

bool select_tasks(Database& db, Run& run) {
  if (!db.has_table("trace_tasks")) return true;
  return db.has_table("trace_stages") && select_task_rows(db, run) && select_trace_stages(db, run);
}

}  // namespace ergometer::run
