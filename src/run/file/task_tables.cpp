#include "run/file/task_tables.h"
#include "run/file/table_rows.h"

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

bool select_task_rows(Database& db, Run& run) {
  Statement select(db, "SELECT * FROM trace_tasks ORDER BY file, rowid");
  while (select.step()) {
    RankTrace* trace = owner_of(select, run.traces);
    const auto kind = task_kind(select.text(1));
    const PipelineTask task{.kind = kind.value_or(PipelineTask::Kind::kOther),
                            .step = known(select, 2),
                            .micro_batch = known(select, 3),
                            .chunk = known(select, 4),
                            .start_ns = select.integer(5),
                            .duration_ns = select.integer(6)};
    if (trace == nullptr || !kind || !is_possible(task)) return false;
    trace->tasks.push_back(task);
  }
  return true;
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
  Statement task(db, "INSERT INTO trace_tasks VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement stage(db, "INSERT INTO trace_stages VALUES (?, ?, ?)");
  for (size_t i = 0; i < run.traces.size(); ++i) {
    const RankTrace& trace = run.traces[i];
    const auto file = static_cast<int64_t>(i);
    for (const PipelineTask& t : trace.tasks)
      task.run(file, task_kind_name(t.kind), known(t.step), known(t.micro_batch), known(t.chunk),
               t.start_ns, t.duration_ns);
    if (trace.stage >= 0 || trace.stages >= 0)
      stage.run(file, known(trace.stage), known(trace.stages));
  }
}

bool select_tasks(Database& db, Run& run) {
  if (!db.has_table("trace_tasks")) return true;
  return db.has_table("trace_stages") && select_task_rows(db, run) && select_trace_stages(db, run);
}

}  // namespace ergometer::run
