#include "run/file/detail_tables.h"

#include <algorithm>
#include <utility>

#include "run/file/row_table.h"

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

constexpr RowTable kTaskTable("tasks", "rank, stage",
                              Word(&PipelineTask::kind, task_kind_name, PipelineTask::Kind::kWait),
                              OrNull(&PipelineTask::micro_batch), OrNull(&PipelineTask::chunk),
                              &PipelineTask::start_ns, &PipelineTask::duration_ns,
                              Later(&PipelineTask::beside), Later(OrNull(&PipelineTask::what)));
constexpr RowTable kWindowTable("kernel_windows", "", &StepWindow::from_ns, &StepWindow::to_ns);
constexpr auto kLastMetric = static_cast<Metric>(static_cast<int>(Metric::kCount) - 1);
constexpr auto metric_word = [](Metric metric) -> std::string_view {
  return metric_info(metric).name;
};
constexpr RowTable kTelemetryBandTable("telemetry_bands", "",
                                       Word(&TelemetryBand::metric, metric_word, kLastMetric),
                                       &TelemetryBand::time_ns, &TelemetryBand::lowest,
                                       &TelemetryBand::p5, &TelemetryBand::p50, &TelemetryBand::p95,
                                       &TelemetryBand::highest);
constexpr RowTable kCollectiveTable("collectives", "position", &CollectiveUse::group,
                                    &CollectiveUse::kind, &CollectiveUse::calls,
                                    &CollectiveUse::bytes, &CollectiveUse::total_s,
                                    &CollectiveUse::exposed_s,
                                    OrNull(&CollectiveUse::bus_gb_per_s));
constexpr RowTable kSlotTable("slots", "slot", &Slot::row, &Slot::lane);
constexpr RowTable kAssumptionTable("assumptions", "position", &Assumption::group,
                                    &Assumption::name, &Assumption::value, &Assumption::source,
                                    OrNull(&Assumption::grade));

void insert_rank_tasks(Database& db, const std::vector<RankTasks>& ranks) {
  if (ranks.empty()) return;
  db.execute(kTasks);
  for (const RankTasks& rank : ranks) kTaskTable.insert(db, rank.tasks, rank.rank, rank.stage);
}

bool select_rank_tasks(Database& db, std::vector<RankTasks>& ranks) {
  if (!db.has_table("tasks")) return true;
  Statement select(db, "SELECT * FROM tasks ORDER BY rank, rowid");
  select.need(kTaskTable.needed());
  while (select.step()) {
    const int64_t rank = select.integer(0);
    if (ranks.empty() || ranks.back().rank != rank) ranks.push_back({rank, select.integer(1), {}});
    PipelineTask& task = ranks.back().tasks.emplace_back();
    if (!kTaskTable.take(select, task) || !is_possible(task)) return false;
  }
  return true;
}

bool select_windows(Database& db, std::vector<StepWindow>& windows) {
  if (!kWindowTable.select_if_there(db, windows)) return false;
  int64_t before = 0;
  return std::ranges::all_of(windows, [&](const StepWindow& window) {
    return window.from_ns >= std::exchange(before, window.to_ns) && window.to_ns > window.from_ns;
  });
}

}  // namespace

void insert_detail(Database& db, const Run& run) {
  insert_rank_tasks(db, run.tasks);
  kWindowTable.insert_if_any(db, kWindows, run.kernel_windows);
  kTelemetryBandTable.insert_if_any(db, kBands, run.bands);
  kCollectiveTable.insert_if_any(db, kCollectives, run.collectives);
  kSlotTable.insert_if_any(db, kSlots, run.slots);
  kAssumptionTable.insert_if_any(db, kAssumptions, run.assumptions);
}

bool select_detail(Database& db, Run& run) {
  return kCollectiveTable.select_if_there(db, run.collectives) &&
         kSlotTable.select_if_there(db, run.slots) &&
         kAssumptionTable.select_if_there(db, run.assumptions) &&
         select_rank_tasks(db, run.tasks) && select_windows(db, run.kernel_windows) &&
         kTelemetryBandTable.select_if_there(db, run.bands);
}

}  // namespace ergometer::run
