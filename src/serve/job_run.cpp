#include "serve/job_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "run/file/log_tables.h"
#include "run/file/prediction.h"
#include "run/file/reading_rows.h"
#include "run/file/sqlite.h"
#include "run/file/writer_lock.h"
#include "run/run.h"

namespace ergometer::serve {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS recorders (
  recorder TEXT PRIMARY KEY, host TEXT NOT NULL, sequence INTEGER NOT NULL, lost INTEGER NOT NULL,
  time_ns INTEGER NOT NULL, ended INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS job_history (
  time_ns INTEGER NOT NULL, power_w REAL NOT NULL, hottest_c REAL NOT NULL, nodes INTEGER NOT NULL,
  gpus INTEGER NOT NULL, step_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS alerts (
  rule TEXT NOT NULL, subject TEXT NOT NULL, pending_ns INTEGER NOT NULL, severity TEXT NOT NULL,
  text TEXT NOT NULL, value REAL NOT NULL, firing_ns INTEGER NOT NULL, resolved_ns INTEGER NOT NULL,
  PRIMARY KEY (rule, subject, pending_ns));
)sql";

/// Tells these Runs from others; a fact of the Run.
constexpr const char* kFact = "pushed_job";
/// Time and device, then the metrics.
constexpr size_t kReadingColumns = 2 + static_cast<size_t>(run::Metric::kCount);
constexpr size_t kStepColumns = 5;

/// Where a device lies.
using Place = std::tuple<std::string, run::DeviceKind, int64_t, std::string>;

Place device_place(const run::Device& device) {
  const bool named = device.index < 0 || (run::told_by_name(device.kind) && !device.name.empty());
  return {device.host, device.kind, named ? -1 : device.index, named ? device.name : ""};
}

/// Of two that lie at the same place.
bool is_same(const run::Device& a, const run::Device& b) {
  return a.uuid.empty() || b.uuid.empty() || a.uuid == b.uuid;
}

bool is_there(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0;
}

}  // namespace

struct JobRun::State {
  std::string path;
  std::unique_ptr<run::Database> db;
  run::WriterLock lock;
  std::vector<run::Device> devices;
  std::map<Place, std::vector<size_t>> numbers;  ///< of all that lay there, the latest first
  std::map<std::string, RecorderRow> recorders, changed;  ///< on disk; of the next commit
  size_t written_devices = 0;
  std::vector<run::ReadingCell> cells;
  std::vector<std::pair<std::string, run::ClockReading>> clocks;
  std::vector<HistoryRow> history;
  std::deque<AlertRow> alerts;
  std::string prediction;
  bool new_prediction = false;
  std::map<std::string, int64_t> logs;  ///< of training, by host
  std::vector<std::pair<int64_t, run::TrainingStep>> steps;

