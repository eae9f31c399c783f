#include "run/file/recording.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "base/output_file.h"
#include "run/file/log_tables.h"
#include "run/file/reading_rows.h"
#include "run/file/sqlite.h"
#include "run/file/writer_lock.h"
#include "run/run.h"

// Commits go through SQLite's rollback journal, which leaves nothing beside the file between them;
// ARCHITECTURE.md says why not through a write-ahead log. What is not committed yet stands in
// `Pending`, so that a failed commit loses nothing and the next one tries again.

namespace ergometer::run {
namespace {

constexpr size_t kMostCells = (size_t{64} << 20) / sizeof(ReadingCell);
/// Of notes, steps, clock readings and probes each: there are few of them.
constexpr size_t kMostOthers = 65536;
/// So many cells a transaction: where space is short, some of a long backlog finds room.
constexpr size_t kCellsAtOnce = 65536;

/// False when the oldest had to go for it.
template <class T>
bool push(std::deque<T>& queue, size_t most, T value) {
  queue.push_back(std::move(value));
  if (queue.size() <= most) return true;
  queue.pop_front();
  return false;
}

}  // namespace

struct Recording::State {
  struct Note {
    int64_t time_ns = 0;
    std::string text;
  };

  /// What the next commits write.
  struct Pending {
    std::vector<Device> devices;
    std::deque<ReadingCell> cells;
    std::deque<ClockReading> clocks;
    std::deque<ClockProbe> probes;
    std::deque<Note> notes;
    std::deque<TrainingStep> steps;
    std::vector<Recording::Fact> facts;
    std::map<std::string, int64_t> dropped;  ///< by reason, all since the start

    bool empty() const {
      return devices.empty() && cells.empty() && clocks.empty() && probes.empty() &&
             notes.empty() && steps.empty() && facts.empty();
    }
  };

  /// Which file stands at a path: another one than before when it was removed or moved.
  struct FileIdentity {
    dev_t device = 0;
    ino_t number = 0;
    bool exists = false;

    static FileIdentity at(const std::string& path) {
      struct stat found{};
      if (stat(path.c_str(), &found) != 0) return {};
      return {found.st_dev, found.st_ino, true};
    }
    bool operator==(const FileIdentity&) const = default;
  };

  std::string path, host, step_log;
  std::unique_ptr<Database> db;
  FileIdentity file;
  WriterLock lock;
  Pending pending;
  size_t devices = 0;  ///< added so far

