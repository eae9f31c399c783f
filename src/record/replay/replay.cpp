#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <queue>
#include <tuple>

#include "base/collection.h"
#include "import/import.h"
#include "record/files/call_timer.h"
#include "record/sources.h"

// A Run's telemetry, or a telemetry file's, as if its sensors were read now: every reading comes
// once, in order of time, at the moment after the start at which it was recorded, times the speed.
// It keeps the time that was recorded.

namespace ergometer::record {
namespace {

using Clock = std::chrono::steady_clock;

/// The next reading of a series.
struct Cursor {
  int64_t time_ns = 0;
  size_t device = 0, series = 0, sample = 0;

  /// Later ones sink; of one time, in order of device and series.
  bool operator<(const Cursor& other) const {
    return std::tie(time_ns, device, series) > std::tie(other.time_ns, other.device, other.series);
  }
};

class ReplaySource : public Source {
 public:
  ReplaySource(const SourceOptions& options, run::DeviceLog log);
  std::string_view name() const override { return "replay"; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const run::Metric> metrics() const override { return metrics_; }
  std::vector<CallCost> costs() const override { return {cost_}; }
  bool finished() const override { return next_.empty(); }
  void read(Batch& batch) override;

  bool empty() const { return next_.empty(); }

 private:
  void add(run::Device device, const SourceOptions& options);
  int64_t due_ns();

  std::string path_;
  double speed_;
  std::vector<run::Device> devices_;
  std::vector<std::vector<run::Series>> series_;  ///< by device
  std::vector<run::Metric> metrics_;
  std::priority_queue<Cursor> next_;
  int64_t start_ns_ = 0, delivered_ = 0;
  std::optional<Clock::time_point> started_;
  CallCost cost_{.call = "replay"};
};

ReplaySource::ReplaySource(const SourceOptions& options, run::DeviceLog log)
    : path_(options.replay), speed_(options.replay_speed) {
  for (run::Device& device : log.devices) add(std::move(device), options);
  if (!next_.empty()) start_ns_ = next_.top().time_ns;
}

void ReplaySource::add(run::Device device, const SourceOptions& options) {
  std::vector<run::Series> series = std::move(device.series);
  std::erase_if(
      series, [&](const run::Series& s) { return s.samples.empty() || !options.wants(s.metric); });
  if (series.empty()) return;
  for (size_t i = 0; i < series.size(); ++i) {
    next_.push({series[i].samples.front().time_ns, devices_.size(), i, 0});
    if (!base::contains(metrics_, series[i].metric)) metrics_.push_back(series[i].metric);
  }
  device.series.clear();
  devices_.push_back(std::move(device));
  series_.push_back(std::move(series));
}

/// The latest recorded time that has come.
int64_t ReplaySource::due_ns() {
  if (speed_ == 0) return next_.top().time_ns;
  const Clock::time_point now = Clock::now();
  if (!started_) started_ = now;
  const std::chrono::duration<double, std::nano> passed = now - *started_;
  return start_ns_ + std::llround(passed.count() * speed_);
}

void ReplaySource::read(Batch& batch) {
  if (next_.empty()) return;
  CallTimer timer(cost_);
  const int64_t due = due_ns();
  while (!next_.empty() && next_.top().time_ns <= due) {
    Cursor at = next_.top();
    next_.pop();
    const run::Series& series = series_[at.device][at.series];
    batch.readings.push_back({at.device, series.metric, series.samples[at.sample]});
    ++delivered_;
    if (++at.sample == series.samples.size()) continue;
    at.time_ns = series.samples[at.sample].time_ns;
    next_.push(at);
  }
  if (next_.empty())
    batch.notes.push_back(fmt::format("{} ends: {} readings were played back", path_, delivered_));
}

}  // namespace

Opened open_replay(const SourceOptions& options) {
  if (!std::isfinite(options.replay_speed) || options.replay_speed < 0)
    return input_error(
        "replay speed {}: 0 or more is expected; 1 is the speed of the recording, 0 "
        "gives a row a read",
        options.replay_speed);
  ERGOMETER_ASSIGN(importer::Telemetry telemetry, importer::read_telemetry({options.replay}, {}));
  if (!telemetry.any)
    return input_error("{}: a Run with telemetry, or a file of telemetry, is expected to play back",
                       options.replay);
  auto source = std::make_unique<ReplaySource>(options, std::move(telemetry.log));
  if (source->empty())
    return input_error("{}: holds no readings of the metrics asked for", options.replay);
  return source;
}

}  // namespace ergometer::record