  Result<void> create(const std::string& job);
  Result<void> go_on();
  void read_recorders();
  bool read_devices();
  std::optional<size_t> number_of(const run::Device& device);
  void place(size_t number);
  void read_logs();
  void write_steps();
  void write();
  void write_recorders();
  void forget();
};

Result<void> JobRun::State::create(const std::string& job) {
  run::Run run;
  run.source = "recorded";
  run.facts[kFact] = job;
  return run::write_run(run, path);
}

Result<void> JobRun::State::go_on() {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (!is_run) return input_error(path + ": is no Run file");
  db = std::make_unique<run::Database>(path, run::Database::Access::kAppend);
  db->execute("PRAGMA journal_mode = DELETE");
  db->execute("PRAGMA synchronous = FULL");
  if (db->ok() && (db->columns("readings").size() != kReadingColumns ||
                   db->columns("training_steps").size() != kStepColumns))
    return input_error(path + ": was made by another version; move it away to begin anew");
  if (db->ok() && db->number("SELECT count(*) FROM run WHERE key = 'pushed_job'") == 0)
    return input_error(path + ": is a Run that is not of recorders that push");
  db->execute(kTables);
  lock = run::WriterLock::take(path);
  read_recorders();
  const bool ours = read_devices();
  read_logs();
  prediction = run::fact_of(*db, run::kPredictionFact);
  if (!db->ok()) return db->failure(path + ": the Run cannot be continued");
  if (ours) return {};
  return input_error(
      path + ": is not a server's Run: it holds a device twice, or devices that no server writes");
}

void JobRun::State::read_recorders() {
  run::Statement select(*db,
                        "SELECT recorder, host, sequence, lost, time_ns, ended FROM recorders");
  while (select.step())
    recorders[select.text(0)] = {select.text(1), select.integer(2), select.integer(3),
                                 select.integer(4), select.integer(5) != 0};
}

/// False: they are not as a server writes them.
bool JobRun::State::read_devices() {
  if (!run::select_devices(*db, devices)) return false;
  for (size_t number = 0; number < devices.size(); ++number) {
    if (number_of(devices[number])) return false;
    place(number);
  }
  written_devices = devices.size();
  return true;
}

std::optional<size_t> JobRun::State::number_of(const run::Device& device) {
  for (const size_t number : numbers[device_place(device)])
    if (is_same(devices[number], device)) return number;
  return std::nullopt;
}

void JobRun::State::place(size_t number) {
  std::vector<size_t>& there = numbers[device_place(devices[number])];
  there.insert(there.begin(), number);
}

void JobRun::State::read_logs() {
  run::Statement select(*db, "SELECT job, log FROM training_logs");
  while (select.step()) logs[select.text(0)] = select.integer(1);
}

Result<JobRun> JobRun::open(const std::string& path, const std::string& job) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (!is_there(path)) ERGOMETER_TRY(state->create(job));
  if (run::WriterLock::is_held(path))
    return input_error("{}: another process records into it", path);
  ERGOMETER_TRY(state->go_on());
  return JobRun(std::move(state));
}

JobRun::JobRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobRun::JobRun(JobRun&&) noexcept = default;
JobRun::~JobRun() = default;

const std::vector<run::Device>& JobRun::devices() const { return state_->devices; }
const std::map<std::string, RecorderRow>& JobRun::recorders() const { return state_->recorders; }

std::vector<HistoryRow> JobRun::history(size_t most) const {
  std::vector<HistoryRow> rows;
  run::Statement select(*state_->db,
                        "SELECT time_ns, power_w, hottest_c, nodes, gpus, step_s FROM job_history "
                        "ORDER BY rowid DESC LIMIT ?");
  select.bind(1, static_cast<int64_t>(most));
  while (select.step())
    rows.push_back({select.integer(0), select.real(1), select.real(2), select.integer(3),
                    select.integer(4), select.real(5)});
  std::ranges::reverse(rows);
  return rows;
}

size_t JobRun::device(const run::Device& device) {
  if (const auto known = state_->number_of(device)) return *known;
  state_->devices.push_back(device);
  state_->place(state_->devices.size() - 1);
  return state_->devices.size() - 1;
}

bool JobRun::add(const Push& push, const PushBatch& batch, const std::vector<size_t>& numbers,
                 int64_t now_ns) {
  State& state = *state_;
  auto at = state.changed.find(push.recorder);
  if (at == state.changed.end()) {
    const auto old = state.recorders.find(push.recorder);
    at = state.changed
             .emplace(push.recorder, old == state.recorders.end() ? RecorderRow{} : old->second)
             .first;
  }
  RecorderRow& row = at->second;
  if (batch.sequence <= row.sequence) return false;
  row = {push.host, batch.sequence, row.lost + batch.lost_behind(row.sequence), now_ns, batch.end};
  for (const PushReading& reading : batch.readings)
    state.cells.push_back(
        {reading.sample.time_ns, numbers[reading.device], reading.metric, reading.sample.value});
  // Who is scraped does not tell its own.
  if (batch.clock.time_ns > 0) state.clocks.emplace_back(push.host, batch.clock);
  if (batch.steps.empty()) return true;
  const int64_t log = state.logs.emplace(push.host, std::ssize(state.logs)).first->second;
  for (const run::TrainingStep& step : batch.steps) state.steps.emplace_back(log, step);
  return true;
}