  Result<void> open();
  Result<void> restore();
  Result<void> commit_some();
  void write(size_t cells);
  void forget(size_t cells);
  base::Error problem(const std::string& what) const;
};

base::Error Recording::State::problem(const std::string& what) const {
  return {base::ErrorKind::kMissing,
          fmt::format("{}: cannot be written: {}; {} readings wait in memory", path, what,
                      pending.cells.size())};
}

Result<void> Recording::State::open() {
  db = std::make_unique<Database>(path, Database::Access::kAppend);
  db->execute("PRAGMA journal_mode = DELETE");
  db->execute("PRAGMA synchronous = NORMAL");
  file = FileIdentity::at(path);
  lock = WriterLock::take(path);
  if (db->ok()) return {};
  const std::string what = db->problem();
  db.reset();
  return tl::unexpected(problem(what));
}

/// The file was removed or moved away. As long as it is open, what it holds can still be read: it
/// is written anew where it was.
Result<void> Recording::State::restore() {
  if (FileIdentity::at(path).exists)
    return tl::unexpected(problem("another file stands in its place"));
  const base::UnfinishedFile partial(fmt::format("{}.partial-{}", path, getpid()));
  Statement(*db, "VACUUM INTO ?").run(partial.path());
  std::string what = db->problem();
  db->roll_back();
  if (what.empty() && base::rename_durably(partial.path(), path) != 0)
    what = "it was removed and cannot be renamed into place";
  if (!what.empty()) return tl::unexpected(problem("it was removed: " + what));
  return open();
}

void Recording::State::write(size_t cells) {
  db->execute("BEGIN IMMEDIATE");
  for (size_t i = 0; i < pending.devices.size(); ++i)
    insert_device(*db, devices - pending.devices.size() + i, pending.devices[i]);
  std::vector<ReadingCell> chunk(pending.cells.begin(),
                                 pending.cells.begin() + static_cast<std::ptrdiff_t>(cells));
  std::ranges::stable_sort(chunk, [](const ReadingCell& a, const ReadingCell& b) {
    return std::tie(a.time_ns, a.device) < std::tie(b.time_ns, b.device);
  });
  insert_readings(*db, chunk);
  kClockReadingTable.insert(*db, pending.clocks, host);
  kClockProbeTable.insert(*db, pending.probes, host);
  Statement note(*db, "INSERT INTO notes VALUES (?, ?)");
  for (const Note& n : pending.notes) note.run(n.time_ns, n.text);
  if (!pending.steps.empty()) {
    insert_training_log(*db, 0, step_log, host);
    kTrainingStepTable.insert(*db, pending.steps, int64_t{0});
  }
  Statement fact(*db, "INSERT OR REPLACE INTO run VALUES (?, ?)");
  for (const Fact& f : pending.facts) fact.run(f.key, f.value);
  if (!pending.dropped.empty()) db->execute("DELETE FROM log_dropped");
  Statement dropped(*db, "INSERT INTO log_dropped VALUES (?, ?, ?)");
  for (const auto& [reason, count] : pending.dropped)
    dropped.run(std::string_view(), reason, count);
  db->execute("COMMIT");
}

void Recording::State::forget(size_t cells) {
  pending.devices.clear();
  pending.clocks.clear();
  pending.probes.clear();
  pending.notes.clear();
  pending.steps.clear();
  pending.facts.clear();
  pending.cells.erase(pending.cells.begin(),
                      pending.cells.begin() + static_cast<std::ptrdiff_t>(cells));
}

Result<void> Recording::State::commit_some() {
  if (db == nullptr) ERGOMETER_TRY(open());
  if (FileIdentity::at(path) != file) ERGOMETER_TRY(restore());
  const size_t cells = std::min(pending.cells.size(), kCellsAtOnce);
  try {
    write(cells);
  } catch (const std::bad_alloc&) {
    db->roll_back();
    throw;
  }
  if (!db->ok()) {
    const std::string what = db->problem();
    db->roll_back();
    return tl::unexpected(problem(what));
  }
  forget(cells);
  return {};
}

Result<Recording> Recording::create(const std::string& path, const std::vector<Fact>& facts) {
  Run run;
  run.source = "recorded";
  for (const Fact& fact : facts) run.facts[fact.key] = fact.value;
  ERGOMETER_TRY(write_run(run, path));
  auto state = std::make_unique<State>();
  state->path = path;
  state->host = run.facts["host"];
  ERGOMETER_TRY(state->open());
  return Recording(std::move(state));
}

Recording::Recording(std::unique_ptr<State> state) : state_(std::move(state)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() {
  try {
    if (state_ != nullptr) (void)commit();
  } catch (const std::bad_alloc&) {  // what was committed before stays
  }
}

size_t Recording::add_device(const Device& device) {
  state_->pending.devices.push_back(device);
  state_->pending.devices.back().series.clear();
  return state_->devices++;
}

void Recording::add(size_t device, Metric metric, const Sample& sample) {
  State::Pending& pending = state_->pending;
  const MetricInfo& info = metric_info(metric);
  if (!info.reads(sample.value)) {
    ++pending.dropped[fmt::format("{}: outside what a sensor reads ({} to {} {})", info.name,
                                  info.lowest, info.highest, info.unit)];
    return;
  }
  if (!push(pending.cells, kMostCells, ReadingCell{sample.time_ns, device, metric, sample.value}))
    ++pending.dropped["readings: the file could not be written for too long"];
}

void Recording::add(const ClockReading& reading) {
  push(state_->pending.clocks, kMostOthers, reading);
}

void Recording::add(const ClockProbe& probe) { push(state_->pending.probes, kMostOthers, probe); }

void Recording::note(int64_t time_ns, const std::string& text) {
  push(state_->pending.notes, kMostOthers, State::Note{time_ns, text});
}

void Recording::add(const TrainingStep& step) {
  if (!push(state_->pending.steps, kMostOthers, step))
    ++state_->pending.dropped["training steps: the file could not be written for too long"];
}

void Recording::set_step_log(const std::string& file) { state_->step_log = file; }

void Recording::set(const Fact& fact) { state_->pending.facts.push_back(fact); }

Result<void> Recording::commit() {
  while (!state_->pending.empty()) ERGOMETER_TRY(state_->commit_some());
  return {};
}

Result<void> Recording::finish() {
  ERGOMETER_TRY(commit());
  if (State::FileIdentity::at(state_->path) != state_->file) ERGOMETER_TRY(state_->restore());
  state_->db.reset();
  state_->lock = {};
  return {};
}

}  // namespace ergometer::run
