// A Run that is followed while it is written. Bytes of a file are followed as they stand, with a
// row more, cut off, and with another recording in their place; other bytes are what a recorder
// does, two a deed, and a follower beside it has to have every reading once.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "run/file/growing_run.h"
#include "run/file/recording.h"
#include "run/file/sqlite.h"

namespace {

using namespace ergometer;
using Cells = std::vector<run::ReadingCell>;

const std::string& path() {
  static const std::string name = "/dev/shm/ergometer-fuzz-growing-" + std::to_string(getpid());
  return name;
}

void remove_file() {
  for (const char* part : {"", "-journal", "-wal", "-shm"}) std::remove((path() + part).c_str());
}

/// Everything that waits; nothing after an error.
std::optional<Cells> read_all(run::GrowingRun& run) {
  constexpr int kMostLooks = 10'000;  // at least a row each
  Cells cells;
  for (int looks = 0;; ++looks) {
    ERGOMETER_CHECK(looks < kMostLooks, "a look says of more, and none comes");
    const auto growth = run.look();
    if (!growth) {
      ERGOMETER_CHECK(!growth.error().message.empty(), "an error says what it is");
      return std::nullopt;
    }
    for (const run::ReadingCell& cell : growth->cells) {
      const run::MetricInfo& info = run::metric_info(cell.metric);
      ERGOMETER_CHECK(cell.device < run.devices().size() && cell.time_ns >= 0 &&
                          cell.value >= info.lowest && cell.value <= info.highest,
                      "a reading is one");
    }
    cells.insert(cells.end(), growth->cells.begin(), growth->cells.end());
    ERGOMETER_CHECK(!(growth->more && growth->closed), "what is closed has no more");
    if (!growth->more) return cells;
  }
}

void check_read_once(run::GrowingRun& run) {
  const auto again = read_all(run);
  ERGOMETER_CHECK(!again || again->empty(), "what was read is not read again");
}

/// A recording with one device and two readings.
void record_two() {
  auto recording = run::Recording::create(path(), {{"started_ns", "7"}});
  if (!recording) return;
  const size_t device = recording->add_device({});
  recording->add(device, run::Metric::kPower, {10, 100});
  recording->add(device, run::Metric::kPower, {20, 110});
  (void)recording->finish();
}

void follow_file(std::string_view bytes) {
  std::ofstream(path(), std::ios::binary) << bytes;
  auto run = run::GrowingRun::open(path());
  if (!run) {
    ERGOMETER_CHECK(!run.error().message.empty(), "an error says what it is");
    return;
  }
  const auto cells = read_all(*run);
  check_read_once(*run);
  if (auto other = run::GrowingRun::open(path()); other && cells) {
    const auto same = read_all(*other);
    ERGOMETER_CHECK(same && same->size() == cells->size(), "two followers read the same");
  }
  run::Database(path(), run::Database::Access::kAppend)
      .execute("INSERT INTO readings (time_ns, device, power) VALUES (1, 0, 100)");
  (void)read_all(*run);
  check_read_once(*run);
  std::error_code error;
  std::filesystem::resize_file(path(), bytes.size() / 2, error);
  (void)read_all(*run);
  remove_file();
  record_two();
  const auto replaced = read_all(*run);
  ERGOMETER_CHECK(!replaced || replaced->size() <= 2, "another recording's readings and no more");
}

/// A recorder, and who follows it.
class Followed {
 public:
  ~Followed() { recording_.reset(); }

  void act(uint8_t what, uint8_t how) {
    switch (what % 8) {
      case 0: return add(run::Metric::kPower, how);
      case 1: return add(run::Metric::kSmClock, how);
      case 2: return add_device();
      case 3: return commit();
      case 4: return look();
      case 5: return finish();
      case 6: return begin();
      case 7: return cut_off(how);
    }
  }

 private:
  static constexpr size_t kMostDevices = 16;

  void begin() {
    recording_.reset();
    remove_file();
    auto recording = run::Recording::create(path(), {{"started_ns", std::to_string(++begun_)}});
    ERGOMETER_CHECK(recording.has_value(), "a recording begins");
    recording_ = std::move(*recording);
    devices_ = 0;
    pending_.clear();
    committed_.clear();
    whole_ = true;
  }
  void add_device() {
    if (!recording_ || devices_ == kMostDevices) return;
    recording_->add_device({});
    ++devices_;
  }
  void add(run::Metric metric, uint8_t how) {
    if (!recording_ || devices_ == 0) return;
    time_ns_ += how % 4;  // of one time some share a row
    const size_t device = how % devices_;
    recording_->add(device, metric, {time_ns_, 1.0 + how});
    pending_.push_back({time_ns_, device, metric, 1.0 + how});
  }
  void commit() {
    if (!recording_ || !recording_->commit()) return;
    committed_.insert(committed_.end(), pending_.begin(), pending_.end());
    pending_.clear();
  }
  void finish() {
    if (!recording_) return;
    recording_->set({"ended_ns", "1"});
    commit();
    ERGOMETER_CHECK(recording_->finish().has_value(), "a recording ends");
    recording_.reset();
  }
  /// Behind it a follower may fail or bring nothing, and begins anew.
  void cut_off(uint8_t how) {
    if (recording_) finish();
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path(), error);
    if (error) return;
    std::filesystem::resize_file(path(), bytes / 256 * how, error);
    whole_ = false;
  }

  void look() {
    if (!run_) {
      auto run = run::GrowingRun::open(path());
      ERGOMETER_CHECK(run.has_value() || begun_ == 0 || !whole_, "a recording can be followed");
      if (!run) return;
      run_ = std::move(*run);
      followed_ = 0;
      read_ = 0;
    }
    const auto cells = read_all(*run_);
    const bool anew = followed_ != 0 && followed_ != begun_;
    ERGOMETER_CHECK(!whole_ || cells.has_value() != anew,
                    "an error comes of what was begun anew, and of nothing else");
    if (!cells || !whole_) return run_.reset();
    followed_ = begun_;
    check(*cells);
    check_read_once(*run_);
  }
  /// Columns of a row have an order of their own.
  void check(Cells cells) {
    Cells expected(committed_.begin() + static_cast<ptrdiff_t>(read_), committed_.end());
    read_ = committed_.size();
    const auto key = [](const run::ReadingCell& cell) {
      return std::tuple(cell.time_ns, cell.device, cell.metric, cell.value);
    };
    std::ranges::sort(cells, {}, key);
    std::ranges::sort(expected, {}, key);
    ERGOMETER_CHECK(std::ranges::equal(cells, expected, {}, key, key),
                    "every reading that was written comes once");
  }

  std::optional<run::Recording> recording_;
  std::optional<run::GrowingRun> run_;
  Cells pending_, committed_;
  size_t devices_ = 0, read_ = 0;
  int64_t begun_ = 0, followed_ = 0, time_ns_ = 1;
  bool whole_ = true;  ///< nothing cut the file off
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostDeeds = 200;  // of which each may write to a file
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  remove_file();
  if (bytes.starts_with("SQLite format 3")) {
    follow_file(bytes);
  } else {
    Followed followed;
    followed.act(6, 0);
    for (size_t i = 0; i + 1 < std::min(size, 2 * kMostDeeds); i += 2)
      followed.act(data[i], data[i + 1]);
  }
  remove_file();
  return 0;
}