void JobRun::add(const HistoryRow& row) { state_->history.push_back(row); }

void JobRun::add(const AlertRow& row) {
  constexpr size_t kMostAlerts = 4096;
  state_->alerts.push_back(row);
  if (state_->alerts.size() > kMostAlerts) state_->alerts.pop_front();
}

std::vector<AlertRow> JobRun::open_alerts() const {
  std::vector<AlertRow> open;
  run::Statement select(*state_->db,
                        "SELECT rule, subject, pending_ns, severity, text, value, firing_ns FROM "
                        "alerts WHERE resolved_ns = 0 LIMIT 4096");
  while (select.step())
    open.push_back({select.text(0), select.text(3), select.text(1), select.text(4), select.real(5),
                    select.integer(2), select.integer(6), 0});
  return open;
}

const std::string& JobRun::prediction() const { return state_->prediction; }

void JobRun::set_prediction(const std::string& json) {
  if (json == state_->prediction) return;
  state_->prediction = json;
  state_->new_prediction = true;
}

bool JobRun::waits() const {
  return !state_->changed.empty() || !state_->history.empty() || !state_->alerts.empty();
}

void JobRun::State::write_recorders() {
  run::Statement insert(*db, "INSERT OR REPLACE INTO recorders VALUES (?, ?, ?, ?, ?, ?)");
  for (const auto& [name, row] : changed)
    insert.run(name, row.host, row.sequence, row.lost, row.time_ns, int64_t{row.ended});
}

void JobRun::State::write_steps() {
  if (steps.empty()) return;
  for (const auto& [host, log] : logs) run::insert_training_log(*db, log, host, host);
  for (const auto& [log, step] : steps)
    run::kTrainingStepTable.insert(*db, std::span(&step, 1), log);
}

void JobRun::State::write() {
  db->execute("BEGIN IMMEDIATE");
  for (size_t number = written_devices; number < devices.size(); ++number)
    run::insert_device(*db, number, devices[number]);
  run::insert_readings(*db, cells);
  run::Statement clock(*db, "INSERT INTO clock_readings VALUES (?, ?, ?, ?)");
  for (const auto& [host, r] : clocks) clock.run(host, r.time_ns, r.monotonic_ns, r.max_error_ns);
  write_recorders();
  write_steps();
  run::Statement point(*db, "INSERT INTO job_history VALUES (?, ?, ?, ?, ?, ?)");
  for (const HistoryRow& row : history)
    point.run(row.time_ns, row.power_w, row.hottest_c, row.nodes, row.gpus, row.step_s);
  run::Statement alert(*db, "INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const AlertRow& row : alerts)
    alert.run(row.rule, row.subject, row.pending_ns, row.severity, row.text, row.value,
              row.firing_ns, row.resolved_ns);
  if (new_prediction)
    run::Statement(*db, "INSERT OR REPLACE INTO run VALUES (?, ?)")
        .run(std::string_view(run::kPredictionFact), prediction);
  db->execute("COMMIT");
}

void JobRun::State::forget() {
  cells.clear();
  clocks.clear();
  history.clear();
  steps.clear();
  changed.clear();
}

Result<void> JobRun::commit() {
  State& state = *state_;
  state.write();
  if (!state.db->ok()) {
    const std::string what = state.db->problem();
    state.db->roll_back();
    state.forget();
    return missing_error("{}: cannot be written: {}", state.path, what);
  }
  for (auto& [name, row] : state.changed) state.recorders[name] = row;
  state.written_devices = state.devices.size();
  state.alerts.clear();
  state.new_prediction = false;
  state.forget();
  return {};
}

}  // namespace ergometer::serve
