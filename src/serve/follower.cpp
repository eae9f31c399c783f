#include "serve/follower.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/entries.h"
#include "base/text.h"
#include "record/clock.h"
#include "record/push/pusher.h"
#include "record/source.h"
#include "run/file/log_tables.h"
#include "run/file/prediction.h"
#include "run/file/reading_rows.h"
#include "run/file/sqlite.h"

namespace ergometer::serve {
namespace {

using std::chrono::seconds;

constexpr int64_t kRowsAtFirst = 4096;  ///< of a file that is new here
constexpr int64_t kLatelyS = 30;

/// A file holds any number.
bool is_time(int64_t time_ns) { return time_ns >= 0 && time_ns <= PushLimits::kLatestNs; }

/// None of a file that numbers them as no recorder does.
std::vector<run::Device> devices_of(run::Database& db, const std::string& host) {
  std::vector<run::Device> devices;
  if (!run::select_devices(db, devices)) return {};
  devices.resize(std::min(devices.size(), PushLimits::kDevices));
  for (run::Device& device : devices)
    device.host = device.host.empty() ? host : record::push_job(device.host, "", 0);
  return devices;
}

/// The latest of every metric in the rows from `first` on.
std::vector<PushReading> latest_readings(run::Database& db, int64_t first, size_t devices) {
  std::map<std::pair<size_t, run::Metric>, run::Sample> latest;
  run::Statement select(db, "SELECT * FROM readings WHERE rowid >= ? ORDER BY rowid");
  select.bind(1, first);
  const run::MetricColumns metrics(select);
  while (select.step()) {
    const int64_t device = select.integer(1);
    if (device < 0 || static_cast<size_t>(device) >= devices) continue;
    metrics.each([&](run::Metric metric, double value) {
      latest[{static_cast<size_t>(device), metric}] = {select.integer(0), value};
    });
  }
  std::vector<PushReading> readings;
  for (const auto& [of, sample] : latest) {
    if (run::metric_info(of.second).reads(sample.value) && is_time(sample.time_ns))
      readings.push_back({of.first, of.second, sample});
  }
  // Those of one device and time stand side by side, to share a row.
  std::ranges::stable_sort(readings, [](const auto& a, const auto& b) {
    return std::pair(a.device, a.sample.time_ns) < std::pair(b.device, b.sample.time_ns);
  });
  return readings;
}

run::ClockReading latest_clock(run::Database& db) {
  run::Statement select(db,
                        "SELECT time_ns, monotonic_ns, max_error_ns FROM clock_readings "
                        "ORDER BY rowid DESC LIMIT 1");
  if (!select.step()) return {};
  const run::ClockReading read{select.integer(0), select.integer(1), select.integer(2)};
  const bool times = is_time(read.time_ns) && is_time(read.monotonic_ns);
  return times && is_time(read.max_error_ns) ? read : run::ClockReading{};
}

/// When the recording began; of files that do not say, the time of their first reading.
int64_t began_ns(run::Database& db) {
  const auto said = base::parse_integer(run::fact_of(db, "started_ns"));
  return said.value_or(db.number("SELECT time_ns FROM readings ORDER BY rowid LIMIT 1"));
}

/// "node1-17d3a5b6c7d8e9f0": of a long name its end.
std::string recorder_of(const std::string& stem, int64_t began) {
  const std::string when = fmt::format("-{:x}", static_cast<uint64_t>(began));
  const size_t room = PushLimits::kName - when.size();
  return record::push_job(stem.substr(stem.size() - std::min(stem.size(), room)) + when, "", 0);
}

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

Push read_growth(const std::string& path, const ReadSoFar& before) {
  Push push;
  run::Database db(path, run::Database::Access::kRead);
  const std::string stem = std::filesystem::path(path).stem().string();
  push.recorder = recorder_of(stem, began_ns(db));
  const int64_t after = push.recorder == before.recorder ? before.row : 0;
  push.host = record::push_job(run::fact_of(db, "host"), "unknown", 0);
  std::string job = run::fact_of(db, "tag.job");
  if (job.empty()) job = run::fact_of(db, "slurm_job_id");
  push.job = record::push_job(job.empty() ? stem : job, "", 0);
  push.devices = devices_of(db, push.host);
  push.prediction = run::fact_of(db, run::kPredictionFact);
  if (!run::parse_prediction(push.prediction)) push.prediction.clear();
  PushBatch batch;
  batch.sequence = db.number("SELECT max(rowid) FROM readings");
  if (batch.sequence <= after || batch.sequence > PushLimits::kLatestNs) return push;
  batch.first = std::max(after + 1, after == 0 ? batch.sequence - kRowsAtFirst : 1);
  batch.readings = latest_readings(db, batch.first, push.devices.size());
  batch.clock = latest_clock(db);
  batch.end = !run::fact_of(db, "ended_ns").empty();
  if (db.ok()) push.batches.push_back(std::move(batch));
  return push;
}

/// What the thread and who takes have in common.
struct Follower::Shared {
  struct Cursor {
    timespec changed{};
    ReadSoFar read = {};
  };

  std::string folder;
  std::mutex mutex;
  std::vector<Push> read;
  std::map<std::string, Cursor> cursors;  ///< the thread's alone

  void look();
  void look_at(const std::string& path);
};

void Follower::Shared::look_at(const std::string& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return;
  const bool known = cursors.count(path) > 0;
  if (!known && cursors.size() >= kMostFiles) return;
  Cursor& cursor = cursors[path];
  const bool grew = !same(cursor.changed, about.st_mtim);
  if (!grew) return;
  if (!known && record::now_ns() / record::kNsPerSecond - about.st_mtim.tv_sec > kLatelyS) {
    cursor.changed = about.st_mtim;
    return;
  }
  Push push = read_growth(path, cursor.read);
  if (push.batches.empty()) return;  // it is looked at again
  cursor = {about.st_mtim, {push.recorder, push.batches.back().sequence}};
  const std::lock_guard lock(mutex);
  if (read.size() < kMostWaiting) read.push_back(std::move(push));
}

void Follower::Shared::look() {
  base::for_each_entry(folder, [&](const std::filesystem::path& path) {
    if (path.extension() == ".run") look_at(path.string());
  });
}

Follower::Follower(const std::string& folder) : shared_(std::make_unique<Shared>()) {
  shared_->folder = folder;
  thread_ = std::thread([this] {
    auto next = std::chrono::steady_clock::now();
    while (!stop_.wait_until(next)) {
      try {
        shared_->look();
      } catch (const std::bad_alloc&) {
        // Files are looked at again.
      }
      next = std::chrono::steady_clock::now() + seconds(1);
    }
  });
}

Follower::~Follower() {
  stop_.set();
  thread_.join();
}

std::vector<Push> Follower::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->read, {});
}

}  // namespace ergometer::serve
